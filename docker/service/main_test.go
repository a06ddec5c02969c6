package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/hilo-id/hilo/scripts/redistest"
)

// program is the name under which the test binary runs the service.
const program = "service"

func TestMain(m *testing.M) {
	if filepath.Base(os.Args[0]) == program {
		main()
		os.Exit(0)
	}
	redistest.Main(m)
}

// running is a service in a process of its own.
type running struct {
	t       *testing.T
	process *exec.Cmd
	lines   chan map[string]any // of its log
	url     string
	client  *http.Client
}

// start starts a service, at most until the test ends. Only a second signal ends its wait for load balancers.
func start(t *testing.T, environment ...string) *running {
	t.Helper()
	if runtime.GOOS == "windows" {
		redistest.Missing(t, "signals as Unix has them")
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(t.TempDir(), program)
	if err := os.Symlink(self, name); err != nil {
		t.Fatal(err)
	}
	transport := &http.Transport{DisableKeepAlives: true, ExpectContinueTimeout: time.Minute}
	s := &running{t: t, process: exec.CommandContext(t.Context(), name), lines: make(chan map[string]any, 1000), client: &http.Client{Transport: transport, Timeout: time.Minute}}
	s.process.Env = append([]string{"HILO_SERVICE_LISTEN=127.0.0.1:0", "HILO_SERVICE_DRAIN=1h"}, environment...)
	output, err := s.process.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := s.process.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(s.lines)
		for from := bufio.NewScanner(output); from.Scan(); {
			line := make(map[string]any)
			if err := json.Unmarshal(from.Bytes(), &line); err != nil {
				line["msg"] = err.Error()
			}
			s.lines <- line
		}
	}()
	t.Cleanup(func() {
		_ = s.process.Process.Kill()
		s.drain()
		_ = s.process.Wait()
	})
	address, _ := s.await("serving")["address"].(string)
	s.url = "http://" + address
	return s
}

// drain reads the log to its end, which has to precede Wait.
func (s *running) drain() {
	for range s.lines {
	}
}

// await waits for a line of the log.
func (s *running) await(message string) map[string]any {
	s.t.Helper()
	limit := time.After(time.Minute)
	for {
		select {
		case line, more := <-s.lines:
			if !more {
				s.t.Fatalf("the service ended without the line %q", message)
			}
			if line["msg"] == message {
				return line
			}
		case <-limit:
			s.t.Fatalf("got no line %q within a minute", message)
		}
	}
}

