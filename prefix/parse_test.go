package prefix_test

import (
	"encoding/json"
	"errors"
	"os"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/hilo-id/hilo/prefix"
)

// vector is a known answer, see testdata/identifiers.json.
type vector struct {
	Collection   string
	ServerPrefix string `json:"server_prefix"`
	Number       int64  `json:",string"`
	NodeTag      string `json:"node_tag"`
	Separator    string
	Text         string
}

func (v vector) id() prefix.ID {
	return prefix.ID{Collection: v.Collection, ServerPrefix: v.ServerPrefix, Number: v.Number, NodeTag: v.NodeTag}
}

func vectors(tb testing.TB) []vector {
	tb.Helper()
	data, err := os.ReadFile("testdata/identifiers.json")
	if err != nil {
		tb.Fatal(err)
	}
	var all []vector
	if err := json.Unmarshal(data, &all); err != nil {
		tb.Fatal(err)
	}
	if len(all) == 0 {
		tb.Fatal("no vectors")
	}
	return all
}

func TestParseAndAppendMatchKnownAnswers(t *testing.T) {
	t.Parallel()
	for _, v := range vectors(t) {
		t.Run(v.Text, func(t *testing.T) {
			t.Parallel()
			if got := string(v.id().Append(nil, v.Separator)); got != v.Text {
				t.Errorf("Append: got %s, want %s", got, v.Text)
			}
			if got := v.id().String(); v.Separator == prefix.DefaultSeparator && got != v.Text {
				t.Errorf("String: got %s, want %s", got, v.Text)
			}
			got, err := prefix.Parse(v.Text, v.Separator)
			if err != nil {
				t.Fatal(err)
			}
			if got != v.id() {
				t.Errorf("Parse: got %#v, want %#v", got, v.id())
			}
		})
	}
}

func TestParseReturnsTheParts(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, text, separator string
		want                  prefix.ID
	}{
		{"a tag with digits", "orders/1-A2", "/", prefix.ID{Collection: "orders", Number: 1, NodeTag: "A2"}},
		{"a number that follows a hyphen", "orders/1-2", "/", prefix.ID{Collection: "orders", ServerPrefix: "1-", Number: 2}},
		{"a hyphen without a number before it", "orders/x-A2", "/", prefix.ID{Collection: "orders", ServerPrefix: "x-A", Number: 2}},
		{"a hyphen first", "orders/-A2", "/", prefix.ID{Collection: "orders", ServerPrefix: "-A", Number: 2}},
		{"a prefix that is a separator", "orders//1", "/", prefix.ID{Collection: "orders", ServerPrefix: "/", Number: 1}},
		{"a prefix that looks like an identifier", "orders/users/7-B/1-A", "/", prefix.ID{Collection: "orders", ServerPrefix: "users/7-B/", Number: 1, NodeTag: "A"}},
		{"a hyphen as separator", "orders-1-A", "-", prefix.ID{Collection: "orders", Number: 1, NodeTag: "A"}},
		{"a hyphen as separator and in the prefix", "orders--1-A", "-", prefix.ID{Collection: "orders", ServerPrefix: "-", Number: 1, NodeTag: "A"}},
		{"a separator of several bytes", "orders→→1", "→", prefix.ID{Collection: "orders", ServerPrefix: "→", Number: 1}},
		{"a collection like a number and a tag", "1-A/1-A", "/", prefix.ID{Collection: "1-A", Number: 1, NodeTag: "A"}},
		{"zeros within", "orders/1001", "/", prefix.ID{Collection: "orders", Number: 1001}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := prefix.Parse(tt.text, tt.separator)
			if err != nil {
				t.Fatal(err)
			}
			if got != tt.want {
				t.Errorf("got %#v, want %#v", got, tt.want)
			}
			if text := string(got.Append(nil, tt.separator)); text != tt.text {
				t.Errorf("Append: got %s, want %s", text, tt.text)
			}
		})
	}
}

