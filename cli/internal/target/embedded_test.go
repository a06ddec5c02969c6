package target

import (
	"context"
	"errors"
	"io"
	"net"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2/server"

	"github.com/hilo-id/hilo/allocator"
	"github.com/hilo-id/hilo/allocator/admin"
	"github.com/hilo-id/hilo/prefix"
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

// A server of this process is new. What it lost after that is lost, as on any server.
func TestEmbeddedIsInitialised(t *testing.T) {
	t.Parallel()
	e := NewEmbedded()
	if err := e.StartAddr("127.0.0.1:0"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(e.Close)
	at, err := Parse(e.Addr())
	if err != nil {
		t.Fatal(err)
	}
	client, closeAll, err := at.Open(time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(closeAll)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	next := func(namespace string) error {
		ids, err := allocator.New(client.Redis, allocator.Options{Namespace: namespace})
		if err != nil {
			return err
		}
		defer func() { _ = ids.Close(ctx) }()
		_, err = ids.Next(ctx, "orders")
		return err
	}
	for _, namespace := range []string{"Raven", "Shop"} {
		if err := next(namespace); err != nil {
			t.Errorf("%s: %v", namespace, err)
		}
	}
	operator, err := admin.New(client.Redis, admin.Options{Namespace: "Mall"})
	if err != nil {
		t.Fatal(err)
	}
	if err := operator.Init(ctx, prefix.Server{ServerPrefix: "North/"}); errors.Is(err, admin.ErrInitialized) || ctx.Err() != nil {
		t.Errorf("Init of a namespace that is not in use: got %v, want its settings made", err)
	}
	e.FlushAll()
	if err := next("Raven"); !errors.Is(err, allocator.ErrNotSeeded) {
		t.Errorf("after the loss of all data: got %v, want ErrNotSeeded", err)
	}
}
