package prefix

import (
	"cmp"
	"fmt"
	"math"
	"strings"
	"unicode"
)

// Server holds what one server reports about itself, its settings. Prefix and tag are added to each identifier, so that two
// independent servers never issue the same text. Either may be empty. Two servers whose intervals are disjoint need neither.
type Server struct {
	ServerPrefix string // before the number, "NorthServer/"
	NodeTag      string // after the number and "-", "A"

	// Identities reports that this server is the home of identities, which have neither prefix nor tag and so come from one
	// server only. A server with neither, and without an interval, is the only one and is their home without reporting it.
	Identities bool

	// Durable is what the operator states of one server with an append-only file, without replicas, or "". It is the value of
	// appendfsync that the operator keeps, DurableEverysec or DurableAlways. Counters then continue after a restart with a small
	// gap and no jump.
	Durable string

	// MinValue and MaxValue are the interval of the numbers that the server issues, of
	// collections, identities and server-side identifiers. 0 means 1 and math.MaxInt64.
	MinValue, MaxValue int64

	// SeededOnly reports that a counter that does not exist is an error and is not made.
	SeededOnly bool
}

// The values of Server.Durable.
const (
	DurableEverysec = "everysec"
	DurableAlways   = "always"
)

// Interval returns the bounds of the numbers that s issues, both included.
func (s Server) Interval() (low, high int64) {
	return max(s.MinValue, 1), cmp.Or(s.MaxValue, math.MaxInt64)
}

// HasInterval reports whether s does not issue all numbers.
func (s Server) HasInterval() bool {
	low, high := s.Interval()
	return low != 1 || high != math.MaxInt64
}

// DisjointFrom reports whether no number of s is one of other.
func (s Server) DisjointFrom(other Server) bool {
	low, high := s.Interval()
	otherLow, otherHigh := other.Interval()
	return high < otherLow || otherHigh < low
}

// Validate returns nil if s can be part of an identifier, and otherwise an error that names the broken rule.
func (s Server) Validate() error {
	if err := checkText("server prefix", s.ServerPrefix, "|{}", 0, maxServerPrefixBytes); err != nil {
		return err
	}
	if head := strings.TrimRightFunc(s.ServerPrefix, unicode.IsDigit); head != s.ServerPrefix {
		digits := s.ServerPrefix[len(head):]
		return fmt.Errorf(`%w: server prefix %s ends in a digit: %[2]s+"1" would read as %s+%s`,
			ErrInvalid, quote(s.ServerPrefix), quote(head), quote(digits+"1"))
	}
	// Folded, since the long s, U+017F, is no letter of a tag but "s" is.
	if _, tag := cutTag(Fold(s.ServerPrefix)); tag != "" {
		dash := strings.LastIndexByte(s.ServerPrefix, '-')
		return fmt.Errorf(`%w: server prefix %s ends in a number and the start of a node tag: %[2]s+"1" would read as %s+%s`,
			ErrInvalid, quote(s.ServerPrefix), quote(s.ServerPrefix[:dash]), quote(s.ServerPrefix[dash:]+"1"))
	}
	if s.NodeTag != "" && (len(s.NodeTag) > maxNodeTagBytes || !readsAsTag(s.NodeTag)) {
		return fmt.Errorf("%w: node tag %s is not 1 to %d of A-Z a-z 0-9 with a letter first",
			ErrInvalid, quote(s.NodeTag), maxNodeTagBytes)
	}
	if s.Durable != "" && s.Durable != DurableEverysec && s.Durable != DurableAlways {
		return fmt.Errorf("%w: Durable %s is neither %s nor %s nor empty", ErrInvalid, quote(s.Durable), DurableEverysec, DurableAlways)
	}
	if s.MinValue < 0 || s.MaxValue < 0 {
		return fmt.Errorf("%w: MinValue %d and MaxValue %d have to be 1 or more, or 0 for none", ErrInvalid, s.MinValue, s.MaxValue)
	}
	if low, high := s.Interval(); high < low {
		return fmt.Errorf("%w: MaxValue %d is below MinValue %d", ErrInvalid, high, low)
	}
	return nil
}

// IsZero reports whether s adds nothing to an identifier.
func (s Server) IsZero() bool { return s.ServerPrefix == "" && s.NodeTag == "" }

// SameAs reports whether s and other add the same to an identifier, letter case aside, so that their identifiers could be equal.
func (s Server) SameAs(other Server) bool {
	return strings.EqualFold(s.ServerPrefix, other.ServerPrefix) && strings.EqualFold(s.NodeTag, other.NodeTag)
}

// cutTag splits text before a final "-" and node tag that follow a digit. It accepts a tag of any length, which Validate checks.
func cutTag(text string) (head, tag string) {
	dash := strings.LastIndexByte(text, '-')
	if dash < 1 || !isDigit(text[dash-1]) || !readsAsTag(text[dash+1:]) {
		return text, ""
	}
	return text[:dash], text[dash+1:]
}

// readsAsTag reports whether text is a letter and then letters and digits.
func readsAsTag(text string) bool {
	for i := range len(text) {
		if !isLetter(text[i]) && (i == 0 || !isDigit(text[i])) {
			return false
		}
	}
	return text != ""
}

func isLetter(c byte) bool { return 'A' <= c && c <= 'Z' || 'a' <= c && c <= 'z' }

func isDigit(c byte) bool { return '0' <= c && c <= '9' }
