package redistest

import (
	crand "crypto/rand"
	"encoding/hex"
	"errors"
	"maps"
	"net"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/alicebob/miniredis/v2"
	"github.com/alicebob/miniredis/v2/server"
)

const miniName = "miniredis"

// StartMini starts a miniredis that answers INFO replication as a primary does, with a replication id of its own.
func StartMini(t testing.TB) *Server {
	t.Helper()
	m := new(mini)
	if err := onFreePort(func(addr string) error {
		m.addr = addr
		return m.start()
	}); err != nil {
		t.Fatalf("starting %s: %v", miniName, err)
	}
	t.Cleanup(m.kill)
	s := &Server{t: t, name: miniName, network: "tcp", addr: m.addr, tcp: m.addr, mini: m}
	s.Initialize(defaultNamespace)
	return s
}

// mini runs one Miniredis after another behind one address.
//
// The listener is ours, because that of miniredis accepts connections before its commands are registered. A client that connects
// at that moment of a restart would receive "unknown command", as no real server replies.
type mini struct {
	addr     string
	listener net.Listener  // nil while killed
	accepted chan struct{} // closed when the accept loop has ended

	mu            sync.Mutex // guards the rest
	redis         *miniredis.Miniredis
	replicationID string
	info          map[string]string // further fields of INFO, by name
	hook          func(cmd string, args []string) string
}

func (m *mini) start() error {
	listener, err := net.Listen("tcp", m.addr)
	if errors.Is(err, syscall.EADDRINUSE) {
		return errPortTaken
	}
	if err != nil {
		return err
	}
	redis := miniredis.NewMiniRedis()
	if err := redis.Start(); err != nil {
		return errors.Join(err, listener.Close())
	}
	redis.Server().SetPreHook(m.preHook)

	m.mu.Lock()
	m.redis, m.replicationID = redis, randomReplicationID()
	m.mu.Unlock()

	m.listener, m.accepted = listener, make(chan struct{})
	go accept(listener, redis.Server(), m.accepted)
	return nil
}

func accept(listener net.Listener, srv *server.Server, done chan<- struct{}) {
	defer close(done)
	for {
		conn, err := listener.Accept()
		if err != nil {
			return
		}
		srv.ServeConn(conn)
	}
}

func (m *mini) kill() {
	if m.listener == nil {
		return
	}
	_ = m.listener.Close()
	<-m.accepted // Close below forgets a connection that is handed over while it runs
	redis := m.current()
	redis.CtxCancel()
	redis.Server().Close() // after the commands in flight: INFO would read the server that Close drops, and panic
	redis.Close()
	m.listener = nil
}

func (m *mini) current() *miniredis.Miniredis {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.redis
}

// requireLogin sets the password under mu, which each command takes, because miniredis reads it without a lock of its own. It is
// not called under mu, which a script takes while it holds miniredis's lock.
func (m *mini) requireLogin(user, password string) {
	redis := m.current()
	redis.RequireUserAuth(user, password)
	m.mu.Lock()
	defer m.mu.Unlock()
	m.redis = redis
}

func (m *mini) setReplicationID(id string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.replicationID = id
}

func (m *mini) setHook(hook func(cmd string, args []string) string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.hook = hook
}

func (m *mini) setInfo(field, value string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.info == nil {
		m.info = make(map[string]string)
	}
	m.info[field] = value
}

// preHook answers what miniredis cannot. It takes no lock of miniredis, which is held while a script runs.
func (m *mini) preHook(peer *server.Peer, cmd string, args ...string) (done bool) {
	m.mu.Lock()
	hook, id, info := m.hook, m.replicationID, maps.Clone(m.info)
	m.mu.Unlock()

	if hook != nil {
		if reply := hook(cmd, args); reply != "" {
			peer.WriteError(reply)
			return true
		}
	}
	if cmd != "INFO" || len(args) != 1 {
		return false
	}
	section := strings.ToLower(args[0])
	var text strings.Builder
	text.WriteString("# " + section + "\r\n")
	if section == "replication" {
		text.WriteString("role:master\r\nmaster_replid:" + id + "\r\n")
	}
	set := false
	for _, field := range slices.Sorted(maps.Keys(info)) {
		if sectionOf(field) == section && info[field] != "" {
			text.WriteString(field + ":" + info[field] + "\r\n")
			set = true
		}
	}
	if !set && section != "replication" {
		return false
	}
	peer.WriteBulk(text.String())
	return true
}

// sectionOf returns the section of INFO that has a field.
func sectionOf(field string) string {
	name, _, _ := strings.Cut(field, "_")
	switch name {
	case "aof":
		return "persistence"
	case "cluster":
		return "cluster"
	case "uptime":
		return "server"
	}
	return "replication"
}

func randomReplicationID() string {
	id := make([]byte, 20)
	_, _ = crand.Read(id) // never fails
	return hex.EncodeToString(id)
}
