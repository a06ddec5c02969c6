package redistest

import (
	"bytes"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// Proxy forwards connections of clients to a Server and injects the faults of a network. It dials the server anew for each
// connection, so it also works when the server is killed and restarted. It is safe for concurrent use.
type Proxy struct {
	listener net.Listener
	running  sync.WaitGroup // the accept loop and all links

	mu       sync.Mutex // guards the rest; held for no I/O that could wait
	server   *Server
	spread   []*Server // in place of server, in turn
	tamper   func(reply []byte) (delay time.Duration, pass int)
	closed   bool
	refusing bool
	drops    []*drop
	links    map[*link]struct{}
}

// drop is a request to lose the reply to a request that contains match.
type drop struct {
	match   []byte // lower case
	dropped chan struct{}
}

// link is one connection of a client and the one to the server that belongs to it.
type link struct {
	client, server net.Conn
	drop           atomic.Pointer[drop] // set before the request it concerns is passed on
	frozen         atomic.Bool
}

// NewProxy starts a proxy in front of s. It is closed when t ends.
func NewProxy(t testing.TB, s *Server) *Proxy {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &Proxy{server: s, listener: listener, links: map[*link]struct{}{}}
	p.running.Go(func() { serveEach(listener, &p.running, p.serve) })
	t.Cleanup(p.Close)
	return p
}

// Addr returns the proxy's host and port.
func (p *Proxy) Addr() string { return p.listener.Addr().String() }

// Network returns "tcp", the network of Addr.
func (*Proxy) Network() string { return "tcp" }

// Client returns a new client of the server behind the proxy, which is closed when t ends.
func (p *Proxy) Client(t testing.TB) Client {
	t.Helper()
	return NewClient(t, p)
}

// DropReply loses the reply to the next request that contains match, in any letter case ("evalsha"). The server runs the request,
// then the client's connection is closed, and then the channel. Each call applies to one request. It assumes that a connection
// awaits one reply at a time, as in go-redis outside pipelines, and that the client writes the matching text in one piece.
func (p *Proxy) DropReply(match string) (dropped <-chan struct{}) {
	d := &drop{match: bytes.ToLower([]byte(match)), dropped: make(chan struct{})}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.drops = append(p.drops, d)
	return d.dropped
}

// Redirect forwards new connections to s, as an address that moves with the primary does, and cuts the open ones.
func (p *Proxy) Redirect(s *Server) {
	p.Move(s)
	p.Cut()
}

// Move forwards new connections to s, and leaves the open ones where they are.
func (p *Proxy) Move(s *Server) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.server = s
}

// Spread forwards each new connection to the next of several servers, as a balancer does.
func (p *Proxy) Spread(servers ...*Server) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.spread = servers
}

// Tamper calls fate with every piece of a reply. It returns how long the piece is held back, and how many of its bytes are
// forwarded. If not all of them are, the connection is cut afterwards. A nil fate ends that. fate must be safe for concurrent
// use.
func (p *Proxy) Tamper(fate func(reply []byte) (delay time.Duration, pass int)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.tamper = fate
}

// Refuse makes the proxy close new connections as soon as it has accepted them, until it is called with false. Open
// connections stay.
func (p *Proxy) Refuse(refuse bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.refusing = refuse
}

// Freeze loses everything that is sent on the connections that are open, from now on and in both directions, and leaves them
// open, as a host does that dies silently. New connections are served.
func (p *Proxy) Freeze() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for l := range p.links {
		l.frozen.Store(true)
	}
}

// Cut closes all connections that are open.
func (p *Proxy) Cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for l := range p.links {
		l.close()
	}
}

// Close ends the proxy and returns when its goroutines have ended. Closing it again does nothing.
func (p *Proxy) Close() {
	p.mu.Lock()
	p.closed = true
	p.mu.Unlock()
	_ = p.listener.Close()
	p.Cut()
	p.running.Wait()
}

// Listen starts a server of the test's own, which ends when t ends, and returns its address. It calls serve with each
// connection. serve closes the connection, at the latest when the client has closed it.
func Listen(t testing.TB, serve func(client net.Conn)) (addr string) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var running sync.WaitGroup
	running.Go(func() { serveEach(listener, &running, serve) })
	t.Cleanup(func() {
		_ = listener.Close()
		running.Wait()
	})
	return listener.Addr().String()
}

// serveEach starts serve for each connection, as part of running, until the listener is closed.
func serveEach(listener net.Listener, running *sync.WaitGroup, serve func(client net.Conn)) {
	for {
		client, err := listener.Accept()
		if err != nil {
			return
		}
		running.Go(func() { serve(client) })
	}
}

func (p *Proxy) serve(client net.Conn) {
	l := p.connect(client)
	if l == nil {
		_ = client.Close()
		return
	}
	var replies sync.WaitGroup
	replies.Go(func() { p.passReplies(l) })
	p.passRequests(l)
	replies.Wait()

	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.links, l)
}

// connect dials the server, and returns nil if the client is to be refused.
func (p *Proxy) connect(client net.Conn) *link {
	p.mu.Lock()
	refusing := p.refusing
	p.mu.Unlock()
	if refusing {
		return nil
	}
	to := p.target()
	server, err := net.DialTimeout(to.Network(), to.Addr(), 5*time.Second)
	if err != nil {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed || p.server != to && !slices.Contains(p.spread, to) {
		_ = server.Close()
		return nil
	}
	l := &link{client: client, server: server}
	p.links[l] = struct{}{}
	return l
}

func (p *Proxy) passRequests(l *link) {
	defer l.close()
	chunk := make([]byte, 64<<10)
	for {
		n, err := l.client.Read(chunk)
		if err != nil {
			return
		}
		if l.frozen.Load() {
			continue
		}
		if d := p.takeDrop(chunk[:n]); d != nil {
			l.drop.Store(d)
		}
		if _, err := l.server.Write(chunk[:n]); err != nil {
			return
		}
	}
}

// takeDrop removes and returns the first drop that matches the request.
func (p *Proxy) takeDrop(request []byte) *drop {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.drops) == 0 {
		return nil
	}
	request = bytes.ToLower(request)
	i := slices.IndexFunc(p.drops, func(d *drop) bool { return bytes.Contains(request, d.match) })
	if i < 0 {
		return nil
	}
	d := p.drops[i]
	p.drops = slices.Delete(p.drops, i, i+1)
	return d
}

func (p *Proxy) target() *Server {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.spread) > 0 {
		next := p.spread[0]
		p.spread = append(slices.Clone(p.spread[1:]), next)
		return next
	}
	return p.server
}

func (p *Proxy) passReplies(l *link) {
	defer l.close()
	chunk := make([]byte, 64<<10)
	for {
		n, err := l.server.Read(chunk)
		if err != nil {
			return
		}
		if l.frozen.Load() {
			continue
		}
		if d := l.drop.Load(); d != nil {
			close(d.dropped)
			return
		}
		pass := p.fate(chunk[:n])
		if _, err := l.client.Write(chunk[:pass]); err != nil || pass < n {
			return
		}
	}
}

// fate waits for the delay of a piece of a reply, and returns how much of it is forwarded.
func (p *Proxy) fate(reply []byte) int {
	p.mu.Lock()
	tamper := p.tamper
	p.mu.Unlock()
	if tamper == nil {
		return len(reply)
	}
	delay, pass := tamper(reply)
	if delay > 0 {
		<-time.After(delay)
	}
	return pass
}

func (l *link) close() {
	_ = l.client.Close()
	_ = l.server.Close()
}
