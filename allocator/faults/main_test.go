package faults

import (
	"flag"
	"os"
	"testing"
	"time"

	"github.com/hilo-id/hilo/scripts/redistest"
)

var long = flag.Duration("long", 0, "how long those tests run that can go on for ever; 0: for some seconds")

func TestMain(m *testing.M) {
	if text := os.Getenv(jobEnv); text != "" {
		os.Exit(workerMain(text))
	}
	flag.Parse()
	// These tests mostly wait for servers and workers, so more of them can run than there are processors.
	if err := flag.Set("test.parallel", "8"); err != nil {
		panic(err)
	}
	redistest.Main(m)
}

func pass(d time.Duration) { <-time.After(d) }

// eachServer runs a test for each kind of real server.
func eachServer(t *testing.T, test func(t *testing.T, b redistest.Binary)) {
	t.Helper()
	for _, b := range redistest.Binaries(t) {
		t.Run(b.Name, func(t *testing.T) {
			t.Parallel()
			test(t, b)
		})
	}
}
