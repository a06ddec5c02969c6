package entity

import (
	"go/token"
	"reflect"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/gertd/go-pluralize"
)

// plurals compiles some hundred expressions, when it is first needed. A client
// is safe for concurrent use as long as no rules are added to it.
var plurals = sync.OnceValue(pluralize.NewClient)

// Collection names the collection of a named type by convention, which is the
// plural of its name. It reports false if a type argument has no name of its own.
func Collection(t reflect.Type) (string, bool) {
	name, ok := parseTypeName(t.Name())
	if !ok {
		return "", false
	}
	return name.collection(), true
}

// typeName is the name of a named type without its package. Foo[Bar] is Foo with
// the argument Bar.
type typeName struct {
	base string
	args []typeName
}

// collection returns the plural, in lower case if it has at most one upper-case
// letter, else as it is.
func (n typeName) collection() string {
	plural, capitals := n.plural(), 0
	for _, r := range plural {
		if unicode.IsUpper(r) {
			capitals++
		}
	}
	if capitals <= 1 {
		return strings.ToLower(plural)
	}
	return plural
}

// plural returns FoosOfBars for Foo[Bar], FoosOfBarsOfBazs for Foo[Bar[Baz]] and
// PairsOfKeysAndUsers for Pair[Key,User].
func (n typeName) plural() string {
	text := plurals().Plural(n.base)
	if len(n.args) == 0 {
		return text
	}
	args := make([]string, len(n.args))
	for i, arg := range n.args {
		first, size := utf8.DecodeRuneInString(arg.base) // "int" becomes Ints
		arg.base = string(unicode.ToUpper(first)) + arg.base[size:]
		args[i] = arg.plural()
	}
	return text + "Of" + strings.Join(args, "And")
}

// parseTypeName parses a type's name as reflect spells it, for example
// `Pair[int,example.com/shop.Box[example.com/shop.Order·1]]`. It reports false
// if an argument is not a named type, as in `Foo[[]int]` or `Foo[*x.Bar]`.
func parseTypeName(text string) (typeName, bool) {
	name, rest, ok := cutTypeName(text)
	return name, ok && rest == ""
}

// cutTypeName parses the type name that text begins with, and returns what follows
// it.
func cutTypeName(text string) (name typeName, rest string, ok bool) {
	end := strings.IndexAny(text, "[],")
	if end < 0 {
		end = len(text)
	}
	path, rest := text[:end], text[end:]
	if strings.ContainsAny(path, " *<(") { // `chan x.Foo`, `*x.Foo`, `<-chan x.Foo`, `func() x.Foo`
		return typeName{}, "", false
	}
	// Reflect escapes a dot in a path's last element, so the last one ends the path.
	name.base, _, _ = strings.Cut(path[strings.LastIndexByte(path, '.')+1:], localMark)
	if !token.IsIdentifier(name.base) { // `map` and `` (of `[]int`) are none
		return typeName{}, "", false
	}
	if !strings.HasPrefix(rest, "[") {
		return name, rest, true
	}
	for next := byte(','); next == ','; next = rest[0] {
		var arg typeName
		if arg, rest, ok = cutTypeName(rest[1:]); !ok || rest == "" {
			return typeName{}, "", false
		}
		name.args = append(name.args, arg)
	}
	if rest[0] != ']' {
		return typeName{}, "", false
	}
	rest = rest[1:]
	if local, found := strings.CutPrefix(rest, localMark); found {
		rest = strings.TrimLeft(local, "0123456789")
	}
	return name, rest, true
}

// localMark stands before the number that tells types of different functions
// apart where they are type arguments.
const localMark = "·"