func TestParseRefusesTextsOfNoValidID(t *testing.T) {
	t.Parallel()
	const rule = ` is not 1 to 9223372036854775807 without leading zeros`
	for _, tt := range []struct{ name, text, separator, want string }{
		{"the empty text", "", "/", `collection is empty: 1 to 128 bytes`},
		{"a semantic identifier", "products/ravendb", "/", `number "" of identifier "products/ravendb"` + rule},
		{"an identity asked for", "companies|", "/", `collection "companies|" holds "|"`},
		{"a server-side identifier asked for", "companies/", "/", `number "" of identifier "companies/"` + rule},
		{"a server-side identifier", "companies/0000000000000000027-A", "/", `number "0000000000000000027" of identifier "companies/0000000000000000027-A"` + rule},
		{"no separator", "orders", "/", `identifier "orders" holds no separator "/"`},
		{"another separator", "orders/1", ":", `identifier "orders/1" holds no separator ":"`},
		{"no collection", "/1", "/", `collection is empty: 1 to 128 bytes`},
		{"zero", "orders/0", "/", `number "0" of identifier "orders/0"` + rule},
		{"a leading zero", "orders/North/01", "/", `number "01" of identifier "orders/North/01"` + rule},
		{"2^63", "orders/9223372036854775808", "/", `number "9223372036854775808" of identifier "orders/9223372036854775808"` + rule},
		{"digits of another script", "orders/٣", "/", `number "" of identifier "orders/٣"` + rule},
		{"a number behind another script's digit", "orders/٣1", "/", `server prefix "٣" ends in a digit: "٣"+"1" would read as ""+"٣1"`},
		{"a tag of 9 bytes", "orders/1-Abcdefgh9", "/", `node tag "Abcdefgh9" is not 1 to 8 of A-Z a-z 0-9 with a letter first`},
		{"a hyphen and no tag", "orders/1-", "/", `number "" of identifier "orders/1-"` + rule},
		{"two tags", "orders/1-A-B", "/", `number "" of identifier "orders/1-A-B"` + rule},
		{"white space at the end", "orders/1 ", "/", `number "" of identifier "orders/1 "` + rule},
		{"white space before the number", "orders/ 1", "/", `server prefix " " holds white space`},
		{"an invalid separator", "orders|1", "|", `separator is "|", which requests an identity`},
		{"no separator at all", "orders1", "", `separator is empty: exactly one character`},
		{"bytes that are not UTF-8", "orders/\xff1", "/", `server prefix "\xff" is not valid UTF-8`},
		{"a long text, without repeating it", "orders/" + strings.Repeat("x", 1<<20), "/", `number "" of identifier "orders/` + strings.Repeat("x", 57) + `"…` + rule},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := prefix.Parse(tt.text, tt.separator)
			demand(t, err, tt.want)
			if got != (prefix.ID{}) {
				t.Errorf("got %#v with an error, want the zero ID", got)
			}
		})
	}
}

// checkParse checks that Parse either refuses a text with ErrInvalid or returns
// valid parts whose text it is.
func checkParse(t rapid.TB, text, separator string) {
	t.Helper()
	id, err := prefix.Parse(text, separator)
	if err != nil {
		if !errors.Is(err, prefix.ErrInvalid) {
			t.Errorf("Parse(%q, %q): got %v, want ErrInvalid", text, separator, err)
		}
		return
	}
	if again := string(id.Append(nil, separator)); again != text {
		t.Errorf("Parse(%q, %q): got %#v with the text %q, want %q", text, separator, id, again, text)
	}
	if err := validate(id, separator); err != nil {
		t.Errorf("Parse(%q, %q): got %#v, %v, want a valid ID", text, separator, id, err)
	}
}

// validate checks all parts of an identifier.
func validate(id prefix.ID, separator string) error {
	if id.Number < 1 {
		return errors.New("number below 1")
	}
	server := prefix.Server{ServerPrefix: id.ServerPrefix, NodeTag: id.NodeTag}
	return errors.Join(prefix.ValidateCollection(id.Collection, separator), server.Validate())
}

func FuzzParse(f *testing.F) {
	for _, v := range vectors(f) {
		f.Add(v.Text, v.Separator)
	}
	f.Add("orders/1-A2", "/")
	f.Add("orders--1-A", "-")
	f.Add("companies/0000000000000000027-A", "/")
	f.Add("bc151542-8fa7-45ac-bc04-509b343a8720", "-")
	f.Fuzz(func(t *testing.T, text, separator string) { checkParse(t, text, separator) })
}

func BenchmarkParse(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if _, err := prefix.Parse("orders/NorthServer/1000000-A", "/"); err != nil {
			b.Fatal(err)
		}
	}
}
