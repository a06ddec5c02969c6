package webservice_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/logging"
	"go.uber.org/goleak"

	"github.com/hilo-id/hilo/allocator"
	"github.com/hilo-id/hilo/allocator/recipes/internal/stand"
	"github.com/hilo-id/hilo/allocator/recipes/webservice"
	"github.com/hilo-id/hilo/scripts/redistest"
)

func TestMain(m *testing.M) {
	logging.Disable() // the tests cause the errors that go-redis reports
	goleak.VerifyTestMain(m)
}

func Example() {
	redisServer, err := miniredis.Run() // or any Redis
	if err != nil {
		panic(err)
	}
	redisServer.HSet("{Raven}/ServerPrefixForHilo", "Initialized", "by hand") // once, as hilo init does
	defer redisServer.Close()
	client := redis.NewClient(allocator.Tune(&redis.Options{Addr: redisServer.Addr()}))
	defer client.Close()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}

	ctx, terminate := context.WithCancel(context.Background()) // signal.NotifyContext in a program
	ended := make(chan error)
	go func() { ended <- webservice.Run(ctx, listener, client) }()
	for range 3 {
		reply, err := http.Post("http://"+listener.Addr().String()+"/orders", "", nil)
		if err != nil {
			panic(err)
		}
		fmt.Println(reply.Status, reply.Header.Get("Location"))
		_ = reply.Body.Close()
	}
	http.DefaultClient.CloseIdleConnections()
	terminate()
	fmt.Println(<-ended, redisServer.HGet("{Raven}/HiLo/orders", "Max")) // the unused numbers were returned
	// Output:
	// 201 Created /orders/1
	// 201 Created /orders/2
	// 201 Created /orders/3
	// <nil> 3
}

func TestRunIssuesDistinctIDsAndReturnsTheRest(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, server *redistest.Server) {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		ctx, terminate := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- webservice.Run(ctx, listener, redistest.NewClient(t, server)) }()

		client := &http.Client{Transport: new(http.Transport)}
		var mu sync.Mutex
		ids := map[string]bool{}
		var callers sync.WaitGroup
		for range 8 {
			callers.Go(func() {
				for range 50 {
					id, status := post(t, client, "http://"+listener.Addr().String()+"/orders")
					if status != http.StatusCreated {
						t.Errorf("status %d", status)
					}
					mu.Lock()
					ids[id] = true
					mu.Unlock()
				}
			})
		}
		callers.Wait()
		client.CloseIdleConnections()
		terminate()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		if len(ids) != 400 {
			t.Errorf("%d different ids for 400 requests", len(ids))
		}
		if left, err := server.Client(t).HGet(t.Context(), "{Raven}/HiLo/orders", "Max").Int(); left != 400 || err != nil {
			t.Errorf("Max is %d, %v, after an orderly end", left, err)
		}
	})
}

func TestRunLogsACloseThatCouldNotReturnRanges(t *testing.T) {
	t.Parallel()
	server := redistest.StartMini(t)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, terminate := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- webservice.Run(ctx, listener, redistest.NewClient(t, server)) }()
	client := &http.Client{Transport: new(http.Transport)}
	if _, status := post(t, client, "http://"+listener.Addr().String()+"/orders"); status != http.StatusCreated {
		t.Errorf("POST /orders: got status %d, want 201", status)
	}
	client.CloseIdleConnections()
	server.Kill()
	terminate()
	if err := <-ended; err != nil {
		t.Errorf("Run with Redis down at the end: got %v, want nil", err)
	}
}

func TestHandlerIsNotReadyWithoutRedisAndRecoversWithoutTraffic(t *testing.T) {
	t.Parallel()
	server := redistest.StartMini(t)
	ids := stand.IDsOf(t, redistest.NewClient(t, server))
	handler := webservice.Handler(ids)
	if err := ids.Warm(t.Context(), "orders"); err != nil {
		t.Fatal(err)
	}
	if got := status(handler, http.MethodGet, "/readyz"); got != http.StatusOK {
		t.Errorf("GET /readyz with ids in hand: got status %d, want 200", got)
	}
	server.Kill()
	orders, err := ids.Collection("orders")
	if err != nil {
		t.Fatal(err)
	}
	for ok := true; ok; {
		_, ok = orders.TryNext()
	}
	if got := status(handler, http.MethodPost, "/orders"); got != http.StatusServiceUnavailable {
		t.Errorf("POST /orders without Redis: got status %d, want 503", got)
	}
	if got := status(handler, http.MethodGet, "/readyz"); got != http.StatusServiceUnavailable {
		t.Errorf("GET /readyz without Redis and ids: got status %d, want 503", got)
	}

	server.Restart()
	deadline, tick := time.After(15*time.Second), time.NewTicker(10*time.Millisecond)
	defer tick.Stop()
	for status(handler, http.MethodGet, "/readyz") != http.StatusOK {
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatal("GET /readyz: got 503 for 15 s after Redis was back, want 200 without other requests")
		}
	}
}

func TestReadyzReportsARefusedCollection(t *testing.T) {
	t.Parallel()
	server := redistest.StartMini(t)
	client := redistest.NewClient(t, server)
	client.HSet(t.Context(), "{Raven}/ServerPrefixForHilo", "NewCounters", "no") // hilo settings set --seeded-only
	ids, err := allocator.New(client, allocator.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer ids.Close(context.WithoutCancel(t.Context()))
	handler := webservice.Handler(ids)
	for range 2 {
		if got := status(handler, http.MethodGet, "/readyz"); got != http.StatusServiceUnavailable {
			t.Errorf("GET /readyz without a counter: got status %d, want 503", got)
		}
		if got := status(handler, http.MethodPost, "/orders"); got != http.StatusInternalServerError {
			t.Errorf("POST /orders without a counter: got status %d, want 500", got)
		}
	}
	client.HSet(t.Context(), "{Raven}/HiLo/orders", "Max", 7)
	if got := status(handler, http.MethodGet, "/readyz"); got != http.StatusOK {
		t.Errorf("GET /readyz with a counter: got status %d, want 200", got)
	}
}

// status returns the status of a handler's answer.
func status(handler http.Handler, method, path string) int {
	answer := httptest.NewRecorder()
	handler.ServeHTTP(answer, httptest.NewRequest(method, path, nil))
	return answer.Code
}

func post(t *testing.T, client *http.Client, url string) (id string, status int) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, nil)
	if err != nil {
		t.Error(err)
		return "", 0
	}
	reply, err := client.Do(request)
	if err != nil {
		t.Error(err)
		return "", 0
	}
	defer func() { _ = reply.Body.Close() }()
	body, err := io.ReadAll(reply.Body)
	if err != nil {
		t.Error(err)
	}
	return string(body), reply.StatusCode
}
