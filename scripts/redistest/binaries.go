package redistest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

const (
	serversEnv  = "HILO_TEST_SERVERS"
	requiredEnv = "HILO_TEST_SERVERS_REQUIRED"
)

// Binary is the executable of a real server. It may be a script that ends in exec, because the process that is started is the one
// that gets killed, paused and resumed, and so must become the server.
type Binary struct {
	Path string
	Name string // kind and version, "redis-7.0.15"; "redis-7.0.15-32bit" for a program of 32 bits
}

// Binaries returns the real servers of this machine, one of each kind and version. Those in PATH are first, then those that
// HILO_TEST_SERVERS names. It fails the test if a named one does not run, or if HILO_TEST_SERVERS_REQUIRED is 1 and one that is
// expected is missing.
func Binaries(t testing.TB) []Binary {
	t.Helper()
	binaries, err := discover()
	if err != nil {
		t.Fatal(err)
	}
	return slices.Clone(binaries)
}

var discover = sync.OnceValues(func() ([]Binary, error) {
	var paths []string
	for _, name := range []string{"redis-server", "valkey-server"} {
		if path, err := exec.LookPath(name); err == nil {
			paths = append(paths, path)
		}
	}
	paths = append(paths, filepath.SplitList(os.Getenv(serversEnv))...)

	binaries, err := identify(paths)
	if err != nil {
		return nil, err
	}
	if os.Getenv(requiredEnv) == "1" {
		return binaries, complete(binaries)
	}
	return binaries, nil
})

// Missing ends a test that needs something that this machine does not have. It skips the test, or fails it if
// HILO_TEST_SERVERS_REQUIRED is 1, so that CI skips nothing.
func Missing(t testing.TB, what string) {
	t.Helper()
	if os.Getenv(requiredEnv) == "1" {
		t.Fatalf("%s=1, and missing: %s", requiredEnv, what)
	}
	t.Skipf("missing: %s", what)
}

// identify runs each executable with --version, and drops those of a kind and version that came before.
func identify(paths []string) ([]Binary, error) {
	var binaries []Binary
	for _, path := range paths {
		if path == "" {
			continue
		}
		name, err := serverName(path)
		if err != nil {
			return nil, fmt.Errorf("%w (it is from PATH or %s)", err, serversEnv)
		}
		if !slices.ContainsFunc(binaries, func(b Binary) bool { return b.Name == name }) {
			binaries = append(binaries, Binary{Path: path, Name: name})
		}
	}
	return binaries, nil
}

var versionLine = regexp.MustCompile(`^(Redis|Valkey) server v=(\S+)(.* bits=32\b)?`)

func serverName(path string) (string, error) {
	if !filepath.IsAbs(path) {
		return "", fmt.Errorf("test server %q: the path is not absolute, and each test runs in its package's directory", path)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	output, err := exec.CommandContext(ctx, path, "--version").CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("test server %q does not run: %w; it said %q", path, err, output)
	}
	version := versionLine.FindSubmatch(output)
	if version == nil {
		return "", fmt.Errorf("test server %q is neither Redis nor Valkey: --version says %q", path, output)
	}
	name := strings.ToLower(string(version[1])) + "-" + string(version[2])
	if len(version[3]) > 0 { // where a C long, and with it '%d' in Lua, is below 2^31
		name += "-32bit"
	}
	return name, nil
}

// complete returns an error that names the servers that CI tests every change on and that are missing from the binaries.
func complete(binaries []Binary) error {
	expected := []struct{ name, prefix string }{
		{"Redis 7", "redis-7."},
		{"Redis 8", "redis-8."},
		{"Valkey 8", "valkey-8."},
	}
	var missing []string
	for _, e := range expected {
		if !slices.ContainsFunc(binaries, func(b Binary) bool { return strings.HasPrefix(b.Name, e.prefix) }) {
			missing = append(missing, e.name)
		}
	}
	if missing == nil {
		return nil
	}
	found := []string{"none"}
	if len(binaries) > 0 {
		found = nil
	}
	for _, b := range binaries {
		found = append(found, b.Name+" ("+b.Path+")")
	}
	return errors.New(requiredEnv + "=1 expects Redis 7, Redis 8 and Valkey 8; missing: " + strings.Join(missing, ", ") +
		"; found: " + strings.Join(found, ", "))
}
