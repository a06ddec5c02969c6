package prefix

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// ErrInvalid reports that a part of an identifier or of a key breaks a rule. Every
// error of this package wraps it.
var ErrInvalid = errors.New("invalid name")

// checkText reports the first rule, of those common to all parts of an identifier
// or a key, that value breaks. A part is minBytes to maxBytes bytes of UTF-8
// without the characters in reserved, white space, control characters and code
// points that Unicode has not assigned.
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
		case isUnassigned(r):
			return fmt.Errorf("%w: %s %s holds %U, which Unicode %s has not assigned",
				ErrInvalid, part, quote(value), r, unicode.Version)
		}
	}
	return nil
}

// isUnassigned reports whether Unicode has not assigned r, as of the tables that
// this Go has. A later version of Unicode may make it a letter, white space or
// the other case of another character. Noncharacters are never assigned.
func isUnassigned(r rune) bool {
	return r >= utf8.RuneSelf && unicode.Is(unicode.Cn, r)
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
