package protocol

import (
	"fmt"
	"io"
	"net"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/hilo-id/hilo/scripts/redistest"
)

// prints runs hilo.py until it ends.
func prints(t *testing.T, url string, args ...string) []string {
	t.Helper()
	p := start(t, append([]string{"hilo.py", "--redis", url}, args...)...)
	lines := p.lines(t, -1)
	if code := p.end(t); code != 0 {
		t.Fatalf("hilo.py %q ends with %d: %s", args, code, p.stderr.String())
	}
	return lines
}

func numbered(before string, low, high int, behind string) []string {
	var all []string
	for i := low; i <= high; i++ {
		all = append(all, before+strconv.Itoa(i)+behind)
	}
	return all
}

func wantLines(t *testing.T, got, want []string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

func stands(t *testing.T, s *redistest.Server, field string) string {
	t.Helper()
	return s.Client(t).HGet(t.Context(), "{Raven}/HiLo/orders", field).Val()
}

func TestPythonReceivesTheRepliesOfTheVectors(t *testing.T) {
	t.Parallel()
	redistest.EachReal(t, func(t *testing.T, s *redistest.Server) {
		p := start(t, "play.py", s.URL())
		lines := p.lines(t, -1)
		if code, want := p.end(t), fmt.Sprintf("%d cases, 0 faults", len(readVectors(t).Cases)); code != 0 || !slices.Equal(lines, []string{want}) {
			t.Errorf("%d: %s\n%s", code, strings.Join(lines, "\n"), p.stderr.String())
		}
		if size := s.Client(t).DBSize(t.Context()).Val(); size != 0 {
			t.Errorf("it left %d keys", size)
		}
	})
}

func TestPythonPrintsIdentifiersAndReturnsTheRest(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		wantLines(t, prints(t, s.URL(), "orders"), []string{"orders/1"})
		wantLines(t, prints(t, s.URL(), "--count", "300", "Orders"), numbered("Orders/", 2, 301, ""))
		wantLines(t, prints(t, s.URL(), "--namespace", "Other", "orders"), []string{"orders/1"})
		wantLines(t, prints(t, s.URL(), "--count", "2", "companies|"), numbered("companies/", 1, 2, ""))
		s.Client(t).HSet(t.Context(), "{Raven}/ServerPrefixForHilo", "ServerPrefix", "NorthServer/", "NodeTag", "A")
		wantLines(t, prints(t, s.URL(), "--require-prefix", "--count", "3", "orders"), numbered("orders/NorthServer/", 302, 304, "-A"))
		if stood := stands(t, s, "Max"); stood != "304" {
			t.Errorf("Max is %s: the rest was not returned", stood)
		}
	})
}

func TestPythonFollowsASlotOfACluster(t *testing.T) {
	t.Parallel()
	for _, b := range redistest.Binaries(t) {
		t.Run(b.Name, func(t *testing.T) {
			t.Parallel()
			c := redistest.StartCluster(t, b, 3, 0)
			elsewhere := 0
			for _, addr := range c.Addrs() {
				p := start(t, "hilo.py", "--redis", "redis://"+addr, "--namespace", "e", "orders")
				p.lines(t, -1)
				if p.end(t) == 1 && strings.Contains(p.stderr.String(), "redis+cluster://") {
					elsewhere++
				}
			}
			if elsewhere != 2 {
				t.Errorf("%d of three nodes say that the key is on another one", elsewhere)
			}
			url := "redis+cluster://" + c.Addrs()[0]
			for i, namespace := range []string{"a", "b", "c", "d"} { // in several slots
				wantLines(t, prints(t, url, "--namespace", namespace, "--count", "40", "orders"), numbered("orders/", 1, 40, ""))
				if i == 0 {
					wantLines(t, prints(t, url, "--namespace", namespace, "orders"), []string{"orders/41"})
				}
			}
		})
	}
}

