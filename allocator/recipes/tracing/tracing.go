// Package tracing shows refills as spans of OpenTelemetry, by go-redis's own
// instrumentation. The allocator knows nothing of it.
package tracing

import (
	"errors"

	"github.com/redis/go-redis/extra/redisotel/v9"
	"github.com/redis/go-redis/v9"
	"go.opentelemetry.io/otel/trace"
)

// Instrument has each command of a client become a span, before the client is
// given to allocator.New. What is in a command is left out: it is the text of a
// script, and the lease of a range.
//
// A *redis.Client needs ContextTimeoutEnabled. Where that is missing, and with
// Options.Durability, the allocator uses Client.WithTimeout, and go-redis leaves
// the hooks out of what that returns.
func Instrument(client redis.UniversalClient, provider trace.TracerProvider) error {
	if single, ok := client.(*redis.Client); ok && !single.Options().ContextTimeoutEnabled {
		return errors.New("tracing: a client without ContextTimeoutEnabled would show no span")
	}
	return redisotel.InstrumentTracing(client, redisotel.WithTracerProvider(provider), redisotel.WithDBStatement(false),
		redisotel.WithDialFilter(true), redisotel.WithCommandFilter(greeting),
		redisotel.WithCommandsFilter(func(pipeline []redis.Cmder) bool { return greeting(pipeline[0]) }))
}

// greeting is what go-redis sends first on each connection, which is no refill.
func greeting(cmd redis.Cmder) bool {
	switch cmd.Name() {
	case "hello", "auth", "select", "client":
		return true
	default:
		return false
	}
}
