package target

import (
	"context"
	"errors"
	"iter"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/hilo-id/hilo/allocator"
	"github.com/hilo-id/hilo/cli/internal/exit"
)

// Servers are what a command that allocates works on: one server, or several masters in order of preference; and
// what a range needs before it is used. Reader.Servers reads them.
type Servers struct {
	Targets       []Target // one or more; several have names, all different
	Durability    allocator.Durability
	RequireSeeded bool
	RequirePrefix bool
}

// Use opens all servers for as long as do runs, without asking them anything, and makes a sentence of an error that
// is theirs. What is embedded is started, and named in what do is given as other processes reach it.
func (s Servers) Use(ctx context.Context, timeout time.Duration, do func(Opened) error) error {
	o := Opened{Servers: s, Timeout: timeout}
	o.Targets = slices.Clone(s.Targets)
	for i := range o.Targets {
		client, closeAll, err := o.Targets[i].Open(s.Durability.Bound(timeout))
		if err != nil {
			return err
		}
		defer closeAll() //nolint:gocritic // all stay open until do has ended
		o.Clients = append(o.Clients, client)
	}
	return o.Explain(ctx, do(o))
}

// Patience is how long it may take to ask one server after the other.
func (s Servers) Patience(timeout time.Duration) time.Duration {
	return s.Durability.Bound(timeout) * time.Duration(len(s.Targets))
}

// Opened are servers with a client for each.
type Opened struct {
	Servers
	Timeout time.Duration
	Clients []redis.UniversalClient // as Targets
}

// Allocator makes an allocator for all of the servers; it may be called more than once. It does no I/O, and whoever
// calls it gives back what was not used with base.CloseAllocator.
func (o Opened) Allocator(opts allocator.Options) (*allocator.Allocator, error) {
	if len(o.Targets) == 1 && o.Targets[0].Name == "" {
		return allocator.New(o.Clients[0], opts)
	}
	masters := make([]allocator.Server, len(o.Targets))
	for i, t := range o.Targets {
		masters[i] = allocator.Server{Name: t.Name, Client: o.Clients[i]}
	}
	return allocator.NewMulti(masters, opts)
}

// Explain gives an error of an allocator its exit code and, where servers are to blame, a sentence that names each.
func (o Opened) Explain(ctx context.Context, err error) error {
	_, known := errors.AsType[*exit.Error](err)
	switch {
	case err == nil || known:
		return err
	case ctx.Err() != nil: // by a signal; go-redis does not always say so
		return ctx.Err()
	case errors.Is(err, allocator.ErrNotDurable): // it served
		return err
	case errors.Is(err, allocator.ErrUnavailable) || errors.Is(err, context.DeadlineExceeded):
		return &exit.Error{Code: exit.Unavailable, Text: o.sentence(err), Cause: err}
	}
	return err
}

func (o Opened) sentence(err error) string {
	if len(o.Targets) == 1 {
		return o.Targets[0].Sentence(err, o.Timeout)
	}
	failed := make(map[string]error)
	failures(err, failed)
	if len(failed) == 0 {
		return exit.Plain(err)
	}
	return o.Blame(failed)
}

// Blame is a sentence about the servers that failed, by name.
func (o Opened) Blame(failed map[string]error) string {
	var each []string
	for _, t := range o.Targets {
		if err := failed[t.Name]; err != nil {
			what, _ := t.Diagnose(err, o.Timeout)
			each = append(each, t.Name+": "+what)
		}
	}
	return strings.Join(each, "; ") + "; see to the servers, or name others with --redis NAME=URL"
}

// failures finds, by server, what went wrong.
func failures(err error, by map[string]error) {
	switch e := err.(type) { //nolint:errorlint // the tree is walked by hand: errors.As finds one, and there is one for each server
	case *allocator.ServerError:
		by[e.Server] = e
	case interface{ Unwrap() []error }:
		for _, one := range e.Unwrap() {
			failures(one, by)
		}
	default:
		if inner := errors.Unwrap(err); inner != nil {
			failures(inner, by)
		}
	}
}

// Holder is the node that has the namespace, whose keys share a slot.
func Holder(ctx context.Context, client redis.UniversalClient, key string) (redis.Cmdable, error) {
	if cluster, ok := client.(*redis.ClusterClient); ok {
		return cluster.MasterForKey(ctx, key)
	}
	return client, nil
}

// ParseInfo takes apart what INFO says.
func ParseInfo(text string) map[string]string {
	fields := make(map[string]string)
	for line := range strings.Lines(text) {
		if name, value, ok := strings.Cut(strings.TrimSpace(line), ":"); ok {
			fields[name] = value
		}
	}
	return fields
}

// Primaries are the nodes that between them have every key once.
func Primaries(ctx context.Context, client redis.UniversalClient) ([]redis.Cmdable, error) {
	cluster, ok := client.(*redis.ClusterClient)
	if !ok {
		return []redis.Cmdable{client}, nil
	}
	var mu sync.Mutex // it calls for all nodes at once
	var nodes []redis.Cmdable
	err := cluster.ForEachMaster(ctx, func(_ context.Context, node *redis.Client) error {
		mu.Lock()
		defer mu.Unlock()
		nodes = append(nodes, node)
		return nil
	})
	return nodes, err
}

// KeysAtOnce is how many keys, or thereabouts, Keys looks at with each step.
const KeysAtOnce = 1000

// Keys gives the keys of a node that match a pattern, by steps that do not hold the server up.
func Keys(ctx context.Context, node redis.Cmdable, pattern string) iter.Seq2[[]string, error] {
	return func(yield func([]string, error) bool) {
		for cursor := uint64(0); ; {
			keys, next, err := node.Scan(ctx, cursor, pattern, KeysAtOnce).Result()
			if !yield(keys, err) || err != nil || next == 0 {
				return
			}
			cursor = next
		}
	}
}
