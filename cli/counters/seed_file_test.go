package counters

import (
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/hilo-id/hilo/allocator/admin"
	"github.com/hilo-id/hilo/cli/internal/exit"
	"github.com/hilo-id/hilo/scripts/redistest"
)

func hiloRow(line int, name string, max int64) planRow {
	return planRow{Line: line, State: admin.State{Kind: admin.KindHiLo, Counter: admin.Counter{Name: name, Max: max}}}
}

func TestSeedFileIsParsed(t *testing.T) {
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
			got, err := readRows("f", "/", []byte(test.content), nil, nil)
			if err != nil || !slices.Equal(got, test.want) {
				t.Errorf("%+v, %v, want %+v", got, err, test.want)
			}
		})
	}
}

func TestSeedFileThatIsInvalidIsRefusedWithItsLine(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, content, want string }{
		{"nothing", "", "f is empty"},
		{"white space", " \n\n", "f is empty"},
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
			_, err := readRows("f", "/", []byte(test.content), nil, nil)
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
		rows, err := readRows("f", "/", content, nil, nil)
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

func TestShellQuoteIsReadByBash(t *testing.T) {
	t.Parallel()
	bash, err := exec.LookPath("bash")
	if err != nil {
		redistest.Missing(t, "bash")
	}
	for name, want := range map[string]string{
		"Order Items": `"Order Items"`, "": `""`, "it's": `"it's"`, "zz\u200b": `$'zz\u200b'`, "a,\"b/": `$'a,\"b/'`,
		"$HOME `id`!": "$'$HOME `id`!'", `a\b's`: `$'a\\b\'s'`, "\x01f\U000e0001": `$'\x01f\U000e0001'`,
	} {
		got := shellQuote(name)
		if got != want {
			t.Errorf("got %s, want %s", got, want)
		}
		command := exec.CommandContext(t.Context(), bash, "-c", "printf %s "+got)
		command.Env = []string{"LC_ALL=C.UTF-8"}
		if read, err := command.Output(); err != nil || string(read) != name {
			t.Errorf("bash reads %s as %q (%v), want %q", got, read, err, name)
		}
	}
}
