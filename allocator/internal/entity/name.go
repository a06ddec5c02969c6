package entity

import (
	"go/token"
	"regexp"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/gertd/go-pluralize"
)

// plurals compiles some hundred expressions, when it is first needed. A client
// is safe for concurrent use as long as no rules are added to it.
var plurals = sync.OnceValue(pluralize.NewClient)

// Collection names the collection of a type of that name by convention. That is the plural
// of its name, in lower case if it has at most one upper-case letter. It reports false
// if a type argument has no name of its own.
func Collection(typeName string) (string, bool) {
	plural, ok := pluralOf(typeName)
	if strings.IndexFunc(plural, unicode.IsUpper) == strings.LastIndexFunc(plural, unicode.IsUpper) {
		plural = strings.ToLower(plural)
	}
	return plural, ok
}

// parts matches the text up to the next bracket, comma or end of a type's name.
var parts = regexp.MustCompile(`([^][,]*)([][,]|$)`)

// local matches the number that tells types of different functions apart where they
// are type arguments.
var local = regexp.MustCompile(`·[0-9]*$`)

// pluralOf returns FoosOfBars for Foo[Bar], FoosOfBarsOfBazs for Foo[Bar[Baz]] and
// PairsOfKeysAndUsers for Pair[Key,User]. It parses a type's name as reflect spells
// it, for example `Pair[int,example.com/shop.Box[example.com/shop.Order·1]]`, and
// reports false if an argument is not a named type, as in `Foo[[]int]` or `Foo[*x.Bar]`.
func pluralOf(typeName string) (text string, ok bool) {
	after := ""
	for _, part := range parts.FindAllStringSubmatch(typeName, -1) {
		name := local.ReplaceAllString(part[1], "")
		switch after {
		case "]":
			if name != "" {
				return "", false
			}
		default:
			if strings.ContainsAny(name, " *<(") { // `chan x.Foo`, `*x.Foo`, `<-chan x.Foo`, `func() x.Foo`
				return "", false
			}
			// Reflect escapes a dot in a path's last element, so the last one ends the path.
			name = name[strings.LastIndexByte(name, '.')+1:]
			if !token.IsIdentifier(name) { // `map` and `` (of `[]int`) are none
				return "", false
			}
			if first, size := utf8.DecodeRuneInString(name); after != "" { // "int" becomes Ints
				name = string(unicode.ToUpper(first)) + name[size:]
			}
			text += plurals().Plural(name)
		}
		switch after = part[2]; after {
		case "[":
			text += "Of"
		case ",":
			text += "And"
		}
	}
	return text, true
}
