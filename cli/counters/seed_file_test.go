package counters

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/hilo-id/hilo/allocator/admin"
	"github.com/hilo-id/hilo/cli/internal/clitest"
	"github.com/hilo-id/hilo/cli/internal/exit"
	"github.com/hilo-id/hilo/scripts/redistest"
)

func hiloRow(line int, name string, max int64) planRow {
	return planRow{Line: line, State: admin.State{Kind: admin.KindHiLo, Counter: admin.Counter{Name: name, Max: max}}}
}

func TestASeedFileIsReadAsItIsMeant(t *testing.T) {
	t.Parallel()
	identity := hiloRow(3, "companies", 17)
	identity.Kind = admin.KindIdentity
	tests := []struct {
		name, content string
		want          []planRow
	}{
		{"CSV", "collection,max\norders,4000\n", []planRow{hiloRow(2, "orders", 4000)}},
		{"CSV of a spreadsheet", "Max,Collection\r\n\"4000\", orders \r\n", []planRow{hiloRow(2, "orders", 4000)}},
		{"CSV with kinds", "collection,max,kind\norders,0,hilo\ncompanies|,17,identity\n", []planRow{hiloRow(2, "orders", 0), identity}},
		{"CSV without a last line's end", "collection,max\n\norders,9223372036854775807", []planRow{hiloRow(3, "orders", 1<<63-1)}},
		{"JSON lines", "{\"collection\":\"orders\",\"max\":4000}\n\n {\"max\":\"17\",\"kind\":\"identity\",\"collection\":\"companies\"}", []planRow{hiloRow(1, "orders", 4000), identity}},
		{"JSON past 2^53", `{"collection":"orders","max":9007199254740993}`, []planRow{hiloRow(1, "orders", 1<<53+1)}},
		{"the server-side counter", "kind,collection,max\nserver-side,,27\n", []planRow{{Line: 2, State: admin.State{Kind: admin.KindServerSide, Counter: admin.Counter{Max: 27}}}}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			got, err := readRows("f", "/", []byte(test.content))
			if err != nil || !slices.Equal(got, test.want) {
				t.Errorf("%+v, %v, want %+v", got, err, test.want)
			}
		})
	}
}

func TestAFileMayBeginAsSpreadsheetsWriteIt(t *testing.T) {
	t.Parallel()
	for _, content := range []string{"collection,max\norders,5\n", `{"collection":"orders","max":5}`} {
		if r := clitest.HiloIn(t, "\ufeff"+content, "seed", "--file", "-", "--redis", "embedded:"); r.Code != exit.Done || r.Stderr != "" {
			t.Errorf("%q: %+v", content, r)
		}
	}
}

func TestASeedFileThatCannotBeIsRefusedWithItsLine(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, content, want string }{
		{"nothing", "", "f names no counters"},
		{"white space", " \n\n", "f names no counters"},
		{"a header alone", "collection,max\n", "f names no counters"},
		{"no header", "orders,4000\n", `line 1: "orders" is not a column: the first line names the columns, as in collection,max`},
		{"a header without max", "collection,kind\nx,hilo\n", "line 1: there is no column max"},
		{"a column twice", "collection,max,max\nx,1,2\n", "line 1: column max appears twice"},
		{"a value too few", "collection,max\norders\n", "line 2: 1 values, where the header has 2"},
		{"a quote that does not end", "collection,max\n\"orders,1\n", "line 2: "},
		{"an exponent", "collection,max\norders,4e3\n", `line 2: max is "4e3": must be 0 to 9223372036854775807, in digits only`},
		{"a leading zero", "collection,max\norders,007\n", `line 2: max is "007"`},
		{"below zero", "collection,max\norders,-1\n", `line 2: max is "-1"`},
		{"past int64", "collection,max\norders,9223372036854775808\n", `line 2: max is "9223372036854775808"`},
		{"no number", "collection,max\norders,\n", `line 2: max is ""`},
		{"a name that cannot be", "collection,max\nx,1\na/b,1\n", `line 3: collection "a/b" holds the separator "/"`},
		{"a kind that is none", "collection,max,kind\nx,1,HiLo\n", `line 2: kind is "HiLo": must be hilo, identity or server-side`},
		{"a collection with the mark of an identity", "collection,max\nx|,1\n", `line 2: collection "x|"`},
		{"JSON of another kind", `{"collection":"x","max":1,"foo":2}`, `line 1: is no JSON object of this kind: unknown field "foo"`},
		{"JSON that breaks off", "{\"collection\":\"x\",\"max\":1}\n{\"collection\":", "line 2: is no JSON object of this kind: unexpected EOF"},
		{"JSON without max", `{"collection":"x"}`, `line 1: max is ""`},
		{"JSON with a fraction", `{"collection":"x","max":1.0}`, `line 1: max is "1.0"`},
		{"JSON with null", `{"collection":"x","max":null}`, `line 1: max is "null"`},
		{"a field twice", `{"collection":"x","max":5,"MAX":1}`, `line 1: holds "max" twice`},
		{"a field of another type", `{"collection":["x"],"max":1}`, "line 1: is no JSON object of this kind: collection is of a wrong type, array"},
		{"a list", `[{"collection":"x","max":1}]`, "line 1: is no JSON object on a line of its own, but of type array"},
		{"a brace too many", `{"collection":"x","max":1}}`, "line 1: holds more than one JSON object"},
		{"two objects on a line", `{"collection":"x","max":1}{"collection":"y","max":1}`, "line 1: holds more than one JSON object"},
		{"bytes that are no text", "{\"collection\":\"\xff\",\"max\":1}", "line 1: is not valid UTF-8"},
		{"all bad rows", "collection,max\na,x\nb/,1\nc,y\n", `line 2: max is "x": must be 0 to 9223372036854775807, in digits only; line 3: collection`},
		{"very many bad rows", "collection,max\n" + strings.Repeat("a,x\n", 25), "; and 15 more"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			_, err := readRows("f", "/", []byte(test.content))
			if err == nil || exit.Code(err) != exit.Usage || !strings.Contains(err.Error(), test.want) || !strings.Contains(err.Error(), "nothing was written") {
				t.Errorf("%v", err)
			}
		})
	}
}

