package target

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/hilo-id/hilo/allocator"
	"github.com/hilo-id/hilo/cli/internal/exit"
)

// Servers has the servers of a command that allocates, one or several masters in order of preference, and the options of
// their allocator. Reader.Servers reads them.
type Servers struct {
	Targets []Target // one or more; several have names, all different
}

// Use opens all servers, calls do with them and closes them. It sends nothing to them. An embedded server is started, and do
// receives its address. Use returns the error of do as Explain rewords it.
func (s Servers) Use(ctx context.Context, timeout time.Duration, do func(Opened) error) error {
	o := Opened{Servers: s, Timeout: timeout}
	o.Targets = slices.Clone(s.Targets)
	for i := range o.Targets {
		client, closeAll, err := o.Targets[i].Open(timeout)
		if err != nil {
			return err
		}
		defer closeAll() //nolint:gocritic // all stay open until do has ended
		o.Clients = append(o.Clients, client)
	}
	return o.Explain(ctx, do(o))
}

// Patience returns how long requests to one server after the other may take. Where there are several, the settings of all the
// others are read too, before the first identifier of the one that answers.
func (s Servers) Patience(timeout time.Duration) time.Duration {
	attempts := len(s.Targets)
	if attempts > 1 {
		attempts++
	}
	return timeout * time.Duration(attempts)
}

// Opened has servers with a client for each.
type Opened struct {
	Servers
	Timeout time.Duration
	Clients []*Client // of Targets, in the same order
}

// Allocator returns a new allocator of all servers. It does no I/O. The caller closes it with base.CloseAllocator.
func (o Opened) Allocator(opts allocator.Options) (*allocator.Allocator, error) {
	if len(o.Targets) == 1 && o.Targets[0].Name == "" {
		return allocator.New(o.Clients[0].Redis, opts)
	}
	masters := make([]allocator.Server, len(o.Targets))
	for i, t := range o.Targets {
		masters[i] = allocator.Server{Name: t.Name, Client: o.Clients[i].Redis}
	}
	return allocator.NewMulti(masters, opts)
}

// Explain returns an error of an allocator with its exit code. The text of an error of servers names each of them.
func (o Opened) Explain(ctx context.Context, err error) error {
	_, known := errors.AsType[*exit.Error](err)
	switch {
	case err == nil || known:
		return err
	case ctx.Err() != nil: // by a signal; errors of go-redis do not always wrap it
		return ctx.Err()
	case errors.Is(err, allocator.ErrNotDurable) || errors.Is(err, redis.ErrPoolTimeout): // the server is available
		return err
	case errors.Is(err, allocator.ErrUnavailable) || errors.Is(err, context.DeadlineExceeded) || redis.HasErrorPrefix(err, "MOVED"):
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
	switch {
	case len(failed) > 0:
		return o.Blame(failed)
	case errors.Is(err, context.DeadlineExceeded): // while a first request was in flight
		return fmt.Sprintf("nothing came back within %s, in which each server has --timeout; %s", o.Patience(o.Timeout), checkServers)
	}
	return exit.Plain(err)
}

// checkServers is the remedy if some of several servers failed.
const checkServers = "check the servers, or name others with --redis NAME=URL"

// Blame returns a sentence about the servers that failed, by name.
func (o Opened) Blame(failed map[string]error) string {
	var each []string
	for _, t := range o.Targets {
		if err := failed[t.Name]; err != nil {
			what, _ := t.Diagnose(err, o.Timeout)
			each = append(each, t.Name+": "+what)
		}
	}
	return strings.Join(each, "; ") + "; " + checkServers
}

// failures adds the errors of servers in err to by, with the server's name as the key.
func failures(err error, by map[string]error) {
	switch e := err.(type) { //nolint:errorlint // errors.As finds one error, and there is one for each server
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
