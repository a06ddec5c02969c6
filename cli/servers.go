package cli

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/hilo-id/hilo/allocator"
)

// servers are what a command that allocates works on: one server, or several masters in order of preference; and
// what a range needs before it is used. readServers reads them.
type servers struct {
	targets       []target // one or more; several have names, all different
	durability    allocator.Durability
	requireSeeded bool
}

// use opens all servers for as long as do runs, without asking them anything, and makes a sentence of an error that
// is theirs.
func (s servers) use(ctx context.Context, timeout time.Duration, do func(opened) error) error {
	o := opened{servers: s, timeout: timeout}
	var closing []func()
	defer func() {
		for _, closeOne := range closing {
			closeOne()
		}
	}()
	for _, t := range s.targets {
		client, closeOne, err := t.open(s.attempt(timeout))
		if err != nil {
			return err
		}
		closing = append(closing, closeOne)
		o.clients = append(o.clients, client)
	}
	return o.explain(ctx, do(o))
}

// attempt is how long one attempt on one server may take, confirmations included.
func (s servers) attempt(timeout time.Duration) time.Duration {
	if s.durability.Replicas > 0 {
		timeout += s.durability.Timeout
	}
	if s.durability.Fsync {
		timeout += s.durability.Timeout
	}
	return timeout
}

// patience is how long it may take to ask one server after the other.
func (s servers) patience(timeout time.Duration) time.Duration {
	return s.attempt(timeout) * time.Duration(len(s.targets))
}

// opened are servers with a client for each.
type opened struct {
	servers
	timeout time.Duration
	clients []redis.UniversalClient // as targets
}

// options are those that the flags ask for; the rest may be filled in.
func (o opened) options(g globals) allocator.Options {
	log := g.Log
	if len(o.targets) == 1 { // with several, that one is down need not come back as the command's error
		log = withoutReturned(log)
	}
	return allocator.Options{
		Namespace:     g.Namespace,
		Separator:     g.Separator,
		RefillTimeout: o.timeout,
		RequireSeeded: o.requireSeeded,
		Durability:    o.durability,
		Logger:        log,
	}
}

// allocator makes an allocator for all of the servers; it may be called more than once. It does no I/O, and whoever
// calls it gives back what was not used with globals.close.
func (o opened) allocator(opts allocator.Options) (*allocator.Allocator, error) {
	if len(o.targets) == 1 && o.targets[0].name == "" {
		return allocator.New(o.clients[0], opts)
	}
	masters := make([]allocator.Server, len(o.targets))
	for i, t := range o.targets {
		masters[i] = allocator.Server{Name: t.name, Client: o.clients[i]}
	}
	return allocator.NewMulti(masters, opts)
}

// explain gives an error of an allocator its exit code and, where servers are to blame, a sentence that names each.
func (o opened) explain(ctx context.Context, err error) error {
	if len(o.targets) == 1 {
		return explained(ctx, err, func(err error) string { return o.targets[0].sentence(err, o.timeout) })
	}
	return explained(ctx, err, o.sentence)
}

func (o opened) sentence(err error) string {
	failed := make(map[string]error)
	failures(err, failed)
	if len(failed) == 0 {
		return plain(err)
	}
	return o.blame(failed)
}

// blame is a sentence about the servers that failed, by name.
func (o opened) blame(failed map[string]error) string {
	var each []string
	for _, t := range o.targets {
		if err := failed[t.name]; err != nil {
			what, _ := t.diagnose(err, o.timeout)
			each = append(each, t.name+": "+what)
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
