// Package tracing records refills as spans of OpenTelemetry, with go-redis's own
// instrumentation. The allocator is not involved.
package tracing

import (
	"errors"

	"github.com/redis/go-redis/extra/redisotel/v9"
	"github.com/redis/go-redis/v9"
	"go.opentelemetry.io/otel/trace"
)

// Instrument records each command of a client as a span. Call it before
// allocator.New. The arguments of commands are omitted: they are script texts and
// leases.
//
// A *redis.Client needs ContextTimeoutEnabled, which allocator.Tune sets. Without it
// the allocator uses Client.WithTimeout, whose result has no hooks.
func Instrument(client redis.UniversalClient, provider trace.TracerProvider) error {
	if single, ok := client.(*redis.Client); ok && !single.Options().ContextTimeoutEnabled {
		return errors.New("tracing: a client without ContextTimeoutEnabled would show no span")
	}
	return redisotel.InstrumentTracing(client, redisotel.WithTracerProvider(provider), redisotel.WithDBStatement(false),
		redisotel.WithDialFilter(true), redisotel.WithCommandFilter(greeting),
		redisotel.WithCommandsFilter(func(pipeline []redis.Cmder) bool { return greeting(pipeline[0]) }))
}

// greeting reports whether a command is one that go-redis sends first on each connection, which is no refill.
func greeting(cmd redis.Cmder) bool {
	switch cmd.Name() {
	case "hello", "auth", "select", "client":
		return true
	default:
		return false
	}
}
