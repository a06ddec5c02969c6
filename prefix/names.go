package prefix

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// DefaultSeparator stands between a collection and the rest of an identifier
// where nothing else is asked for.
const DefaultSeparator = "/"

const (
	maxNameBytes         = 128 // a collection, a namespace
	maxServerPrefixBytes = 64
	maxNodeTagBytes      = 8
)

// ValidateCollection reports why name cannot be a collection, or the name of
// an identity, with this separator; nil if it can. A separator that is itself
// invalid is reported first.
func ValidateCollection(name, separator string) error {
	if err := ValidateSeparator(separator); err != nil {
		return err
	}
	if name == "" {
		return fmt.Errorf("%w: collection is empty: 1 to %d bytes", ErrInvalid, maxNameBytes)
	}
	if err := checkText("collection", name, "|{}", maxNameBytes); err != nil {
		return err
	}
	if strings.Contains(name, separator) {
		return fmt.Errorf("%w: collection %s holds the separator %q", ErrInvalid, quote(name), separator)
	}
	return nil
}

// ValidateSeparator reports why separator cannot stand behind a collection;
// nil if it can.
func ValidateSeparator(separator string) error {
	r, size := utf8.DecodeRuneInString(separator)
	switch {
	case separator == "":
		return fmt.Errorf("%w: separator is empty: exactly one character", ErrInvalid)
	case r == utf8.RuneError && size == 1:
		return fmt.Errorf("%w: separator %s is not valid UTF-8", ErrInvalid, quote(separator))
	case size < len(separator):
		return fmt.Errorf("%w: separator %s is more than one character", ErrInvalid, quote(separator))
	case r == '|':
		return fmt.Errorf(`%w: separator is "|", which asks for an identity`, ErrInvalid)
	case unicode.IsDigit(r):
		return fmt.Errorf("%w: separator %q is a digit", ErrInvalid, separator)
	case unicode.IsLetter(r), unicode.ToLower(r) != unicode.ToUpper(r): // the latter: "ⓐ", "ⅷ"
		return fmt.Errorf("%w: separator %q is a letter", ErrInvalid, separator)
	case unicode.IsSpace(r):
		return fmt.Errorf("%w: separator %q is white space", ErrInvalid, separator)
	case unicode.IsControl(r):
		return fmt.Errorf("%w: separator %q is a control character", ErrInvalid, separator)
	}
	return nil
}

// ValidateNamespace reports why namespace cannot stand in the braces of a key;
// nil if it can.
func ValidateNamespace(namespace string) error {
	if namespace == "" {
		return fmt.Errorf("%w: namespace is empty: 1 to %d bytes", ErrInvalid, maxNameBytes)
	}
	return checkText("namespace", namespace, "{}", maxNameBytes)
}
