package target

import "github.com/alicebob/miniredis/v2"

// Embedded is a Redis stand-in in this process. Addr and the methods after it are for one that was started.
type Embedded struct{ *miniredis.Miniredis }

// NewEmbedded returns an Embedded that is not started yet.
func NewEmbedded() Embedded { return Embedded{miniredis.NewMiniRedis()} }

// Close stops the server, if it runs, after the commands in flight. That order is why it replaces the method of miniredis, which
// drops its listener first: an INFO in flight would then end the process.
func (e Embedded) Close() {
	if server := e.Server(); server != nil {
		e.CtxCancel() // ends commands that wait
		server.Close()
	}
	e.Miniredis.Close()
}
