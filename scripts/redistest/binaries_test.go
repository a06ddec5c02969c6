package redistest

import (
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
)

func TestServersAreNamedByKindAndVersion(t *testing.T) {
	t.Parallel()
	redis := script(t, `echo "Redis server v=7.0.15 sha=00000000:0 malloc=jemalloc-5.2.1 bits=64 build=1"`)
	again := script(t, `echo "Redis server v=7.0.15 sha=12345678:0 malloc=libc bits=64 build=2"`)
	valkey := script(t, `echo "Valkey server v=8.1.1 sha=00000000:0 malloc=jemalloc-5.3.0 bits=64 build=3"`)
	small := script(t, `echo "Redis server v=7.0.15 sha=00000000:0 malloc=jemalloc-5.3.0 bits=32 build=4"`)

	got, err := identify([]string{redis, "", again, valkey, small})
	if err != nil {
		t.Fatal(err)
	}
	want := []Binary{{redis, "redis-7.0.15"}, {valkey, "valkey-8.1.1"}, {small, "redis-7.0.15-32bit"}}
	if !slices.Equal(got, want) {
		t.Errorf("found %v, want %v", got, want)
	}
}

func TestServerThatCannotBeUsedIsAnError(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, path, want string
	}{
		{"relative path", "redis-server", "not absolute"},
		{"no such file", filepath.Join(t.TempDir(), "redis-server"), "no such file"},
		{"fails", script(t, "echo broken; exit 1"), "broken"},
		{"another program", script(t, "echo keydb 6"), "neither Redis nor Valkey"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			_, err := identify([]string{test.path})
			if err == nil || !strings.Contains(err.Error(), test.want) || !strings.Contains(err.Error(), test.path) {
				t.Errorf("the error is %v, want one with %q and the path", err, test.want)
			}
		})
	}
}

// ended is a test that records whether it was skipped or failed.
type ended struct {
	testing.TB
	how string
}

func (*ended) Helper()                 {}
func (e *ended) Skipf(string, ...any)  { e.how += "skipped" }
func (e *ended) Fatalf(string, ...any) { e.how += "failed "; runtime.Goexit() }

//nolint:paralleltest // it sets the environment
func TestMissingFailsWhereServersAreRequired(t *testing.T) {
	for required, want := range map[string]string{"": "skipped", "1": "failed "} {
		t.Setenv(requiredEnv, required)
		e := new(ended)
		over := make(chan struct{})
		go func() {
			defer close(over)
			Missing(e, "fish")
		}()
		<-over
		if e.how != want {
			t.Errorf("with %s=%q it %s, want %s", requiredEnv, required, e.how, want)
		}
	}
}

func TestCompleteNamesTheServersThatAreMissing(t *testing.T) {
	t.Parallel()
	redis7, redis8, valkey8 := Binary{"/7", "redis-7.0.15"}, Binary{"/8", "redis-8.0.2"}, Binary{"/v", "valkey-8.1.1"}
	tests := []struct {
		name     string
		binaries []Binary
		want     string // "" if complete
	}{
		{"all", []Binary{redis7, redis8, valkey8}, ""},
		{"none", nil, "missing: Redis 7, Redis 8, Valkey 8; found: none"},
		{"one is missing", []Binary{redis7, valkey8}, "missing: Redis 8; found: redis-7.0.15 (/7), valkey-8.1.1 (/v)"},
		{"three of a kind", []Binary{redis7, {"/7.2", "redis-7.2.5"}, {"/7.4", "redis-7.4.1"}}, "missing: Redis 8, Valkey 8;"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			err := complete(test.binaries)
			switch {
			case test.want == "" && err != nil:
				t.Errorf("the error is %v, want none", err)
			case test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)):
				t.Errorf("the error is %v, want one with %q", err, test.want)
			}
		})
	}
}

func script(t *testing.T, body string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "server")
	syscall.ForkLock.RLock() // a process that starts meanwhile would hold it open, and it could not be run
	defer syscall.ForkLock.RUnlock()
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+body+"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	return path
}