func TestPythonReportsErrors(t *testing.T) {
	t.Parallel()
	s := redistest.StartMini(t)
	client := s.Client(t)
	client.HSet(t.Context(), "{Raven}/HiLo/last", "Max", "9223372036854775807")
	client.HSet(t.Context(), "{Raven}/HiLo/corrupt", "Max", "x")
	client.HSet(t.Context(), "{Raven}/Identities/companies", "Value", "5")
	client.HSet(t.Context(), "{Dash}/ServerPrefixForHilo", "ServerPrefix", "x1-A")
	client.HSet(t.Context(), "{Format}/ServerPrefixForHilo", "ServerPrefix", "North\u200b/")
	client.HSet(t.Context(), "{Decomposed}/ServerPrefixForHilo", "ServerPrefix", "Cafe\u0301/")
	nobody, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	away := "redis://" + nobody.Addr().String()
	_ = nobody.Close()
	tests := []struct {
		name string
		url  string
		args []string
		code int
		text string
	}{
		{"no collection", s.URL(), nil, 2, "COLLECTION"},
		{"a name that cannot be", s.URL(), []string{"a b"}, 2, "holds ' '"},
		{"a name that is too long", s.URL(), []string{strings.Repeat("x", 129)}, 2, "1 to 128"},
		{"a zero-width space", s.URL(), []string{"orders\u200b"}, 2, `collection 'orders\u200b' holds '\u200b' (U+200B, a format character)`},
		{"a decomposed é", s.URL(), []string{"cafe\u0301s"}, 2, "is not in NFC: it holds U+0065 U+0301 where NFC has U+00E9; in NFC it is 'caf\u00e9s', which looks alike"},
		{"an identity with a soft hyphen", s.URL(), []string{"com\u00adpanies|"}, 2, "U+00AD, a format character"},
		{"a namespace that cannot be", s.URL(), []string{"--namespace", "{a}", "orders"}, 2, "holds '{'"},
		{"a namespace with a byte order mark", s.URL(), []string{"--namespace", "\ufeffRaven", "orders"}, 2, "U+FEFF, a format character"},
		{"a namespace that is not in NFC", s.URL(), []string{"--namespace", "cafe\u0301", "orders"}, 2, "namespace 'cafe\u0301' is not in NFC"},
		{"no number of identifiers", s.URL(), []string{"--count", "0", "orders"}, 2, "--count"},
		{"no URL", "here", []string{"orders"}, 2, "URL"},
		{"nobody there", away, []string{"--timeout", "0.2", "orders"}, 3, "refused"},
		{"the last number was given", s.URL(), []string{"last"}, 4, "HILO_EXHAUSTED"},
		{"a counter that is to be seeded", s.URL(), []string{"--require-seeded", "orders"}, 4, "HILO_NOTSEEDED"},
		{"a prefix that is to be there", s.URL(), []string{"--require-prefix", "orders"}, 4, "HILO_NOPREFIX"},
		{"an identity's name", s.URL(), []string{"companies"}, 4, "HILO_MIXED"},
		{"a corrupt counter", s.URL(), []string{"corrupt"}, 1, "HILO_CORRUPT"},
		{"a prefix that reads as a number", s.URL(), []string{"--namespace", "Dash", "orders"}, 1, "ServerPrefix"},
		{"a prefix with a format character", s.URL(), []string{"--namespace", "Format", "orders"}, 1, `ServerPrefix 'North\u200b/'`},
		{"a prefix that is not in NFC", s.URL(), []string{"--namespace", "Decomposed", "orders"}, 1, "ServerPrefix 'Cafe\u0301/'"},
		{"somebody else's reply", otherReplies(t), []string{"orders"}, 1, "not the reply"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			p := start(t, append([]string{"hilo.py", "--redis", test.url}, test.args...)...)
			lines := p.lines(t, -1)
			code := p.end(t)
			if text := p.stderr.String(); code != test.code || !strings.Contains(text, test.text) || len(lines) > 0 || strings.Contains(text, "Traceback") {
				t.Errorf("%d %q: %s", code, lines, text)
			}
		})
	}
}

func TestPythonRefusesSeparatorsThatPackagePrefixRefuses(t *testing.T) {
	t.Parallel()
	p := start(t, "-c", `
import hilo
for separator in ["", "1", "a", "é", "٣", "ⓐ", "|", " ", "\n", "//", "\x00", "\u200b", "\u00ad", "\u037e", "\u2adc", "/", ":", "-", "·", "→"]:
    try:
        hilo.Client(None, separator=separator)
        print(repr(separator))
    except hilo.InvalidName as err:
        assert "separator" in str(err)
`)
	wantLines(t, p.lines(t, -1), []string{"'/'", "':'", "'-'", "'·'", "'→'"})
	if code := p.end(t); code != 0 {
		t.Errorf("%d: %s", code, p.stderr.String())
	}
}

