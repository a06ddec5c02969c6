package cli

import (
	"bytes"
	"context"
	"net"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/hilo-id/hilo/cli/internal/clitest"
	"github.com/hilo-id/hilo/cli/internal/exit"
	"github.com/hilo-id/hilo/scripts/redistest"
)

var guid = regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`)

func TestIDResolvesEachText(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		clitest.Must(t, "settings", "set", "NorthServer/", "--tag", "A", "--identities", "--redis", s.URL())
		got := strings.Split(clitest.Must(t, "id", "companies/", "companies|", "products/ravendb", "people/", "", "companies|", "--redis", s.URL()), "\n")
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
		asJSON := clitest.Decode[[]string](t, clitest.Must(t, "id", "x<y>", "companies|", "--output", "json", "--redis", s.URL()))
		if want := []string{"x<y>", "companies/3"}; !slices.Equal(asJSON, want) {
			t.Errorf("%q, want %q", asJSON, want)
		}
	})
}

func TestIDKeepsToTheSeparator(t *testing.T) {
	t.Parallel()
	got := clitest.Must(t, "id", "a/b:", "companies|", "companies/", ":x", "--separator", ":", "--redis", "embedded:")
	if want := "a/b:0000000000000000001\ncompanies:1\ncompanies/\n:x\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestIDConnectsToNoServerUnlessItNeedsOne(t *testing.T) {
	t.Parallel()
	dead := redistest.StartMini(t)
	dead.Kill()
	for _, scheme := range []string{"redis://", "redis+sentinel://", "redis+cluster://"} {
		url := scheme + dead.Addr()
		if strings.Contains(scheme, "sentinel") {
			url += "/m"
		}
		if got := clitest.Must(t, "id", "products/ravendb", "", "--redis", url); !strings.HasPrefix(got, "products/ravendb\n") {
			t.Errorf("%s: %q", url, got)
		}
	}
	for _, test := range []struct {
		text  string
		code  int
		dials bool
	}{{"products/ravendb", exit.Done, false}, {"", exit.Done, false}, {"companies/", exit.Unavailable, true}} {
		if dials := dialled(t, test.code, "id", test.text, "--timeout", "50ms"); dials != test.dials {
			t.Errorf("%q: connections were made: %v", test.text, dials)
		}
	}
}

// dialled reports whether a run of hilo connects to its server, which accepts and sends nothing.
func dialled(t *testing.T, code int, args ...string) bool {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	if r := clitest.Hilo(t, append(args, "--redis", "redis://"+listener.Addr().String())...); r.Code != code {
		t.Fatalf("%+v", r)
	}
	ours, err := net.Dial("tcp", listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = ours.Close() }()
	first, err := listener.Accept() // the first client is served
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = first.Close() }()
	return first.RemoteAddr().String() != ours.LocalAddr().String()
}

func TestIDChecksAllBeforeItTakesTheFirst(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		clitest.MustFail(t, exit.Usage, clitest.Hilo(t, "id", "companies|", "a/b|", "--redis", s.URL()), `"a/b|"`)
		if got := clitest.Must(t, "id", "companies|", "--redis", s.URL()); got != "companies/1\n" {
			t.Errorf("%q", got)
		}
	})
}

func TestIDThatFailsInTheMiddleReportsHowManyItPrinted(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		clitest.Must(t, "next", "orders", "--redis", s.URL())
		const remedy = "choose another name"

		r := clitest.Hilo(t, "id", "products/ravendb", "people|", "orders|", "people|", "--redis", s.URL())
		if r.Stdout != "products/ravendb\npeople/1\n" {
			t.Errorf("%q", r.Stdout)
		}
		r.Stdout = ""
		clitest.MustFail(t, exit.Refused, r, "hilo: after 2 ids: orders: ", remedy)

		r = clitest.Hilo(t, "id", "people|", "orders|", "--output", "json", "--redis", s.URL())
		if got := clitest.Decode[[]string](t, r.Stdout); !slices.Equal(got, []string{"people/2"}) {
			t.Errorf("%q", got)
		}
		r.Stdout = ""
		clitest.MustFail(t, exit.Refused, r, "hilo: after 1 id: orders: ", remedy)
		clitest.MustFail(t, exit.Refused, clitest.Hilo(t, "id", "orders|", "people|", "--redis", s.URL()), "hilo: orders: ", remedy)
	})
}

func TestIDKeepsWhatItPrintedWhenTheServerFails(t *testing.T) {
	t.Parallel()
	dead := redistest.StartMini(t)
	dead.Kill()
	r := clitest.Hilo(t, "id", "products/ravendb", "companies|", "--redis", dead.URL())
	if r.Stdout != "products/ravendb\n" {
		t.Errorf("%q", r.Stdout)
	}
	r.Stdout = ""
	clitest.MustFail(t, exit.Unavailable, r, "hilo: after 1 id: no Redis answers at "+dead.Addr())
}

func TestIDThatIsInterruptedReportsHowManyItPrinted(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var stdout, stderr bytes.Buffer
	out := clitest.Writer(func(p []byte) (int, error) {
		cancel()
		return stdout.Write(p)
	})
	err := clitest.Writer(stderr.Write)
	code := clitest.RunTo(ctx, &out, &err, "id", "companies|", "companies|", "--redis", "embedded:")
	if code != exit.Failed || stdout.String() != "companies/1\n" || stderr.String() != "hilo: interrupted after 1 id\n" {
		t.Errorf("exit %d, stdout %q, stderr %q", code, stdout.String(), stderr.String())
	}
}

func TestServerSideIDsAreExhaustedForAllNames(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		if err := s.Client(t).HSet(t.Context(), "{Raven}/ServerSide", "Value", "999999999999999999").Err(); err != nil {
			t.Fatal(err)
		}
		r := clitest.Hilo(t, "id", "companies/", "--redis", s.URL())
		clitest.MustFail(t, exit.Refused, r, "{Raven}/ServerSide", "share one counter: continue with hilo next")
		if strings.Contains(r.Stderr, "another name") {
			t.Errorf("%q", r.Stderr)
		}
	})
}
