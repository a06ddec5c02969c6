package protocol

import (
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"sync"
	"testing"

	"github.com/hilo-id/hilo/scripts/redistest"
)

// Four workers in Go and four in Python take from one collection, and two of each
// are killed at work.
func TestFleetOfGoAndPythonIssuesNoIdentifierTwice(t *testing.T) {
	t.Parallel()
	binaries := redistest.Binaries(t)
	if len(binaries) == 0 {
		redistest.Missing(t, "a real server")
	}
	s := redistest.Start(t, binaries[len(binaries)-1])
	const (
		each   = 24_000 // that each surviving worker takes
		killed = 1_000  // that the others take at least
	)
	fleet := make([]*process, 8) // Go and Python by turns
	for i := range fleet {
		if i%2 == 0 {
			fleet[i] = startGo(t, s.URL(), each)
		} else {
			fleet[i] = start(t, "hilo.py", "--redis", s.URL(), "--count", strconv.Itoa(each), "orders")
		}
	}
	lines := make([][]string, len(fleet))
	var reading sync.WaitGroup
	for i, p := range fleet {
		reading.Go(func() {
			if i < 4 {
				lines[i] = p.some(killed)
				_ = p.Process.Kill()
			}
			lines[i] = append(lines[i], p.some(each)...)
		})
	}
	reading.Wait()
	var all []string
	for i, p := range fleet {
		code := p.end(t)
		switch alive := i >= 4; {
		case alive && (code != 0 || len(lines[i]) != each):
			t.Errorf("worker %d took %d and ended with %d: %s", i, len(lines[i]), code, p.stderr.String())
		case !alive && (code != -1 || len(lines[i]) < killed || len(lines[i]) == each):
			t.Errorf("worker %d was to be killed at work; it took %d and ended with %d: %s", i, len(lines[i]), code, p.stderr.String())
		}
		all = append(all, lines[i]...)
	}
	if twice := repeated(t, all); len(twice) > 0 || len(all) < 100_000 {
		t.Errorf("%d identifiers, %d of them twice: %q", len(all), len(twice), twice[:min(5, len(twice))])
	}
	if planted := repeated(t, append(all, all[len(all)/2])); len(planted) != 1 {
		t.Errorf("of one identifier that was given twice it finds %d", len(planted))
	}
	stood, err := strconv.Atoi(stands(t, s, "Max"))
	if err != nil || stood <= len(all) {
		t.Errorf("Max is %d, %v, after %d identifiers: nobody was killed with numbers in hand", stood, err, len(all))
	}
	t.Logf("%d identifiers, none twice; Max is %d, %s ranges", len(all), stood, stands(t, s, "Ranges"))
}

// startGo starts a worker that uses this module's own client.
func startGo(t *testing.T, url string, count int) *process {
	t.Helper()
	p := &process{Cmd: exec.Command(os.Args[0], strconv.Itoa(count))}
	p.Env = append(os.Environ(), workerEnv+"="+url)
	p.run(t)
	return p
}

// repeated returns the identifiers that occurred before.
func repeated(t *testing.T, ids []string) []string {
	t.Helper()
	var twice []string
	seen := make(map[int64]bool, len(ids))
	for _, id := range ids {
		var number int64
		if _, err := fmt.Sscanf(id, "orders/%d", &number); err != nil || id != fmt.Sprintf("orders/%d", number) {
			t.Errorf("%q is no identifier of orders", id)
		}
		if seen[number] {
			twice = append(twice, id)
		}
		seen[number] = true
	}
	return twice
}
