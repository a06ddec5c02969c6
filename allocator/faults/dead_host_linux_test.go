package faults

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/hilo-id/hilo/allocator"
	"github.com/hilo-id/hilo/scripts/redistest"
)

const (
	poolSize    = 20 // connections of each client when the host dies
	controlPool = 6  // of the one that needs an attempt for each
	slots       = 16 // requests for identities that a process has in flight at most
)

// A primary's host is cut off without a RST or FIN. Its replica is promoted, and the name of the primary moves there. A program
// and hilo serve succeed again after one failed attempt. A client with the options of Tune but without its dialer fails once for
// each connection of its pool.
func TestDeadHostFailsOneAttempt(t *testing.T) {
	t.Parallel()
	requireNetworks(t)
	command := os.Getenv(commandEnv)
	if command == "" { // in the isolated process, which could not download a module, it is there
		command = buildCommand(t)
	}
	eachServer(t, func(t *testing.T, b redistest.Binary) {
		if !isolated(t, commandEnv+"="+command) {
			return
		}
		const timeout, controlTimeout = 2 * time.Second, 200 * time.Millisecond // RefillTimeout
		s := newSite(t)
		primary, replica := s.add(b), s.add(b)
		replica.follow(primary)
		s.current.Store(primary)

		// The control has a short timeout and a small pool only to save time.
		control := s.client(func(o *redis.Options) { o.Dialer, o.PoolSize = nil, controlPool })
		untuned := newIDs(t, control, allocator.Options{RefillTimeout: controlTimeout})
		client := s.client(func(*redis.Options) {})
		ids := newIDs(t, client, allocator.Options{RefillTimeout: timeout, MaxCapacity: 32}) // so that each batch is a request
		flags := []string{"--redis", "redis://redis.test:" + port + "?pool_size=" + fmt.Sprint(poolSize), "--timeout", timeout.String()}
		gateway, bare := serve(t, flags...), serve(t, flags...) // bare is never ready by numbers in hand: it issues identities only
		redistest.OpenPool(t, control, controlPool)
		redistest.OpenPool(t, client, poolSize)
		primary.openPoolOf(gateway, poolSize, controlPool+2*poolSize, "/v1/identities/opens%d?count=1", "/v1/ids/opens%d?count=1")
		primary.openPoolOf(bare, slots, controlPool+2*poolSize+slots, "/v1/identities/bares%d?count=1")

		d := newDrill(t)
		kinds := []string{"identities", "new collections", "refills"}
		d.repeat("identities", func(ctx context.Context, _ int) ([]string, error) {
			n, err := ids.NextIdentity(ctx, "library")
			return []string{fmt.Sprintf("library/%d", n)}, err
		})
		d.repeat("new collections", func(ctx context.Context, i int) ([]string, error) {
			id, err := ids.Next(ctx, fmt.Sprint("library", i))
			return []string{id}, err
		})
		d.repeat("refills", func(ctx context.Context, _ int) ([]string, error) {
			refills, err := ids.Collection("libraries")
			if err != nil {
				return nil, err
			}
			batch, err := refills.Take(ctx, 32)
			return batch.Strings(), err
		})
		for i, path := range []string{"/v1/identities/served?count=1", "/v1/ids/served%d?count=1", "/v1/ids/serves?count=10000"} {
			d.repeat("hilo serve: "+kinds[i], func(ctx context.Context, i int) ([]string, error) {
				return post(ctx, gateway+strings.Replace(path, "%d", fmt.Sprint(i), 1))
			})
		}
		d.repeat("identities beside /readyz", func(ctx context.Context, _ int) ([]string, error) {
			return post(ctx, bare+"/v1/identities/ready?count=1")
		})
		d.repeat("/readyz", func(ctx context.Context, _ int) ([]string, error) {
			_, err := request(ctx, http.MethodGet, bare+"/readyz")
			return nil, err
		})
		d.await(func(u *user) bool { return u.calls >= 20 })

		primary.die()
		d.lose()
		replica.Promote()
		s.current.Store(replica)

		failures := failuresUntilServed(t, untuned)
		issued := func(collection string) bool {
			return redistest.NewClient(t, replica.Server).HGet(t.Context(), "{Raven}/HiLo/"+collection, "Epoch").Val() != ""
		}
		d.await(func(u *user) bool { return u.after >= 20 && issued("libraries") && issued("serves") })
		d.end()
		limit := timeout + time.Second + 4*d.late // a timer, a dial, a look-up and a reply, each of which may be late
		for _, u := range d.users {
			t.Logf("%s: %d calls, %d failures, without success for at most %v", u.name, u.calls, u.failures, u.longest)
			if u.longest > limit {
				t.Errorf("%s: got no success for %v, want at most %v", u.name, u.longest, limit)
			}
		}
		if failures < controlPool-1 { // a health check may have used up one of its connections
			t.Errorf("the dialer of go-redis: got %d failed attempts, want about %d, or the test proves nothing", failures, controlPool)
		}
		t.Logf("the dialer of go-redis: %d failed attempts; this machine had a timer wait for %v", failures, d.late)
	})
}

