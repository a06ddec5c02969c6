package prefix

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	// DefaultSeparator stands between a collection and the rest of an identifier unless another one is configured.
	DefaultSeparator = "/"
	// DefaultNamespace is the namespace unless another one is configured.
	DefaultNamespace = "Raven"
	// MaxServerSide is the greatest number of a server-side identifier. It keeps one zero in front of the 19 digits, so
	// that no HiLo identifier, which has no leading zeros, is the same text.
	MaxServerSide = 999_999_999_999_999_999
)

const (
	maxNameBytes         = 128 // a collection, a namespace
	maxServerPrefixBytes = 64
	maxNodeTagBytes      = 8
)

// ValidateCollection returns nil if name can be a collection or the name of an identity with this separator, and otherwise an
// error that names the broken rule. An invalid separator is reported first.
func ValidateCollection(name, separator string) error {
	if err := ValidateSeparator(separator); err != nil {
		return err
	}
	if err := checkText("collection", name, "|{}", 1, maxNameBytes); err != nil {
		return err
	}
	if strings.Contains(name, separator) {
		return fmt.Errorf("%w: collection %s holds the separator %q", ErrInvalid, quote(name), separator)
	}
	return nil
}

// ValidateSeparator returns nil if separator can follow a collection, and otherwise an error that names the broken rule.
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
		return fmt.Errorf(`%w: separator is "|", which requests an identity`, ErrInvalid)
	case unicode.IsDigit(r):
		return fmt.Errorf("%w: separator %q is a digit", ErrInvalid, separator)
	case unicode.IsLetter(r), unicode.ToLower(r) != unicode.ToUpper(r): // such as "ⓐ" and "ⅷ"
		return fmt.Errorf("%w: separator %q is a letter", ErrInvalid, separator)
	case unicode.IsSpace(r):
		return fmt.Errorf("%w: separator %q is white space", ErrInvalid, separator)
	case unicode.IsControl(r):
		return fmt.Errorf("%w: separator %q is a control character", ErrInvalid, separator)
	case unicode.Is(unicode.Cf, r):
		return lookalikeError{fmt.Errorf("%w: separator %U is a format character", ErrInvalid, r)}
	case unicode.Is(unicode.Cn, r):
		return fmt.Errorf("%w: separator %U is not assigned by Unicode %s", ErrInvalid, r, unicode.Version)
	}
	return checkNFC("separator", separator)
}

// ValidateNamespace returns nil if namespace can be the part of a key in braces,
// and otherwise an error that names the broken rule.
func ValidateNamespace(namespace string) error {
	return checkText("namespace", namespace, "{}", 1, maxNameBytes)
}
