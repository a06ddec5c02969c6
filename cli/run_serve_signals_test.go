package cli

import (
	"bufio"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/hilo-id/hilo/scripts/redistest"
)

// startServeProcess starts hilo serve as a process of its own.
func startServeProcess(t *testing.T, s *redistest.Server) (url string, process *exec.Cmd) {
	t.Helper()
	process = exec.CommandContext(t.Context(), os.Args[0], "serve", "--listen", "127.0.0.1:0", "--redis", s.URL())
	process.Args[0] = "hilo" // which makes the test binary run it
	process.Stderr = io.Discard
	stdout, err := process.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := process.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(line), process
}

// takeUntilClosed takes identifiers on several connections until they break. It calls stop once after the first min
// identifiers, adds all identifiers to seen, and returns the number of those that were there already.
func takeUntilClosed(t *testing.T, url string, seen *sync.Map, min int64, stop func()) (duplicates int64) {
	t.Helper()
	var got, twice atomic.Int64
	var once sync.Once
	var wait sync.WaitGroup
	for range 8 {
		wait.Go(func() {
			client := newHTTPClient(t)
			for {
				response, err := client.Post(url+"/v1/ids/orders?count=3", "", nil) //nolint:noctx // it ends with the server
				if err != nil {
					return
				}
				var answer struct{ IDs []string }
				err = json.NewDecoder(response.Body).Decode(&answer)
				response.Body.Close()
				if err != nil || response.StatusCode != http.StatusOK {
					return
				}
				for _, id := range answer.IDs {
					if _, there := seen.LoadOrStore(id, true); there {
						twice.Add(1)
					}
				}
				if got.Add(3) > min {
					once.Do(stop)
				}
			}
		})
	}
	wait.Wait()
	return twice.Load()
}

func TestServeIssuesNoIDTwiceAndReturnsTheRestOnSIGTERM(t *testing.T) {
	t.Parallel()
	redistest.EachReal(t, func(t *testing.T, s *redistest.Server) {
		url, process := startServeProcess(t, s)
		var seen sync.Map
		twice := takeUntilClosed(t, url, &seen, 3000, func() { _ = process.Process.Signal(syscall.SIGTERM) })
		if err := process.Wait(); err != nil {
			t.Errorf("%v", err)
		}
		count := 0
		seen.Range(func(any, any) bool { count++; return true })
		max := s.Client(t).HGet(t.Context(), "{Raven}/HiLo/orders", "Max").Val()
		if twice != 0 || max != strconv.Itoa(count) {
			t.Errorf("%d duplicates, %d ids, Max %s", twice, count, max)
		}
	})
}

func TestServeIssuesNoIDTwiceWhenKilled(t *testing.T) {
	t.Parallel()
	redistest.EachReal(t, func(t *testing.T, s *redistest.Server) {
		var seen sync.Map
		for range 3 {
			url, process := startServeProcess(t, s)
			if twice := takeUntilClosed(t, url, &seen, 1000, func() { _ = process.Process.Kill() }); twice != 0 {
				t.Errorf("got %d duplicates, want none", twice)
			}
			_ = process.Wait() // it was killed
		}
		count := 0
		seen.Range(func(any, any) bool { count++; return true })
		if count < 3000 {
			t.Errorf("%d ids", count)
		}
	})
}
