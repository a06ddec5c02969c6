package cli

import (
	"fmt"
	"strings"
	"testing"

	"github.com/hilo-id/hilo/cli/internal/clitest"
	"github.com/hilo-id/hilo/cli/internal/exit"
	"github.com/hilo-id/hilo/scripts/redistest"
)

// TestStateThatWasEditedByHandIsNamed edits keys as an operator with redis-cli may. Each row has a namespace of its own.
func TestStateThatWasEditedByHandIsNamed(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name     string
		edit     string // a command of redis-cli, where {} is the namespace
		commands string // of hilo, all of which fail
		want     string
	}{
		{"Max of words", "HSET {}/HiLo/orders Max many", "next orders|inspect orders|seed orders --max 3|export", `field Max holds "many": must be a decimal`},
		{"Max below 0", "HSET {}/HiLo/orders Max -5", "next orders|inspect orders|seed orders --max 3", `field Max holds "-5": must be a decimal`},
		{"Max with leading zeros", "HSET {}/HiLo/orders Max 007", "next orders|inspect orders", `field Max holds "007": must be a decimal`},
		{"Max beyond int64", "HSET {}/HiLo/orders Max 99999999999999999999", "next orders|list|export", `field Max holds "99999999999999999999": must be a decimal from 0 to 9223372036854775807`},
		{"Max with a fraction", "HSET {}/HiLo/orders Max 1.5", "next orders|list", `field Max holds "1.5": must be a decimal`},
		{"Max removed", "HSET {}/HiLo/orders Origin 0123456789012345678901234567890123456789", "next orders", "{}/HiLo/orders has no Max, yet numbers were issued"},
		{"a counter of another type", "SET {}/HiLo/orders 5", "next orders|inspect orders|seed orders --max 3", "key {}/HiLo/orders is not a hash"},
		{"an identity of another type", "LPUSH {}/Identities/companies 5", "identity next companies", "key {}/Identities/companies is not a hash"},
		{"the value of an identity of words", "HSET {}/Identities/companies Value many", "identity next companies|identity list|identity seed companies --value 3", `field Value holds "many"`},
		{"the server-side counter of words", "HSET {}/ServerSide Value many", "id companies/|inspect companies/", `key {}/ServerSide field Value holds "many"`},
		{"a prefix of another type", "SET {}/ServerPrefixForHilo North/", "next orders|settings get|settings set --tag A", "key {}/ServerPrefixForHilo is not a hash"},
		{"a prefix that ends in a digit", "HSET {}/ServerPrefixForHilo ServerPrefix North1", "next orders|settings get|export|verify --ids 9", "{}/ServerPrefixForHilo"},
		{"a tag with a dash", "HSET {}/ServerPrefixForHilo NodeTag A-B", "next orders|settings get", "{}/ServerPrefixForHilo"},
		{"a home that is elsewhere", "HSET {}/ServerPrefixForHilo Identities there", "settings get|identity next companies", "{}/ServerPrefixForHilo"},
	}
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		for i, test := range tests {
			namespace := fmt.Sprintf("N%d", i)
			s.Initialize(namespace)
			braced := func(text string) string { return strings.ReplaceAll(text, "{}", "{"+namespace+"}") }
			var words []any
			for word := range strings.FieldsSeq(braced(test.edit)) {
				words = append(words, word)
			}
			if err := s.Client(t).Do(t.Context(), words...).Err(); err != nil {
				t.Fatal(err)
			}
			for command := range strings.SplitSeq(test.commands, "|") {
				r := clitest.Hilo(t, append(strings.Fields(command), "--namespace", namespace, "--redis", s.URL())...)
				if strings.HasPrefix(command, "list") || strings.HasSuffix(command, " list") { // which shows the others
					r.Stdout = ""
				}
				clitest.MustFail(t, exit.Failed, r, braced(test.want), "; correct it with redis-cli; nothing was changed")
			}
		}
	})
}