func FuzzReadRows(f *testing.F) {
	f.Add([]byte("collection,max,kind\norders,4000,hilo\n"))
	f.Add([]byte(`{"collection":"orders","max":"4000"}`))
	f.Fuzz(func(t *testing.T, content []byte) {
		rows, err := readRows("f", "/", content)
		if err != nil && (exit.Code(err) != exit.Usage || len(rows) > 0) {
			t.Errorf("%+v, %v", rows, err)
		}
		for i := range rows {
			r := &rows[i]
			if r.Max < 0 || r.Validate("/") != nil {
				t.Errorf("%+v", r)
			}
		}
	})
}

func TestSeedOfAFileRaisesAndLowersNone(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		client := s.Client(t)
		clitest.Must(t, "seed", "Orders", "--max", "100", "--redis", s.URL())
		clitest.Must(t, "seed", "people", "--max", "50", "--redis", s.URL())
		file := filepath.Join(t.TempDir(), "counters.csv")
		content := "collection,max,kind\norders,90,hilo\nPeople,60,\nORDERS,110,\norders,105,hilo\ncompanies,17,identity\n,27,server-side\nusers,0,\n"
		if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		before := clitest.Everything(t, client)
		const dry = "" +
			"COLLECTION  KIND         BEFORE  AFTER\n" +
			"orders      hilo            100    110\n" +
			"People      hilo             50     60\n" +
			"companies   identity          -     17\n" +
			"none        server-side       -     27\n" +
			"users       hilo              -      0\n" +
			"5 counters: 3 new, 2 raised, 0 stay; nothing was written\n"
		if got := clitest.Must(t, "seed", "--file", file, "--dry-run", "--redis", s.URL()); got != dry {
			t.Errorf("%s", got)
		}
		clitest.WantUnchanged(t, client, before)

		got := clitest.Decode[changes](t, clitest.Must(t, "seed", "--file", file, "--output", "json", "--redis", s.URL()))
		if got.DryRun || got.New != 3 || got.Raised != 2 || got.Stay != 0 || len(got.Counters) != 5 {
			t.Errorf("%+v", got)
		}
		if c := got.Counters[0]; c.Collection != "orders" || c.Kind != "hilo" || c.Requested != 110 || *c.Before != 100 || c.After != 110 {
			t.Errorf("%+v", c)
		}
		if c := got.Counters[2]; c.Before != nil || c.After != 17 {
			t.Errorf("%+v", c)
		}
		if got := clitest.Must(t, "seed", "--file", file, "--redis", s.URL()); got != "5 counters: 0 new, 0 raised, 5 stay (as high already)\n" {
			t.Errorf("again: %s", got)
		}
		for args, want := range map[string]string{
			"next orders": "orders/111\n", "next people": "people/61\n", "next users": "users/1\n",
			"identity next companies": "companies/18\n", "id invoices/": "invoices/0000000000000000028\n",
		} {
			if got := clitest.Must(t, append(strings.Fields(args), "--redis", s.URL())...); got != want {
				t.Errorf("%s: %q, want %q", args, got, want)
			}
		}
	})
}