// send sends a request and returns the status, 0 without an answer, and the body.
func (s *running) send(ctx context.Context, method, path string, body io.Reader, headers ...string) (status int, text string) {
	s.t.Helper()
	request, err := http.NewRequestWithContext(ctx, method, s.url+path, body)
	if err != nil {
		s.t.Error(err)
		return 0, ""
	}
	for _, name := range headers {
		request.Header.Set(name, "100-continue")
	}
	response, err := s.client.Do(request)
	if err != nil {
		return 0, err.Error()
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	if err != nil {
		return 0, err.Error()
	}
	return response.StatusCode, string(answer)
}

// awaitStatus waits until a path answers with a status, 0 for no answer.
func (s *running) awaitStatus(path string, want int) {
	s.t.Helper()
	awaitTrue(s.t, fmt.Sprintf("%s with status %d", path, want), func() bool {
		got, _ := s.send(s.t.Context(), http.MethodGet, path, nil)
		return got == want
	})
}

// awaitTrue waits until a condition holds.
func awaitTrue(t *testing.T, what string, holds func() bool) {
	t.Helper()
	ticker := time.NewTicker(10 * time.Millisecond)
	defer ticker.Stop()
	for deadline := time.Now().Add(time.Minute); !holds(); <-ticker.C {
		if time.Now().After(deadline) {
			t.Fatalf("%s: not within a minute", what)
		}
	}
}

// order creates an order and returns its id. On a busy machine an id can come too late for the service.
func (s *running) order() string {
	s.t.Helper()
	for deadline := time.Now().Add(time.Minute); ; {
		status, text := s.send(s.t.Context(), http.MethodPost, "/orders", strings.NewReader(`{"customer": "ann"}`))
		if status != http.StatusServiceUnavailable || time.Now().After(deadline) {
			return s.idOf(status, text)
		}
	}
}

func (s *running) idOf(status int, text string) string {
	s.t.Helper()
	var created struct{ ID string }
	if err := json.Unmarshal([]byte(text), &created); err != nil || status != http.StatusCreated {
		s.t.Errorf("got %d %s, want 201 and an id", status, text)
	}
	return created.ID
}

func (s *running) signal(which os.Signal) {
	s.t.Helper()
	if err := s.process.Process.Signal(which); err != nil {
		s.t.Fatal(err)
	}
}

// last returns the greatest number that the server issued or reserved.
func last(t *testing.T, s *redistest.Server) string {
	t.Helper()
	return s.Client(t).HGet(t.Context(), "{Raven}/HiLo/orders", "Max").Val()
}

func TestServiceStartsBeforeRedisAndIssuesIDs(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, redis *redistest.Server) {
		redis.Kill()
		s := start(t, "HILO_REDIS_URL="+redis.URL())
		s.awaitStatus("/healthz", http.StatusOK)
		s.await("not ready yet, retrying")
		s.awaitStatus("/readyz", http.StatusServiceUnavailable)
		if status, text := s.send(t.Context(), http.MethodPost, "/orders", nil); status != http.StatusServiceUnavailable {
			t.Errorf("without Redis: got %d %s, want 503", status, text)
		}
		redis.Restart()
		redis.Initialize("Raven")
		s.awaitStatus("/readyz", http.StatusOK)

		const orders = 100
		seen := make(map[string]bool)
		for range orders {
			seen[s.order()] = true
		}
		for n := range orders {
			if id := fmt.Sprintf("orders/%d", n+1); !seen[id] {
				t.Errorf("got %d ids without %s, want all from 1 to %d", len(seen), id, orders)
			}
		}
		if status, text := s.send(t.Context(), http.MethodPost, "/orders", strings.NewReader("[")); status != http.StatusBadRequest {
			t.Errorf("no object: got %d %s, want 400", status, text)
		}
		if _, text := s.send(t.Context(), http.MethodGet, "/metrics", nil); !strings.Contains(text, `hilo_ids_issued_total{collection="orders"} 100`) {
			t.Errorf("got the metrics %s, want 100 ids issued", text)
		}
	})
}

func TestServiceEndsInOrder(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, redis *redistest.Server) {
		s := start(t, "HILO_REDIS_URL="+redis.URL())
		s.awaitStatus("/readyz", http.StatusOK)
		s.order()

		// A request whose body has not ended is in flight.
		body, rest := io.Pipe()
		began, answered := make(chan bool), make(chan string, 1)
		go func() {
			ctx := httptrace.WithClientTrace(t.Context(), &httptrace.ClientTrace{Got100Continue: func() { close(began) }})
			status, text := s.send(ctx, http.MethodPost, "/orders", body, "Expect")
			answered <- s.idOf(status, text)
		}()
		select {
		case <-began:
		case <-time.After(time.Minute):
			t.Fatal("the request did not begin within a minute")
		}
		s.signal(syscall.SIGTERM)
		s.awaitStatus("/readyz", http.StatusServiceUnavailable)
		if got := s.order(); got != "orders/2" { // a balancer may not have seen yet that it is not ready
			t.Errorf("while it drains: got %s, want orders/2", got)
		}
		s.signal(syscall.SIGTERM)
		s.awaitStatus("/healthz", 0)
		if _, err := io.WriteString(rest, "{}"); err != nil {
			t.Error(err)
		}
		_ = rest.Close()
		if got := <-answered; got != "orders/3" {
			t.Errorf("in flight: got %q, want orders/3", got)
		}
		ended := s.await("ended")
		s.drain()
		if err := s.process.Wait(); err != nil {
			t.Error(err)
		}
		if got := last(t, redis); got != "3" || ended["issued"] != 3.0 || ended["burnt"] != 0.0 {
			t.Errorf("got Max %s and %v, want 3: the rest was returned", got, ended)
		}
	})
}

