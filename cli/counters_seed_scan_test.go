package cli

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"
	"github.com/creack/pty"

	"github.com/hilo-id/hilo/cli/internal/base"
	"github.com/hilo-id/hilo/cli/internal/clitest"
	"github.com/hilo-id/hilo/cli/internal/exit"
	"github.com/hilo-id/hilo/scripts/redistest"
)

// documentKeys are keys of documents as applications have them, and others.
var documentKeys = []string{
	"orders/1", "orders/NorthServer/4000", "Orders/SouthServer/3999-B", "orders/17-A", "{orders/4100}", "{orders}/12", "orders/{13}",
	"people/5", "people/NorthServer/4", "orders/007", "orders/x", "orders/0000000000000000099", "orders", "app:invoices/9",
}

func putDocuments(t *testing.T, client redistest.Client) {
	t.Helper()
	for i, key := range documentKeys {
		var err error
		if i%2 == 0 {
			err = client.Set(t.Context(), key, "{}", 0).Err()
		} else {
			err = client.RPush(t.Context(), key, "{}").Err()
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

func TestSeedScanFindsKeysWithAHashTag(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		putDocuments(t, s.Client(t))
		for pattern, want := range map[string]int{"orders/*": 10, "ORDERS/*": 10, "[oO]rders/*": 10, "{orders}/*": 1, "orders/[0-9]*": 6, "ord*/*": 10, "*": 15} {
			got := clitest.Decode[scanned](t, clitest.Must(t, "seed", "--scan", pattern, "--dry-run", "--output", "json", "--redis", s.URL()))
			if got.Matched != int64(want) {
				t.Errorf("%s: got %d keys, want %d", pattern, got.Matched, want)
			}
		}
		got := clitest.Must(t, "seed", "--scan", "orders/*", "--yes", "--redis", s.URL())
		if next := clitest.Must(t, "next", "orders", "--redis", s.URL()); next != "orders/4101\n" {
			t.Errorf("%s, then %q, want orders/4101", got, next)
		}
	})
}

func TestSeedScanTakesTheGreatestNumberOfEachCollection(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		client := s.Client(t)
		putDocuments(t, client)
		clitest.Must(t, "seed", "orders2", "--max", "3", "--redis", s.URL()) // {Raven}/HiLo/orders2 reads like an identifier
		before := clitest.Everything(t, client)
		got := clitest.Must(t, "seed", "--scan", "*", "--dry-run", "--redis", s.URL())
		if head, rest, _ := strings.Cut(got, "\n"); !strings.HasPrefix(head, "16 of 16 keys match, 10 of them identifiers; left out: 6, ") ||
			rest != "COLLECTION    KIND  BEFORE  AFTER\n"+
				"app:invoices  hilo       -      9\n"+
				"Orders        hilo       -   4100\n"+
				"people        hilo       -      5\n"+
				"3 counters: 3 new, 0 raised, 0 stay; nothing was written\n" {
			t.Errorf("%s", got)
		}
		clitest.WantUnchanged(t, client, before)

		done := clitest.Decode[scanned](t, clitest.Must(t, "seed", "--scan", "orders*", "--yes", "--output", "json", "--redis", s.URL()))
		if done.Scanned != 16 || done.Matched != 11 || done.LeftOut != 4 || done.New != 1 || len(done.Counters) != 1 || done.Counters[0].After != 4100 {
			t.Errorf("%+v", done)
		}
		if got := clitest.Must(t, "seed", "--scan", "app:*", "--strip", "app:", "--yes", "--redis", s.URL()); got != "1 counter: 1 new, 0 raised, 0 stay\n" {
			t.Errorf("%s", got)
		}
		if got := clitest.Must(t, "next", "invoices", "--redis", s.URL()); got != "invoices/10\n" {
			t.Errorf("%s", got)
		}
	})
}

func TestSeedScanForIdentitiesCountsNoPrefixAndNoTag(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		putDocuments(t, s.Client(t))
		clitest.Must(t, "seed", "--scan", "orders/*", "--kind", "identity", "--yes", "--redis", s.URL())
		if got := clitest.Must(t, "identity", "next", "orders", "--redis", s.URL()); got != "orders/4101\n" {
			t.Errorf("%s", got)
		}
		clitest.MustFail(t, exit.Refused, clitest.Hilo(t, "seed", "--scan", "orders/*", "--yes", "--redis", s.URL()), "--scan: nothing was written: Orders", "mixed")
	})
}

func TestSeedScanOfNothing(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		scan := func(more ...string) clitest.Result {
			return clitest.Hilo(t, append([]string{"seed", "--yes", "--redis", s.URL()}, more...)...)
		}
		clitest.MustFail(t, exit.Fault, scan("--scan", "zzz/*"), `nothing found: none of 1 keys matches "zzz/*"`)
		s.Client(t).Set(t.Context(), "zzz/x", "{}", 0)
		clitest.MustFail(t, exit.Fault, scan("--scan", "zzz/*", "--dry-run"), `nothing found: 1 of 2 keys match "zzz/*", but none is an identifier`, `"zzz/x"`)
		got := scan("--scan", "zzz/*", "--output", "json")
		if found := clitest.Decode[scanned](t, got.Stdout); got.Code != exit.Fault || found.Matched != 1 || found.LeftOut != 1 {
			t.Errorf("got %+v, want exit %d and one key left out", got, exit.Fault)
		}
	})
}