const commandEnv = "HILO_FAULTS_COMMAND"

// buildCommand returns the path of hilo.
func buildCommand(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "hilo")
	build := exec.Command("go", "build", "-o", path, "./cli/hilo")
	build.Dir = filepath.Join("..", "..")
	if output, err := build.CombinedOutput(); err != nil {
		t.Fatalf("building hilo: %v: %s", err, output)
	}
	return path
}

// serve starts hilo serve and returns its URL.
func serve(t *testing.T, args ...string) (url string) {
	t.Helper()
	cmd := exec.Command(os.Getenv(commandEnv), append([]string{"serve", "--listen", "127.0.0.1:0"}, args...)...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	gone, err := redistest.StartChild(cmd)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		<-gone
		http.DefaultClient.CloseIdleConnections()
		if t.Failed() {
			t.Logf("hilo serve said: %s", stderr.String())
		}
	})
	line, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		t.Fatalf("hilo serve said: %s", stderr.String())
	}
	return strings.TrimSpace(line)
}

var errUnavailable = errors.New("503")

func request(ctx context.Context, method, url string) (body []byte, err error) {
	r, err := http.NewRequestWithContext(ctx, method, url, nil)
	if err != nil {
		return nil, err
	}
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	body, err = io.ReadAll(response.Body)
	switch {
	case err != nil:
		return nil, err
	case response.StatusCode == http.StatusServiceUnavailable:
		return nil, fmt.Errorf("%w: %s", errUnavailable, body)
	case response.StatusCode != http.StatusOK:
		return nil, fmt.Errorf("%s: %s", response.Status, body)
	}
	return body, nil
}

// post takes ids from hilo serve.
func post(ctx context.Context, url string) ([]string, error) {
	body, err := request(ctx, http.MethodPost, url)
	if err != nil {
		return nil, err
	}
	var reply struct{ IDs []string }
	err = json.Unmarshal(body, &reply)
	return reply.IDs, err
}

// client returns a client of the name, whose options change may alter.
func (s *site) client(change func(*redis.Options)) *redis.Client {
	opts := allocator.Tune(&redis.Options{Addr: "redis.test:" + port, PoolSize: poolSize})
	change(opts)
	client := redis.NewClient(opts)
	s.t.Cleanup(func() { _ = client.Close() })
	return client
}

func newIDs(t *testing.T, client *redis.Client, opts allocator.Options) *allocator.Allocator {
	t.Helper()
	ids, err := allocator.New(client, opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = ids.Close(context.WithoutCancel(t.Context())) })
	return ids
}

// openPoolOf makes hilo serve open connections to the host until the host has all of them in total. It sends as many requests at
// the same time, for these paths in turn, so that each needs a connection of its own.
func (h *host) openPoolOf(url string, connections, all int, paths ...string) {
	h.t.Helper()
	client := redistest.NewClient(h.t, h.Server)
	n := 0
	h.Await("to have all connections", func(ctx context.Context) bool {
		client.Do(ctx, "CLIENT", "PAUSE", 500, "WRITE") // far below the timeout of the requests
		var running sync.WaitGroup
		for i := range connections {
			n++
			path := fmt.Sprintf(paths[i%len(paths)], n)
			running.Go(func() { _, _ = post(ctx, url+path) })
		}
		running.Wait()
		return strings.Count(client.ClientList(ctx).Val(), " addr=192.0.2.1:") >= all
	})
}

// failuresUntilServed returns the number of attempts that fail before one succeeds.
func failuresUntilServed(t *testing.T, ids *allocator.Allocator) (failures int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for {
		if _, err := ids.NextIdentity(ctx, "control"); err == nil {
			return failures
		} else if ctx.Err() != nil {
			t.Fatalf("got %d failures, the last %v, want success", failures, err)
		}
		failures++
	}
}
