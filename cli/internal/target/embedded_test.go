package target

import (
	"io"
	"net"
	"testing"

	"github.com/alicebob/miniredis/v2/server"
)

// TestEmbeddedFinishesCommandsBeforeItCloses includes INFO, for which miniredis would read its closed server and panic.
func TestEmbeddedFinishesCommandsBeforeItCloses(t *testing.T) {
	t.Parallel()
	for name, command := range map[string]string{
		"INFO":         "*1\r\n$4\r\nINFO\r\n",
		"INFO clients": "*2\r\n$4\r\nINFO\r\n$7\r\nclients\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := NewEmbedded()
			if err := e.StartAddr("127.0.0.1:0"); err != nil {
				t.Fatal(err)
			}
			arrived, proceed := make(chan bool), make(chan bool)
			e.Server().SetPreHook(func(*server.Peer, string, ...string) bool {
				arrived <- true
				<-proceed
				return false
			})
			conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", e.Addr())
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			if _, err := io.WriteString(conn, command); err != nil {
				t.Fatal(err)
			}
			<-arrived
			closed := make(chan bool)
			go func() { e.Close(); close(closed) }()
			if _, err := conn.Read(make([]byte, 1)); err == nil {
				t.Error("got a reply of a server that is closed, want the connection closed")
			}
			close(proceed)
			<-closed
			e.Close() // a second call is no error
		})
	}
}
