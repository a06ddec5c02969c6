package counters

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/hilo-id/hilo/prefix"
)

// glob is a pattern of keys as in Redis, which matches in any letter case, because counters do not depend on it.
type glob struct {
	folded []rune
	// wider is a pattern for Redis, which compares bytes. It finds all keys that match, and may find others.
	wider string
}

func newGlob(pattern string) glob {
	return glob{[]rune(prefix.Fold(pattern)), widened(pattern)}
}

// widened returns a pattern for Redis that finds every key of which a variant in letter case matches. What Redis cannot express
// becomes a *: a character of several bytes, as there are among the variants of k, s and all letters that are not ASCII.
func widened(pattern string) string {
	var wide strings.Builder
	runes := []rune(pattern)
	for i := 0; i < len(runes); i++ {
		r := runes[i]
		switch {
		case r == '[':
			_, size := class(runes[i:], 0)
			i += size - 1
			wide.WriteByte('*')
			continue
		case r == '?' || r == utf8.RuneError:
			wide.WriteByte('*')
			continue
		case r == '\\' && i+1 < len(runes):
			i++
			r = runes[i]
			if !unicode.IsLetter(r) {
				wide.WriteByte('\\')
			}
		}
		low, high := unicode.ToLower(r), unicode.ToUpper(r)
		switch {
		case unicode.SimpleFold(r) == r: // no letter, or one without case
			wide.WriteRune(r)
		case r < utf8.RuneSelf && low != 'k' && low != 's':
			wide.WriteString("[" + string(low) + string(high) + "]")
		default:
			wide.WriteByte('*')
		}
	}
	return wide.String()
}

// matches reports whether a key matches.
func (g glob) matches(key string) bool { return matchRunes(g.folded, []rune(prefix.Fold(key))) }

func matchRunes(pattern, text []rune) bool {
	star, from := -1, 0 // the last *, and where the text behind it was tried
	p, t := 0, 0
	for t < len(text) {
		if p < len(pattern) && pattern[p] == '*' {
			star, from = p, t
			p++
			continue
		}
		if fits, size := one(pattern[p:], text[t]); fits {
			p += size
			t++
			continue
		}
		if star < 0 {
			return false
		}
		from++
		p, t = star+1, from
	}
	return strings.Trim(string(pattern[p:]), "*") == ""
}

// one reports whether a character fits the beginning of a pattern, and how long that is.
func one(pattern []rune, r rune) (fits bool, size int) {
	if len(pattern) == 0 {
		return false, 0
	}
	switch pattern[0] {
	case '?':
		return true, 1
	case '[':
		return class(pattern, r)
	case '\\':
		if len(pattern) > 1 {
			return pattern[1] == r, 2
		}
	}
	return pattern[0] == r, 1
}

// class reports whether a character is one of the [ ] at the beginning of a pattern, and how long that is.
func class(pattern []rune, r rune) (fits bool, size int) {
	i, not := 1, false
	if i < len(pattern) && pattern[i] == '^' {
		i, not = 2, true
	}
	for ; i < len(pattern) && pattern[i] != ']'; i++ {
		switch {
		case pattern[i] == '\\' && i+1 < len(pattern):
			i++
			fits = fits || pattern[i] == r
		case i+2 < len(pattern) && pattern[i+1] == '-':
			low, high := min(pattern[i], pattern[i+2]), max(pattern[i], pattern[i+2])
			fits = fits || low <= r && r <= high
			i += 2
		default:
			fits = fits || pattern[i] == r
		}
	}
	return fits != not, min(i+1, len(pattern))
}

// cutFolded returns text without a prefix that it may have in any letter case.
func cutFolded(text, head string) (rest string, found bool) {
	for _, want := range prefix.Fold(head) {
		r, size := utf8.DecodeRuneInString(text)
		if size == 0 || prefix.Fold(string(r)) != string(want) {
			return "", false
		}
		text = text[size:]
	}
	return text, true
}