func TestSeedOfAFileChecksAllBeforeItWrites(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, rows string
		code       int
		want       string
	}{
		{"a bad number at the end", "orders,1,\nusers,x,", exit.Usage, "line 3"},
		{"a counter that is corrupt", "orders,1,\nbad,5,", exit.Failed, "line 3: key {Raven}/HiLo/bad field Max holds \"01\""},
		{"a name that is an identity", "orders,1,\ncompanies,5,", exit.Refused, "line 3: companies"},
		{"a name of both kinds", "orders,1,\nOrders,5,identity", exit.Refused, "line 3: Orders is a collection and an identity (line 2)"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			redistest.Each(t, func(t *testing.T, s *redistest.Server) {
				client := s.Client(t)
				client.HSet(t.Context(), "{Raven}/HiLo/bad", "Max", "01")
				client.HSet(t.Context(), "{Raven}/Identities/companies", "Value", "1")
				before := clitest.Everything(t, client)
				for _, flags := range [][]string{nil, {"--dry-run"}, {"--output", "json"}} {
					args := append([]string{"seed", "--file", "-", "--redis", s.URL()}, flags...)
					clitest.MustFail(t, test.code, clitest.HiloIn(t, "collection,max,kind\n"+test.rows, args...), "stdin: nothing was written", test.want)
				}
				clitest.WantUnchanged(t, client, before)
			})
		})
	}
}

func TestSeedOfManyRowsTakesFewRoundTrips(t *testing.T) {
	t.Parallel()
	var content strings.Builder
	content.WriteString("collection,max\n")
	const n = 20_000
	for i := range n {
		fmt.Fprintf(&content, "c%d,%d\n", i, i)
	}
	redistest.EachReal(t, func(t *testing.T, s *redistest.Server) {
		r := clitest.HiloIn(t, content.String(), "seed", "--file", "-", "--redis", s.URL())
		if r.Code != exit.Done || !strings.HasPrefix(r.Stdout, "20000 counters: 20000 new") || r.Stderr != "" {
			t.Errorf("%+v", r)
		}
		// The server reads 16 KB at once, so that is how often it did with some hundred bytes a row. Row by row it would be n.
		said := s.Client(t).InfoMap(t.Context(), "stats").Item("Stats", "total_reads_processed")
		if reads, err := strconv.Atoi(said); err != nil || reads > n/10 {
			t.Errorf("the server read %q times", said)
		}
		if got := s.Client(t).HGet(t.Context(), "{Raven}/HiLo/c19999", "Max").Val(); got != "19999" {
			t.Errorf("the last counter stands at %q", got)
		}
	})
}

func TestSeedOfAFileThatBreaksOffSaysHowFarItCame(t *testing.T) {
	t.Parallel()
	s := redistest.StartMini(t)
	written := 0
	s.Hook(func(cmd string, _ []string) string {
		if cmd == "HDEL" { // the first write of each import
			if written++; written > 1500 {
				return "LOADING gone"
			}
		}
		return ""
	})
	var content strings.Builder
	content.WriteString("collection,max\n")
	for i := range 2500 {
		fmt.Fprintf(&content, "c%d,%d\n", i, i)
	}
	r := clitest.HiloIn(t, content.String(), "seed", "--file", "-", "--redis", s.URL())
	clitest.MustFail(t, exit.Unavailable, r, "after 1500 of 2500 counters", "run it again, which does no harm")
}

func TestSeedRefusesWhatDoesNotGoTogether(t *testing.T) {
	t.Parallel()
	tests := []struct{ args, want string }{
		{"seed --file f --scan x*", "--file and --scan exclude each other"},
		{"seed --file f --force", "--file and --force exclude each other"},
		{"seed --file f --yes", "--file and --yes exclude each other"},
		{"seed orders --file f", `"orders" is one too many`},
		{"seed --scan x* --max 3", "--scan and --max exclude each other"},
		{"seed --scan x* --kind server-side", `--kind is "server-side": must be hilo or identity`},
		{"seed --scan=", "--scan is empty"},
		{"seed orders --max 3 --yes", "--yes requires --scan"},
		{"seed orders --max 3 --force --dry-run", "--force and --dry-run exclude each other"},
		{"seed --file /no/such/file", `"/no/such/file" cannot be read: no such file or directory`},
		{"seed --file /", `"/" cannot be read: is a directory`},
		{"seed", "hilo seed needs a COLLECTION"},
	}
	for _, test := range tests {
		t.Run(test.args, func(t *testing.T) {
			t.Parallel()
			clitest.MustFail(t, exit.Usage, clitest.Hilo(t, strings.Fields(test.args)...), test.want)
		})
	}
}

func TestSeedOfOneAsADryRun(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		clitest.Must(t, "seed", "orders", "--max", "10", "--redis", s.URL())
		before := clitest.Everything(t, s.Client(t))
		got := clitest.Must(t, "seed", "orders", "--max", "12", "--dry-run", "--redis", s.URL())
		if want := "COLLECTION  KIND  BEFORE  AFTER\norders      hilo      10     12\n1 counter: 0 new, 1 raised, 0 stay; nothing was written\n"; got != want {
			t.Errorf("%s", got)
		}
		clitest.WantUnchanged(t, s.Client(t), before)
	})
}