// otherReplies starts a server that replies to every request as if it had another token, and returns its URL.
func otherReplies(t *testing.T) string {
	t.Helper()
	reply := "*13\r\n"
	for _, item := range []string{"other", "1", "32", "0", "", "", "0", "", "32", "1", "", "1", ""} {
		reply += fmt.Sprintf("$%d\r\n%s\r\n", len(item), item)
	}
	return "redis://" + redistest.Listen(t, func(client net.Conn) {
		defer client.Close()
		for buffer := make([]byte, 4096); ; {
			if _, err := client.Read(buffer); err != nil {
				return
			}
			_, _ = io.WriteString(client, reply)
		}
	})
}

func TestPythonSendsTheSameRequestAgainAfterALostReply(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		prints(t, s.URL(), "orders") // so that the script is known, and EVALSHA is run
		proxy := redistest.NewProxy(t, s)
		lost := proxy.DropReply("evalsha")
		wantLines(t, prints(t, "redis://"+proxy.Addr(), "--count", "3", "orders"), numbered("orders/", 2, 4, ""))
		<-lost
		if ranges := stands(t, s, "Ranges"); ranges != "2" {
			t.Errorf("%s ranges were given, want 2", ranges)
		}
	})
}

// A call that gives up leaves its request for the next one to send again.
func TestPythonSendsTheSameRequestAgainInTheNextCall(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		prints(t, s.URL(), "orders")
		proxy := redistest.NewProxy(t, s)
		lost := proxy.DropReply("evalsha")
		p := start(t, "-c", `
import hilo, sys
ids = hilo.Client(hilo.connect(sys.argv[1]), timeout=0)
try:
    ids.next("orders")
except hilo.Unavailable:
    print("unavailable")
print(ids.next("orders"), ids.next("ORDERS"))
ids.close()
`, "redis://"+proxy.Addr())
		wantLines(t, p.lines(t, -1), []string{"unavailable", "orders/2 ORDERS/3"})
		<-lost
		if code := p.end(t); code != 0 || stands(t, s, "Ranges") != "2" || stands(t, s, "Max") != "3" {
			t.Errorf("%d, %s ranges, Max %s: %s", code, stands(t, s, "Ranges"), stands(t, s, "Max"), p.stderr.String())
		}
	})
}

// Its output is not read, so it blocks in the middle of a range.
func TestPythonReturnsTheRestOnASignal(t *testing.T) {
	t.Parallel()
	for _, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT} {
		redistest.Each(t, func(t *testing.T, s *redistest.Server) {
			p := start(t, "hilo.py", "--redis", s.URL(), "--count", "1000000", "orders")
			lines := p.lines(t, 10)
			if err := p.Process.Signal(sig); err != nil {
				t.Fatal(err)
			}
			lines = append(lines, p.lines(t, -1)...)
			if code := p.end(t); code != 1 {
				t.Errorf("%d: %s", code, p.stderr.String())
			}
			wantLines(t, lines, numbered("orders/", 1, len(lines), ""))
			stood, err := strconv.Atoi(stands(t, s, "Max"))
			if gap := stood - len(lines); err != nil || gap < 0 || gap > 1 { // one that it could not print any more
				t.Errorf("%d were printed, and Max is %d, %v", len(lines), stood, err)
			}
		})
	}
}

func TestPythonContinuesAboveItsFloorWhenTheCounterIsLost(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		p := start(t, "hilo.py", "--redis", s.URL(), "--count", "20000", "orders")
		lines := p.lines(t, 10)
		s.Restart() // it restarts empty
		lines = append(lines, p.lines(t, -1)...)
		if code := p.end(t); code != 0 || !strings.Contains(p.stderr.String(), "(missing)") {
			t.Errorf("%d: %s", code, p.stderr.String())
		}
		seen := make(map[string]bool)
		for _, line := range lines {
			seen[line] = true
		}
		if len(lines) != 20000 || len(seen) != 20000 {
			t.Errorf("%d lines, %d of them different", len(lines), len(seen))
		}
	})
}

