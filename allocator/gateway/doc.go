// Package gateway issues hilo's identifiers over HTTP: to programs in any language by a plain API, and to RavenDB's own
// clients by their protocol, which is package ravendb's.
//
//	handler, err := gateway.New(ids, gateway.Options{})
//	…
//	server := access.NewServer(handler, logger)
//	err = server.Serve(access.LimitConnections(listener, 4096))
//
// The plain API:
//
//	POST /v1/ids/{collection}?count=N     {"ids":["orders/1", …]}
//	POST /v1/identities/{name}?count=N    {"ids":["companies/1", …]}
//	GET  /v1/collections                  the counters
//	GET  /v1/collections/{collection}
//	GET  /v1/openapi.json                 the description of this API
//	GET  /healthz, /readyz, /metrics
//
// # Guarantees
//
// An identifier is sent once. If its answer is lost it is a gap. Identifiers come from the ranges that the allocator
// holds, so most requests cost no round trip, and are answered while Redis is down as long as the ranges last. Then the
// answer is 503 with Retry-After, until a server is back.
//
// Errors are application/problem+json (RFC 9457). Their type is the name of the library's error, such as ErrExhausted.
//
// The size of a request is bounded before it is parsed, and a request that is refused writes nothing to Redis.
package gateway
