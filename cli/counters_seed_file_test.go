package cli

import (
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/hilo-id/hilo/cli/internal/clitest"
	"github.com/hilo-id/hilo/cli/internal/exit"
	"github.com/hilo-id/hilo/scripts/redistest"
)

func TestSeedFileMayBeginWithAByteOrderMark(t *testing.T) {
	t.Parallel()
	for _, content := range []string{"collection,max\nördersé🙂,5\n", `{"collection":"orders","max":5}`} {
		for _, encoded := range []string{"\ufeff" + content, encode(binary.LittleEndian, content), encode(binary.BigEndian, content)} {
			r := clitest.HiloIn(t, encoded, "seed", "--file", "-", "--redis", "embedded:", "--dry-run")
			if r.Code != exit.Done || r.Stderr != "" || !strings.Contains(content, strings.Fields(r.Stdout)[4]) {
				t.Errorf("%q: %+v", encoded, r)
			}
		}
	}
}

// encode returns text in UTF-16 with a byte order mark.
func encode(order binary.AppendByteOrder, text string) string {
	var encoded []byte
	for _, unit := range utf16.Encode([]rune("\ufeff" + text)) {
		encoded = order.AppendUint16(encoded, unit)
	}
	return string(encoded)
}

func TestSeedFileInUTF16ThatIsInvalidIsRefused(t *testing.T) {
	t.Parallel()
	whole := encode(binary.LittleEndian, "collection,max\norders,5\n")
	for _, content := range []string{whole[:len(whole)-1], encode(binary.LittleEndian, "collection,max\na\ufffdb,5\n")} {
		for _, command := range []string{"seed --file -", "import"} {
			r := clitest.HiloIn(t, content, append(strings.Fields(command), "--redis", "embedded:")...)
			clitest.MustFail(t, exit.Usage, r, "stdin: nothing was written: is not valid UTF-16")
		}
	}
}

func TestImportReadsUTF16(t *testing.T) {
	t.Parallel()
	lines := encode(binary.LittleEndian, clitest.Furnished)
	if r := clitest.HiloIn(t, lines, "import", "--redis", "embedded:"); r.Code != exit.Done || !strings.Contains(r.Stdout, "6 counters: 6 new") {
		t.Errorf("%+v", r)
	}
}

func TestSeedOfAnEmptyFileIsRefused(t *testing.T) {
	t.Parallel()
	for _, content := range []string{"", "\n", "\ufeff", "\xff\xfe", "collection,max\n"} {
		for _, command := range []string{"seed --file -", "seed --file - --dry-run", "seed --file - --output json", "import"} {
			r := clitest.HiloIn(t, content, append(strings.Fields(command), "--redis", "embedded:")...)
			clitest.MustFail(t, exit.Usage, r, "nothing was written")
		}
	}
}

func TestSeedSkipsTheLinesThatAreNamed(t *testing.T) {
	t.Parallel()
	const content = "collection,max\norders,5\nOrder Items,12\n\"a,\"\"b/\",7\nUsers,x\nusers,3\n"
	s := redistest.StartMini(t)
	client := s.Client(t)
	before := clitest.Everything(t, client)
	seed := func(args ...string) clitest.Result {
		return clitest.HiloIn(t, content, append([]string{"seed", "--file", "-", "--redis", s.URL()}, args...)...)
	}
	clitest.MustFail(t, exit.Usage, seed(), `line 3: collection "Order Items"`, `--skip "Order Items" leaves it out`)
	clitest.MustFail(t, exit.Usage, seed("--skip", "Order Items", "--skip", "users"), `line 4: collection "a,\"b/"`, `--skip $'a,\"b/' leaves it out`)
	clitest.MustFail(t, exit.Usage, seed("--skip", "Order Items", "--skip", "users", "--skip", `a,"b/`, "--skip", "people"), `--skip is "people", which no line has as its name`)
	clitest.WantUnchanged(t, client, before)
	r := seed("--skip", "Order Items", "--skip", "users", "--skip", `a,"b/`)
	const want = "hilo: stdin: skipped line 3, \"Order Items\"\nhilo: stdin: skipped line 4, \"a,\\\"b/\"\nhilo: stdin: skipped line 5, \"Users\"\nhilo: stdin: skipped line 6, \"users\"\n"
	if r.Code != exit.Done || r.Stdout != "1 counter: 1 new, 0 raised, 0 stay\n" || r.Stderr != want {
		t.Errorf("%+v", r)
	}
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

		got := clitest.Decode[plannedChanges](t, clitest.Must(t, "seed", "--file", file, "--output", "json", "--redis", s.URL()))
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
		// The server reads 16 KB at once, which is many rows of some hundred bytes. If each row were a request, it would read n times.
		said := s.Client(t).InfoMap(t.Context(), "stats").Item("Stats", "total_reads_processed")
		if reads, err := strconv.Atoi(said); err != nil || reads > n/10 {
			t.Errorf("the server read %q times", said)
		}
		if got := s.Client(t).HGet(t.Context(), "{Raven}/HiLo/c19999", "Max").Val(); got != "19999" {
			t.Errorf("the last counter stands at %q", got)
		}
	})
}

func TestSeedOfAFileThatFailsReportsHowFarItCame(t *testing.T) {
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

func TestSeedRefusesFlagsThatExcludeEachOther(t *testing.T) {
	t.Parallel()
	tests := []struct{ args, want string }{
		{"seed --file f --scan x*", "--file and --scan exclude each other"},
		{"seed --file f --force", "--file and --force exclude each other"},
		{"seed --file f --yes", "--file and --yes exclude each other"},
		{"seed orders --file f", `COLLECTION, which is "orders", and --file exclude each other; see hilo seed --help`},
		{"seed --scan x* orders", `COLLECTION, which is "orders", and --scan exclude each other`},
		{"seed --scan x* --max 3", "--scan and --max exclude each other"},
		{"seed --scan x* --kind server-side", `--kind is "server-side": must be hilo or identity`},
		{"seed --scan=", "--scan is empty"},
		{"seed orders --max 3 --skip x", "--skip requires --file"},
		{"seed --scan x* --skip x", "--scan and --skip exclude each other"},
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