// Without Close the numbers in hand are a gap.
func TestServiceThatIsKilledReturnsNothing(t *testing.T) {
	t.Parallel()
	redis := redistest.StartMini(t)
	s := start(t, "HILO_REDIS_URL="+redis.URL())
	s.awaitStatus("/readyz", http.StatusOK)
	s.order()
	s.signal(syscall.SIGKILL)
	s.drain()
	if _, killed := errors.AsType[*exec.ExitError](s.process.Wait()); !killed {
		t.Error("the service ended by itself, want it killed")
	}
	if got := last(t, redis); got == "1" {
		t.Error("got Max 1, want the end of a range")
	}
}

func TestServiceContinuesAtTheOtherMaster(t *testing.T) {
	t.Parallel()
	north, urls := masters(t)
	north.Kill()
	s := start(t, "HILO_REDIS_URL="+urls, "HILO_PREFER=north")
	s.awaitStatus("/readyz", http.StatusOK)
	if got := s.order(); got != "orders/SouthServer/1" {
		t.Errorf("without north: got %s, want orders/SouthServer/1", got)
	}
}

func TestServicePrefersAMasterAndReadsAPassword(t *testing.T) {
	t.Parallel()
	redis := redistest.StartMini(t)
	redis.RequireLogin("worker", "secret")
	_, urls := masters(t)
	file := filepath.Join(t.TempDir(), "password")
	if err := os.WriteFile(file, []byte("secret\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s := start(t, "HILO_REDIS_URL="+strings.Replace(redis.URL(), "redis://", "redis://worker@", 1), "HILO_PASSWORD_FILE="+file)
	s.awaitStatus("/readyz", http.StatusOK)
	if got := s.order(); got != "orders/1" {
		t.Errorf("with a password: got %s, want orders/1", got)
	}
	s = start(t, "HILO_REDIS_URL="+urls, "HILO_PREFER=south")
	s.awaitStatus("/readyz", http.StatusOK)
	if got := s.order(); got != "orders/SouthServer/1" {
		t.Errorf("with a preference: got %s, want orders/SouthServer/1", got)
	}
}

func TestServiceRefusesABadEnvironment(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct{ environment, want string }{
		{"HILO_REDIS_URL=", "HILO_REDIS_URL"},
		{"HILO_REDIS_URL=ftp://h", "must be HOST:PORT, or begin with redis://"},
		{"HILO_REDIS_URL=h:1 HILO_PASSWORD_FILE=/nowhere/password", "/nowhere/password"},
		{"HILO_REDIS_URL=h:1 HILO_TLS_CA=/nowhere/ca.crt", "use rediss://"},
		{"HILO_REDIS_URL=rediss://h HILO_TLS_CA=/nowhere/ca.crt", "/nowhere/ca.crt"},
		{"HILO_REDIS_URL=h:1 HILO_SERVICE_DRAIN=5", "HILO_SERVICE_DRAIN"},
		{"HILO_REDIS_URL=h:1 HILO_SERVICE_LISTEN=127.0.0.1", "HILO_SERVICE_LISTEN"},
	} {
		t.Run(test.environment, func(t *testing.T) {
			t.Parallel()
			command := exec.CommandContext(t.Context(), self)
			command.Args[0], command.Env = program, strings.Fields(test.environment)
			output, err := command.CombinedOutput()
			if err == nil || !strings.Contains(string(output), test.want) {
				t.Errorf("got %v, %s, want an error with %q", err, output, test.want)
			}
		})
	}
}
