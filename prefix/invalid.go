package prefix

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// ErrInvalid reports that a part of an identifier or of a key breaks a rule. Every error of this package wraps it.
var ErrInvalid = errors.New("invalid name")

// ErrLookalike reports that a part has a format character or is not in NFC, so that it may look like another. Such an error wraps
// ErrInvalid too. Version 0.1 accepted such names, and a server may have counters of them.
var ErrLookalike = errors.New("name may look like another")

// lookalikeError is an error that matches ErrLookalike and does not repeat its text.
type lookalikeError struct{ error }

func (e lookalikeError) Unwrap() error { return e.error }

func (lookalikeError) Is(target error) bool { return target == ErrLookalike }

// checkText reports the first rule, of those common to all parts of an identifier or a key, that value breaks. A part is minBytes
// to maxBytes bytes of UTF-8 in NFC, without the characters in reserved, white space, control characters, format characters, most
// of which are invisible, and code points that Unicode has not assigned, as of the tables that this Go has. A later version of
// Unicode may make such a code point a letter, white space or the other case of another character.
func checkText(part, value, reserved string, minBytes, maxBytes int) error {
	if len(value) < minBytes {
		return fmt.Errorf("%w: %s is empty: %d to %d bytes", ErrInvalid, part, minBytes, maxBytes)
	}
	if len(value) > maxBytes {
		return fmt.Errorf("%w: %s %s is %d bytes long: at most %d",
			ErrInvalid, part, quote(value), len(value), maxBytes)
	}
	if !utf8.ValidString(value) {
		return fmt.Errorf("%w: %s %s is not valid UTF-8", ErrInvalid, part, quote(value))
	}
	for _, r := range value {
		switch {
		case strings.ContainsRune(reserved, r):
			return fmt.Errorf("%w: %s %s holds %q", ErrInvalid, part, quote(value), string(r))
		case unicode.IsSpace(r):
			return fmt.Errorf("%w: %s %s holds white space", ErrInvalid, part, quote(value))
		case unicode.IsControl(r):
			return fmt.Errorf("%w: %s %s holds a control character", ErrInvalid, part, quote(value))
		case unicode.Is(unicode.Cf, r):
			return lookalikeError{fmt.Errorf("%w: %s %s holds %U, a format character", ErrInvalid, part, quote(value), r)}
		case unicode.Is(unicode.Cn, r): // noncharacters too
			return fmt.Errorf("%w: %s %s holds %U, which Unicode %s has not assigned",
				ErrInvalid, part, quote(value), r, unicode.Version)
		}
	}
	return checkNFC(part, value)
}

// checkNFC returns nil if value is in NFC. Otherwise its error names the first
// code points that are not, and the value in NFC. ASCII is in NFC.
func checkNFC(part, value string) error {
	if norm.NFC.IsNormalString(value) {
		return nil
	}
	composed := norm.NFC.String(value)
	const joiner = "\u034F" // norm puts it into long runs of combining characters
	if strings.Count(composed, joiner) > strings.Count(value, joiner) {
		return lookalikeError{fmt.Errorf("%w: %s %s holds more than 30 combining characters in a row", ErrInvalid, part, quote(value))}
	}
	is, want := firstNotNFC(value)
	return lookalikeError{fmt.Errorf("%w: %s %s is not in NFC: it holds %s where NFC has %s; in NFC it is %s, which looks alike",
		ErrInvalid, part, quote(value), codePoints(is), codePoints(want), quote(composed))}
}

// firstNotNFC returns the first characters of value, with what combines with them,
// that are not in NFC, and what NFC has in their place.
func firstNotNFC(value string) (is, want string) {
	var segments norm.Iter
	segments.InitString(norm.NFC, value)
	for is == want && !segments.Done() {
		start := segments.Pos()
		want = string(segments.Next())
		is = value[start:segments.Pos()]
	}
	return is, want
}

// codePoints returns the code points of text, such as "U+0065 U+0301".
func codePoints(text string) string {
	return strings.Trim(fmt.Sprintf("%U", []rune(text)), "[]")
}

// quote quotes a value for an error text. It cuts the value after 64 bytes, so
// that a document passed by mistake does not flood a log.
func quote(value string) string {
	const maxBytes = 64
	if len(value) <= maxBytes {
		return strconv.Quote(value)
	}
	cut := maxBytes
	for cut > maxBytes-utf8.UTFMax && !utf8.RuneStart(value[cut]) {
		cut--
	}
	return strconv.Quote(value[:cut]) + "…"
}
