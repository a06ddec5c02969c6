package cli

import (
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/hilo-id/hilo/cli/internal/clitest"
	"github.com/hilo-id/hilo/cli/internal/exit"
	"github.com/hilo-id/hilo/scripts/redistest"
)

func TestWorkerReportsUnstoredDocuments(t *testing.T) {
	t.Parallel()
	dead := redistest.StartMini(t)
	dead.Kill()
	w := startWorker(t, nil, "orders", "--rate", "max", "--goroutines", "1", "--timeout", "1s", "--redis", "embedded:", "--documents", dead.URL())
	w.stderr.Await(t, "cannot store documents, retrying")
	w.cancel()
	r := w.wait()
	if r.Code != exit.Unavailable || !strings.Contains(r.Stderr, "hilo: the documents of 256 ids were not stored before the end") ||
		!strings.Contains(r.Stdout, "0 stored, 0 duplicates, 256 not stored") {
		t.Errorf("%+v", r)
	}
}

// Returning ranges and storing documents are concurrent, and each has --timeout, which is longer than the test here.
func TestWorkerReturnsRangesWhileDocumentsHang(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		documents := redistest.StartMini(t)
		hanging, resume := make(chan struct{}), make(chan struct{})
		var once sync.Once
		documents.Hook(func(cmd string, _ []string) string {
			if cmd == "SET" {
				once.Do(func() { close(hanging) })
				<-resume
			}
			return ""
		})
		w := startWorker(t, nil, "orders", "--rate", "10", "--goroutines", "1", "--timeout", "10m",
			"--documents", documents.URL(), "--redis", s.URL(), "--output", "json")
		resumes := sync.OnceFunc(func() { close(resume) })
		t.Cleanup(resumes)
		<-hanging
		w.cancel()
		client := s.Client(t)
		clitest.AwaitTrue(t, "a return", func() bool { return client.HGet(t.Context(), "{Raven}/HiLo/orders", "Max").Val() == "1" })
		resumes()
		r := w.wait()
		if found := clitest.Decode[workerReport](t, r.Stdout); r.Code != exit.Done || found.Stored != 1 || found.Unstored != 0 || found.NotReturned != 0 {
			t.Errorf("exit %d, %+v", r.Code, found)
		}
	})
}

func TestWorkerGivesUpDocumentsThatHang(t *testing.T) {
	t.Parallel()
	documents := redistest.StartMini(t)
	hanging, resume := make(chan struct{}), make(chan struct{})
	var once sync.Once
	documents.Hook(func(cmd string, _ []string) string {
		if cmd == "SET" {
			once.Do(func() { close(hanging) })
			<-resume
		}
		return ""
	})
	w := startWorker(t, nil, "orders", "--rate", "10", "--goroutines", "1", "--timeout", "100ms", "--redis", "embedded:",
		"--documents", documents.URL()+"?read_timeout=10m", "--output", "json")
	t.Cleanup(func() { close(resume) })
	<-hanging
	w.cancel()
	r := w.wait()
	if found := clitest.Decode[workerReport](t, r.Stdout); r.Code != exit.Unavailable || found.Stored != 0 || found.Unstored != 1 {
		t.Errorf("exit %d, %+v", r.Code, found)
	}
}

func TestWorkerUsesThePasswordOfDocuments(t *testing.T) {
	t.Parallel()
	s, documents := redistest.StartMini(t), redistest.StartMini(t)
	s.RequireLogin("worker", "one")
	documents.RequireLogin("worker", "two")
	s2 := redistest.StartMini(t) // with one password for both
	s2.RequireLogin("worker", "one")
	one, two := clitest.WriteFile(t, "one\n"), clitest.WriteFile(t, "two\n")
	login := func(s *redistest.Server) string { return "redis://worker@" + s.Addr() }
	mustWork(t, "worker", "orders", "--count", "3", "--rate", "max", "--redis", login(s), "--password-file", one,
		"--documents", login(documents), "--documents-password-file", two)
	mustWork(t, "worker", "orders", "--count", "3", "--rate", "max", "--redis", login(s), "--password-file", one, "--documents", login(s2))
	mustWork(t, "worker", "orders", "--count", "3", "--rate", "max", "--redis", login(s), "--password-file", one,
		"--documents", redistest.StartMini(t).URL()) // without a password
}

// The key exists when the worker retries, with the worker's own value.
func TestStoreCountsALostReplyAsStored(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		proxy := redistest.NewProxy(t, s)
		bare := proxy.Client(t)
		dropped := proxy.DropReply("orders/0")
		err := bare.SetArgs(t.Context(), "orders/0", "mine", redis.SetArgs{Mode: "NX"}).Err()
		<-dropped
		if !errors.Is(err, redis.Nil) { // the key exists, as if another worker had written it
			t.Errorf("the fault does not show: %v", err)
		}

		dropped = proxy.DropReply("orders/1")
		r := clitest.Hilo(t, "worker", "orders", "--rate", "max", "--count", "50", "--goroutines", "1",
			"--redis", s.URL(), "--documents", "redis://"+proxy.Addr()+"?max_retries=1", "--output", "json")
		<-dropped
		found := clitest.Decode[workerReport](t, r.Stdout)
		if r.Code != exit.Done || found.Stored != 50 || found.Duplicates != 0 || found.Unstored != 0 {
			t.Errorf("%+v", found)
		}
	})
}
