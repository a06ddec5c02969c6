// Package dial keeps connections that are suspect from being used again.
//
// A pool of go-redis tests each idle connection right before it is used, and closes one that fails. For that test it asks the
// connection for its socket. A connection of this package refuses once another one to the same address failed after it was
// opened, so that the next request gets a new connection, and with it a new look-up of the name. On Windows go-redis does not
// test connections. There the request itself is refused, before anything is sent.
package dial

import (
	"bytes"
	"context"
	"errors"
	"net"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"

	"github.com/hilo-id/hilo/scripts"
)

// Func is a Dialer of go-redis.
type Func = func(ctx context.Context, network, addr string) (net.Conn, error)

// Remember returns dial with a memory. Once one of its connections ended, or a reply did not come in time, or was that the server
// is not a primary, no connection to that address that was dialed earlier is used for another request. Requests in flight on such
// connections are unaffected.
//
// An older connection that fails later says nothing about those that were opened since, so that requests that time out one
// after the other discard each connection once.
func Remember(dial Func) Func { return remember(dial, !poolTests) }

// poolTests reports whether go-redis tests the socket of an idle connection on this system.
var poolTests = slices.Contains([]string{"linux", "darwin", "dragonfly", "freebsd", "netbsd", "openbsd", "solaris", "illumos"}, runtime.GOOS)

func remember(dial Func, refuses bool) Func {
	var generations sync.Map // of each address, an *atomic.Int64
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		value, _ := generations.LoadOrStore(addr, new(atomic.Int64))
		c := &conn{current: value.(*atomic.Int64), refuses: refuses}
		c.generation = c.current.Load()
		var err error
		if c.Conn, err = dial(ctx, network, addr); err != nil {
			return nil, err
		}
		return c, nil
	}
}

// conn is a connection of one generation, which is suspect once its address has another one.
type conn struct {
	net.Conn
	current    *atomic.Int64
	generation int64
	refuses    bool // a request if the connection is suspect, because the pool does not test it
	// mu guards first.
	mu    sync.Mutex
	first first
	// waiting reports that a request was written and nothing of its reply has been read. Without it, a read that ends in time
	// without data is how a subscriber waits.
	waiting atomic.Bool
}

// suspect makes this connection and the older ones to its address suspect.
func (c *conn) suspect() { c.current.CompareAndSwap(c.generation, c.generation+1) }

func (c *conn) Write(b []byte) (int, error) {
	if !c.waiting.Swap(true) && c.refuses && c.current.Load() != c.generation {
		return 0, ErrSuspect
	}
	n, err := c.Conn.Write(b)
	if isTimeout(err) || ended(err) {
		c.suspect()
	}
	return n, c.explain(err)
}

func (c *conn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	switch {
	case n > 0:
		c.mu.Lock()
		c.first.add(b[:n])
		c.mu.Unlock()
		if c.waiting.Swap(false) && refusesWrites(b[:n]) {
			c.suspect()
		}
	case c.waiting.Load() && isTimeout(err), ended(err):
		c.suspect()
	}
	return n, c.explain(err)
}

// NetConn returns the connection below, as a *tls.Conn does.
func (c *conn) NetConn() net.Conn { return c.Conn }

// ErrSuspect is the error of a request that was not sent, where go-redis does not test connections.
var ErrSuspect = errors.New("another connection to this address failed after this one was opened")

// SyscallConn returns the socket for the test of an idle connection, or an error if the connection is suspect. The socket of
// a TLS connection cannot be tested, so that another one takes its place that passes.
func (c *conn) SyscallConn() (syscall.RawConn, error) {
	if c.current.Load() != c.generation {
		return nil, ErrSuspect
	}
	if socket, ok := c.Conn.(syscall.Conn); ok {
		return socket.SyscallConn()
	}
	return untested{}, nil
}

type untested struct{}

func (untested) Control(func(fd uintptr)) error    { return nil }
func (untested) Read(func(fd uintptr) bool) error  { return nil }
func (untested) Write(func(fd uintptr) bool) error { return nil }

// ended reports whether the other side, or the network, ended the connection.
func ended(err error) bool { return err != nil && !isTimeout(err) && !errors.Is(err, net.ErrClosed) }

func isTimeout(err error) bool {
	late, ok := errors.AsType[net.Error](err)
	return ok && late.Timeout()
}

// refusesWrites reports whether a reply is the error of a server that is not a primary.
func refusesWrites(reply []byte) bool {
	if reply[0] != '-' && reply[0] != '!' {
		return false
	}
	line, _, _ := bytes.Cut(reply[1:], []byte("\r\n"))
	if reply[0] == '!' { // its length, and then the text
		line = reply[1:]
	}
	return scripts.NotPrimary(string(line))
}
