package cli

import (
	"bytes"
	"context"
	"net"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/hilo-id/hilo/scripts/redistest"
)

var guid = regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`)

func TestIDGivesEachTextWhatItAsksFor(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		must(t, "prefix", "set", "NorthServer/", "--tag", "A", "--redis", s.URL())
		got := strings.Split(must(t, "id", "companies/", "companies|", "products/ravendb", "people/", "", "companies|", "--redis", s.URL()), "\n")
		if len(got) != 7 || !guid.MatchString(got[4]) {
			t.Fatalf("%q", got)
		}
		got[4] = "a GUID"
		if want := []string{
			"companies/NorthServer/0000000000000000001-A", "companies/1", "products/ravendb",
			"people/NorthServer/0000000000000000002-A", "a GUID", "companies/2", "",
		}; !slices.Equal(got, want) {
			t.Errorf("%q, want %q", got, want)
		}
		asJSON := decode[[]string](t, must(t, "id", "x<y>", "companies|", "--output", "json", "--redis", s.URL()))
		if want := []string{"x<y>", "companies/3"}; !slices.Equal(asJSON, want) {
			t.Errorf("%q, want %q", asJSON, want)
		}
	})
}

func TestIDKeepsToTheSeparator(t *testing.T) {
	t.Parallel()
	got := must(t, "id", "a/b:", "companies|", "companies/", ":x", "--separator", ":", "--redis", "embedded:")
	if want := "a/b:0000000000000000001\ncompanies:1\ncompanies/\n:x\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestIDsThatNeedNoServerAskNone(t *testing.T) {
	t.Parallel()
	dead := redistest.StartMini(t)
	dead.Kill()
	for _, scheme := range []string{"redis://", "redis+sentinel://", "redis+cluster://"} {
		url := scheme + dead.Addr()
		if strings.Contains(scheme, "sentinel") {
			url += "/m"
		}
		if got := must(t, "id", "products/ravendb", "", "--redis", url); !strings.HasPrefix(got, "products/ravendb\n") {
			t.Errorf("%s: %q", url, got)
		}
	}
	for _, test := range []struct {
		text  string
		code  int
		dials bool
	}{{"products/ravendb", exitDone, false}, {"", exitDone, false}, {"companies/", exitUnavailable, true}} {
		if dials := dialled(t, test.code, "id", test.text, "--timeout", "50ms"); dials != test.dials {
			t.Errorf("%q: connections were made: %v", test.text, dials)
		}
	}
}

// dialled reports whether a run of hilo connects to its server, which accepts and says nothing.
func dialled(t *testing.T, code int, args ...string) bool {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	if r := hilo(t, append(args, "--redis", "redis://"+listener.Addr().String())...); r.code != code {
		t.Fatalf("%+v", r)
	}
	ours, err := net.Dial("tcp", listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = ours.Close() }()
	first, err := listener.Accept() // first come, first served
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = first.Close() }()
	return first.RemoteAddr().String() != ours.LocalAddr().String()
}

func TestIDChecksAllBeforeItTakesTheFirst(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		mustFail(t, exitUsage, hilo(t, "id", "companies|", "a/b|", "--redis", s.URL()), `"a/b|"`)
		if got := must(t, "id", "companies|", "--redis", s.URL()); got != "companies/1\n" {
			t.Errorf("%q", got)
		}
	})
}

func TestIDThatFailsInTheMiddleSaysHowManyWereGiven(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		must(t, "next", "orders", "--redis", s.URL())
		const remedy = "give the server a prefix with hilo prefix set"

		r := hilo(t, "id", "products/ravendb", "people|", "orders|", "people|", "--redis", s.URL())
		if r.stdout != "products/ravendb\npeople/1\n" {
			t.Errorf("%q", r.stdout)
		}
		r.stdout = ""
		mustFail(t, exitRefused, r, "hilo: after 2 ids: orders: ", remedy)

		r = hilo(t, "id", "people|", "orders|", "--output", "json", "--redis", s.URL())
		if got := decode[[]string](t, r.stdout); !slices.Equal(got, []string{"people/2"}) {
			t.Errorf("%q", got)
		}
		r.stdout = ""
		mustFail(t, exitRefused, r, "hilo: after 1 id: orders: ", remedy)
		mustFail(t, exitRefused, hilo(t, "id", "orders|", "people|", "--redis", s.URL()), "hilo: orders: ", remedy)
	})
}

func TestIDWhoseRedisIsAwayKeepsWhatItPrinted(t *testing.T) {
	t.Parallel()
	dead := redistest.StartMini(t)
	dead.Kill()
	r := hilo(t, "id", "products/ravendb", "companies|", "--redis", dead.URL())
	if r.stdout != "products/ravendb\n" {
		t.Errorf("%q", r.stdout)
	}
	r.stdout = ""
	mustFail(t, exitUnavailable, r, "hilo: after 1 id: no Redis answers at "+dead.Addr())
}

func TestIDThatIsInterruptedSaysHowManyWereGiven(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var stdout, stderr bytes.Buffer
	out := writer(func(p []byte) (int, error) {
		cancel()
		return stdout.Write(p)
	})
	err := writer(stderr.Write)
	code := runTo(ctx, &out, &err, "id", "companies|", "companies|", "--redis", "embedded:")
	if code != exitFailed || stdout.String() != "companies/1\n" || stderr.String() != "hilo: interrupted after 1 id\n" {
		t.Errorf("exit %d, stdout %q, stderr %q", code, stdout.String(), stderr.String())
	}
}

func TestServerSideIDsAreExhaustedForAllNames(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		if err := s.Client(t).HSet(t.Context(), "{Raven}/ServerSide", "Value", "999999999999999999").Err(); err != nil {
			t.Fatal(err)
		}
		r := hilo(t, "id", "companies/", "--redis", s.URL())
		mustFail(t, exitRefused, r, "{Raven}/ServerSide", "share one counter: go on with hilo next")
		if strings.Contains(r.stderr, "another name") {
			t.Errorf("%q", r.stderr)
		}
	})
}
