// Package gateway gives out hilo's identifiers over HTTP: to programs in any
// language, by a plain API, and to RavenDB's own clients, by their wire, which
// is package ravendb's.
//
//	handler, err := gateway.New(ids, gateway.Options{})
//	…
//	server := gateway.NewServer(handler, logger)
//	err = server.Serve(gateway.LimitConnections(listener, 4096))
//
// The plain API:
//
//	POST /v1/ids/{collection}?count=N     {"ids":["orders/1", …]}
//	POST /v1/identities/{name}?count=N    {"ids":["companies/1", …]}
//	GET  /v1/collections                  what stands in Redis
//	GET  /v1/collections/{collection}
//	GET  /v1/openapi.json                 this, for programs
//	GET  /healthz, /readyz, /metrics
//
// # What is promised
//
// An identifier that was sent is never sent again. One whose answer did not
// arrive, because the caller left, is a gap. Identifiers come from the ranges
// that the allocator holds, so most requests cost no round trip, and an outage
// of Redis is ridden out as long as they last; then the answer is 503 with
// Retry-After, and it is 200 again when the server is back.
//
// Errors are application/problem+json (RFC 9457) whose type is the name of the
// library's error, such as ErrExhausted.
//
// A request is bounded in all its parts before it is looked at, and one that is
// refused has written nothing to Redis.
package gateway