// The counter is deleted and grows above the client's floor before the client sends another request.
func TestPythonDetectsACounterThatWasRecreated(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		p := start(t, "-c", `
import hilo, sys
client = hilo.connect(sys.argv[1])
def ids(capacity):
    return hilo.Client(client, min_capacity=capacity, max_capacity=capacity)
living, ended = ids(10), ids(10)
for _ in range(60):
    living.next("orders")
for _ in range(100):
    last = int(ended.next("orders").split("/")[1])
client.delete("{Raven}/HiLo/orders")
ids(100).next("orders")
first = int(living.next("orders").split("/")[1])
print(first > last and int(living.next("orders").split("/")[1]) == first + 1)
`, s.URL())
		wantLines(t, p.lines(t, -1), []string{"True"})
		if code := p.end(t); code != 0 || strings.Count(p.stderr.String(), "made anew") != 1 {
			t.Errorf("%d: %s", code, p.stderr.String())
		}
	})
}

// Each request carries what earlier replies contained: count, limit, floor, epoch, and least gap.
func TestPythonSendsWhatRepliesContained(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		p := start(t, "-c", `
import hilo, sys
def run(self, client, keys, args, run=hilo.Script.run):
    print(*args[1:6])
    return run(self, client, keys, args)
hilo.Script.run = run
hilo.time.monotonic = lambda: 1000.0
client = hilo.connect(sys.argv[1])
ids = hilo.Client(client, min_capacity=100, max_capacity=200, limit=10000)
for _ in range(301):
    ids.next("orders")
client.hset("{Raven}/HiLo/orders", "Epoch", 5)
for _ in range(400):
    ids.next("orders")
client.hset("{Raven}/ServerPrefixForHilo", mapping={"ServerPrefix": "N/", "Identities": "here"})
ids.next_identity("orders")
`, s.URL())
		wantLines(t, p.lines(t, -1), []string{
			"100 10000 0 0 0", "200 10000 100 0 200", "200 10000 300 0 600", "200 10000 500 0 1000", "200 10000 700 5 1400",
			"1 10000 0 0 1800", // the least gap of the collection
		})
		if code := p.end(t); code != 0 {
			t.Errorf("%d: %s", code, p.stderr.String())
		}
	})
}

// With replicas:N the client learns N, waits for it, and uses nothing that was not acknowledged.
func TestPythonWaitsForTheReplicasThatTheServerRequires(t *testing.T) {
	t.Parallel()
	redistest.EachReal(t, func(t *testing.T, s *redistest.Server) {
		replica := redistest.StartReplica(t, s)
		client := s.Client(t)
		client.HSet(t.Context(), "{Raven}/ServerPrefixForHilo", "Durable", "replicas:1")
		wantLines(t, prints(t, s.URL(), "orders"), []string{"orders/1"})
		wantLines(t, prints(t, s.URL(), "companies|"), []string{"companies/1"})
		replica.Kill()
		client.Do(t.Context(), "CLIENT", "KILL", "TYPE", "replica")
		p := start(t, "hilo.py", "--timeout", "1", "--redis", s.URL(), "orders")
		lines := p.lines(t, -1)
		if code := p.end(t); code != 3 || len(lines) > 0 {
			t.Errorf("without the replica: got %q and exit code %d, want none and 3: %s", lines, code, p.stderr.String())
		}
	})
}

func TestPythonReportsThatALoginIsRequired(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		if !s.Real() {
			s.RequireLogin("default", "secret")
		} else if err := s.Client(t).ConfigSet(t.Context(), "requirepass", "secret").Err(); err != nil {
			t.Fatal(err)
		}
		for _, url := range []string{s.URL(), strings.Replace(s.URL(), "//", "//default:wrong@", 1)} {
			p := start(t, "hilo.py", "--redis", url, "orders")
			lines := p.lines(t, -1)
			if code := p.end(t); code != 3 || len(lines) > 0 {
				t.Errorf("%s: %d %q: %s", url, code, lines, p.stderr.String())
			}
		}
		url := strings.Replace(s.URL(), "//", "//default:secret@", 1)
		wantLines(t, prints(t, url, "orders"), []string{"orders/1"})
	})
}
