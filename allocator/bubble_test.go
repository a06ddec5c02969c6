package allocator

import (
	"context"
	"errors"
	"net"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/alicebob/miniredis/v2"
	"github.com/alicebob/miniredis/v2/server"
	"github.com/redis/go-redis/v9"

	"github.com/hilo-id/hilo/scripts/redistest"
)

// bubbleServer is a miniredis in a synctest bubble, whose connections are pipes. Its clock is that of the bubble, so that the real
// scripts run for hours of it.
type bubbleServer struct {
	*miniredis.Miniredis
	mu   sync.Mutex        // guards what follows
	info map[string]string // fields of INFO
	down bool              // it refuses connections
	err  string            // the reply to every command, "" for none
	open []net.Conn
}

// inBubble runs a test in a bubble with an initialised server. INFO shows a lone primary with an append-only file.
func inBubble(t *testing.T, test func(t *testing.T, s *bubbleServer)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { test(t, startInBubble(t)) })
}

func startInBubble(t *testing.T) *bubbleServer {
	t.Helper()
	s := &bubbleServer{Miniredis: miniredis.NewMiniRedis(), info: redistest.DurableInfo()}
	s.info["role"], s.info["master_replid"] = "master", strings.Repeat("a", 40)
	if err := s.Start(); err != nil {
		t.Fatal(err)
	}
	s.Server().Close() // its listener, whose goroutine would hold the bubble's clock
	s.Server().SetPreHook(s.hook)
	t.Cleanup(s.Close)
	s.initialize("Initialized", "2026-11-28T00:00:00Z")
	return s
}

// initialize sets fields of the settings.
func (s *bubbleServer) initialize(fields ...string) { s.HSet("{Raven}/ServerPrefixForHilo", fields...) }

func (s *bubbleServer) hook(peer *server.Peer, cmd string, _ ...string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.err != "":
		peer.WriteError(s.err)
	case cmd == "INFO":
		text := ""
		for field, value := range s.info {
			text += field + ":" + value + "\r\n"
		}
		peer.WriteBulk(text)
	default:
		return false
	}
	return true
}

func (s *bubbleServer) set(field, value string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.info[field] = value
}

// restart changes the replication id, as the restart of a server that lost nothing does.
func (s *bubbleServer) restart() { s.set("master_replid", strings.Repeat("b", 40)) }

// setErr makes every command fail with a reply, "" for none.
func (s *bubbleServer) setErr(reply string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.err = reply
}

// setDown ends all connections and refuses new ones, or accepts them again.
func (s *bubbleServer) setDown(down bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.down = down
	for _, conn := range s.open {
		_ = conn.Close()
	}
	s.open = nil
}

func (s *bubbleServer) dial(context.Context, string, string) (net.Conn, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.down {
		return nil, errors.New("connection refused")
	}
	client, behind := net.Pipe()
	s.Server().ServeConn(behind)
	s.open = append(s.open, client)
	return client, nil
}

// client returns a new client of the server, which is closed when t ends.
func (s *bubbleServer) client(t *testing.T) *redis.Client {
	t.Helper()
	client := redis.NewClient(Tune(&redis.Options{Dialer: s.dial}))
	t.Cleanup(func() { _ = client.Close() })
	return client
}
