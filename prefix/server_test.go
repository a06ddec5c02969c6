package prefix_test

import (
	"strings"
	"testing"
	"unicode"

	"github.com/hilo-id/hilo/prefix"
)

func TestServerValidateNamesTheBrokenRule(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, serverPrefix, nodeTag, want string }{
		{"neither", "", "", ""},
		{"a prefix", "NorthServer/", "", ""},
		{"a tag", "", "A", ""},
		{"both", "NorthServer/", "B2", ""},
		{"a digit within the prefix", "4,", "", ""},
		{"a prefix of 64 bytes", strings.Repeat("é", 32), "", ""},
		{"a tag of 8 bytes", "", "Abcdefg9", ""},
		{"a prefix that ends in a hyphen", "1-", "", ""},
		{"a prefix that ends in a hyphen and a letter", "x-A", "", ""},
		{"a prefix that ends in a letter and no tag", "1-A/", "", ""},

		{"a prefix of 65 bytes", strings.Repeat("x", 65), "", `server prefix "` + strings.Repeat("x", 64) + `"… is 65 bytes long: at most 64`},
		{"a bar", "a|", "", `server prefix "a|" holds "|"`},
		{"an opening brace", "{", "", `server prefix "{" holds "{"`},
		{"a closing brace", "}", "", `server prefix "}" holds "}"`},
		{"white space", "North Server/", "", `server prefix "North Server/" holds white space`},
		{"a control", "\x00/", "", `server prefix "\x00/" holds a control character`},
		{"bytes that are not UTF-8", "\xff/", "", `server prefix "\xff/" is not valid UTF-8`},
		{"an unassigned code point", "\u0378/", "", `server prefix "\u0378/" holds U+0378, which Unicode ` + unicode.Version + ` has not assigned`},
		{"a digit at the end", "North1", "", `server prefix "North1" ends in a digit: "North1"+"1" would read as "North"+"11"`},
		{"several digits at the end", "North/2024", "", `server prefix "North/2024" ends in a digit: "North/2024"+"1" would read as "North/"+"20241"`},
		{"nothing but a digit", "7", "", `server prefix "7" ends in a digit: "7"+"1" would read as ""+"71"`},
		{"a digit of another script", "North٣", "", `server prefix "North٣" ends in a digit: "North٣"+"1" would read as "North"+"٣1"`},
		{"a number and the start of a tag", "1-A", "", `server prefix "1-A" ends in a number and the start of a node tag: "1-A"+"1" would read as "1"+"-A1"`},
		{"the same behind other text", "eu/10-Ab2c", "", `server prefix "eu/10-Ab2c" ends in a number and the start of a node tag: "eu/10-Ab2c"+"1" would read as "eu/10"+"-Ab2c1"`},
		{"the same where case is ignored", "1-\u017F", "", `server prefix "1-` + "\u017F" + `" ends in a number and the start of a node tag: "1-` + "\u017F" + `"+"1" would read as "1"+"-` + "\u017F" + `1"`},
		{"an NFC é", "Caf\u00e9/", "", ""},
		{"a zero-width space", "North\u200b/", "", `server prefix "North\u200b/" holds U+200B, a format character`},
		{"a zero-width space at the end, behind a digit", "North1\u200b", "", `server prefix "North1\u200b" holds U+200B, a format character`},
		{"a decomposed é", "Cafe\u0301/", "", "server prefix \"Cafe\u0301/\" is not in NFC: it holds U+0065 U+0301 where NFC has U+00E9; in NFC it is \"Caf\u00e9/\", which looks alike"},
		{"the Kelvin sign, which NFC has as K", "1-\u212A", "", "server prefix \"1-\u212A\" is not in NFC: it holds U+212A where NFC has U+004B; in NFC it is \"1-K\", which looks alike"},

		{"a tag of 9 bytes", "", "Abcdefgh9", `node tag "Abcdefgh9" is not 1 to 8 of A-Z a-z 0-9 with a letter first`},
		{"a tag with a digit first", "", "2A", `node tag "2A" is not 1 to 8 of A-Z a-z 0-9 with a letter first`},
		{"a tag with a hyphen", "", "A-B", `node tag "A-B" is not 1 to 8 of A-Z a-z 0-9 with a letter first`},
		{"a tag with a letter of another script", "", "É", `node tag "É" is not 1 to 8 of A-Z a-z 0-9 with a letter first`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			server := prefix.Server{ServerPrefix: tt.serverPrefix, NodeTag: tt.nodeTag}
			demand(t, server.Validate(), tt.want)
		})
	}
}

func TestServerIsZeroReportsNeitherPrefixNorTag(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		server prefix.Server
		want   bool
	}{
		{"neither", prefix.Server{}, true},
		{"a prefix", prefix.Server{ServerPrefix: "North/"}, false},
		{"a tag", prefix.Server{NodeTag: "A"}, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := tt.server.IsZero(); got != tt.want {
				t.Errorf("got %t, want %t", got, tt.want)
			}
		})
	}
}