func TestSeedScanOfAClusterLooksAtAllPrimaries(t *testing.T) {
	t.Parallel()
	for _, b := range redistest.Binaries(t) {
		t.Run(b.Name, func(t *testing.T) {
			t.Parallel()
			cluster := redistest.StartCluster(t, b, 3, 0)
			putDocuments(t, cluster.Client(t))
			got := clitest.Decode[scanned](t, clitest.Must(t, "seed", "--scan", "*", "--yes", "--output", "json", "--redis", "redis+cluster://"+strings.Join(cluster.Addrs(), ",")))
			if got.Scanned != int64(len(documentKeys)+1) || got.Matched != got.Scanned || len(got.Counters) != 3 || got.Counters[1].After != 4100 {
				t.Errorf("%+v", got)
			}
		})
	}
}

func TestSeedScanDoesNotPromptWithoutATerminal(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		client := s.Client(t)
		putDocuments(t, client)
		before := clitest.Everything(t, client)
		clitest.MustFail(t, exit.Failed, clitest.HiloIn(t, "y\n", "seed", "--scan", "*", "--redis", s.URL()), "there is no terminal for the confirmation", "--yes")
		clitest.WantUnchanged(t, client, before)
	})
}

// atTerminal runs a command line at a terminal of 80 columns with typed as its input, and returns what the terminal shows.
func atTerminal(t *testing.T, typed string, args ...string) (code int, seen string) {
	t.Helper()
	screen, tty, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	if err := pty.Setsize(tty, &pty.Winsize{Cols: 80, Rows: 24}); err != nil {
		t.Fatal(err)
	}
	var shown bytes.Buffer
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, _ = shown.ReadFrom(screen) // ends with an error when the last of tty is closed
	}()
	if _, err := screen.WriteString(typed); err != nil {
		t.Fatal(err)
	}
	code = clitest.Run(t.Context(), append([]string{"hilo"}, args...), base.Env{Stdin: tty, Stdout: tty, Stderr: tty})
	_ = tty.Close()
	<-done
	_ = screen.Close()
	return code, shown.String()
}

func TestSeedScanPromptsAtATerminal(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, typed string
		code        int
		written     bool
		want        string
	}{
		{"yes", "y\n", exit.Done, true, "3 counters: 3 new, 0 raised, 0 stay"},
		{"yes in full", "YES\n", exit.Done, true, "3 counters: 3 new, 0 raised, 0 stay"},
		{"no", "n\n", exit.Failed, false, "hilo: aborted; nothing was written"},
		{"nothing", "\n", exit.Failed, false, "hilo: aborted"},
		{"the end", "\x04", exit.Failed, false, "hilo: aborted"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			redistest.Each(t, func(t *testing.T, s *redistest.Server) {
				client := s.Client(t)
				putDocuments(t, client)
				before := clitest.Everything(t, client)
				code, seen := atTerminal(t, test.typed, "seed", "--scan", "*", "--redis", s.URL())
				for _, part := range []string{"keys match", "COLLECTION", "Raise 3 counters? [y/N]", test.want} {
					if !strings.Contains(ansi.Strip(seen), part) {
						t.Errorf("%q is not in %q", part, seen)
					}
				}
				if code != test.code {
					t.Errorf("exit %d, want %d", code, test.code)
				}
				if !test.written {
					clitest.WantUnchanged(t, client, before)
				} else if got := client.HGet(t.Context(), "{Raven}/HiLo/orders", "Max").Val(); got != "4100" {
					t.Errorf("orders stands at %q", got)
				}
			})
		})
	}
}

// One counter serves all spellings, so all of them count.
func TestSeedScanIgnoresLetterCase(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		for _, key := range []string{"orders/17", "Orders/600", "{ORDERS}/700", "Größe/5", "GRÖẞE/40", "App:Users/9", "app:users/4"} {
			if err := s.Client(t).Set(t.Context(), key, "{}", 0).Err(); err != nil {
				t.Fatal(err)
			}
		}
		for args, next := range map[string]string{"--scan orders/*": "orders/701", "--scan größe/*": "Größe/41", "--scan app:users/* --strip app:": "users/10"} {
			clitest.Must(t, append([]string{"seed", "--yes", "--redis", s.URL()}, strings.Fields(args)...)...)
			name, _, _ := strings.Cut(next, "/")
			if got := clitest.Must(t, "next", name, "--redis", s.URL()); got != next+"\n" {
				t.Errorf("after %s: got %q, want %s", args, got, next)
			}
		}
	})
}

func TestSeedShowsABarAtATerminal(t *testing.T) {
	t.Parallel()
	var content strings.Builder
	content.WriteString("collection,max\n")
	for i := range 1200 {
		fmt.Fprintf(&content, "c%d,1\n", i)
	}
	file := t.TempDir() + "/counters.csv"
	if err := os.WriteFile(file, []byte(content.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	code, seen := atTerminal(t, "", "seed", "--file", file, "--redis", "embedded:")
	if code != exit.Done || !strings.Contains(seen, "writing  ") {
		t.Errorf("exit %d, %q", code, seen)
	}
	const cleared = "\x1b[2K\r"
	if end := seen[strings.LastIndex(seen, cleared)+len(cleared):]; end != "1,200 counters: 1,200 new, 0 raised, 0 stay\r\n" {
		t.Errorf("the screen ends with %q", end)
	}
	for line := range strings.FieldsFuncSeq(seen, func(r rune) bool { return r == '\n' || r == '\r' }) {
		if width := ansi.StringWidth(line); width > 80 {
			t.Errorf("%d columns: %q", width, line)
		}
	}
}
