package prefix

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// ErrInvalid is wrapped by every error of this package.
var ErrInvalid = errors.New("invalid name")

// checkText refuses what no part of an identifier or a key may be: longer than
// longest bytes, not UTF-8, or with white space, a control, or a character out
// of reserved in it.
func checkText(part, value, reserved string, longest int) error {
	if len(value) > longest {
		return fmt.Errorf("%w: %s %s is %d bytes long: at most %d",
			ErrInvalid, part, quote(value), len(value), longest)
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
		}
	}
	return nil
}

// quote quotes a value for an error text, the first 64 bytes of it at most: a
// value that big is somebody's mistake and should not flood a log.
func quote(value string) string {
	const most = 64
	if len(value) <= most {
		return strconv.Quote(value)
	}
	cut := most
	for cut > most-utf8.UTFMax && !utf8.RuneStart(value[cut]) {
		cut--
	}
	return strconv.Quote(value[:cut]) + "…"
}
