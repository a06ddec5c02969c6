package prefix

import (
	"fmt"
	"strings"
	"unicode"
)

// Server holds what one server reports about itself. Prefix and tag are added to
// each identifier, so that two independent servers never issue the same text.
// Either may be empty.
type Server struct {
	ServerPrefix string // before the number, "NorthServer/"
	NodeTag      string // after the number and "-", "A"

	// Identities reports that this server is the home of identities, which have
	// neither prefix nor tag and so come from one server only. A server with neither
	// is the only one and is their home without reporting it.
	Identities bool

	// Durable is DurableAlways if the operator states that the server keeps every
	// acknowledged write and that its data is nowhere else, and else "". Counters
	// then continue after a restart without a jump.
	Durable string
}

// DurableAlways is the one value of Server.Durable that is not empty.
const DurableAlways = "always"

// Validate returns nil if s can be part of an identifier, and otherwise an error
// that names the broken rule.
func (s Server) Validate() error {
	if err := checkText("server prefix", s.ServerPrefix, "|{}", maxServerPrefixBytes); err != nil {
		return err
	}
	if head := strings.TrimRightFunc(s.ServerPrefix, unicode.IsDigit); head != s.ServerPrefix {
		digits := s.ServerPrefix[len(head):]
		return fmt.Errorf(`%w: server prefix %s ends in a digit: %[2]s+"1" would read as %s+%s`,
			ErrInvalid, quote(s.ServerPrefix), quote(head), quote(digits+"1"))
	}
	// Folded, since the Kelvin sign is no letter of a tag but "k" is.
	if _, _, found := cutTag(Fold(s.ServerPrefix)); found {
		dash := strings.LastIndexByte(s.ServerPrefix, '-')
		return fmt.Errorf(`%w: server prefix %s ends in a number and the start of a node tag: %[2]s+"1" would read as %s+%s`,
			ErrInvalid, quote(s.ServerPrefix), quote(s.ServerPrefix[:dash]), quote(s.ServerPrefix[dash:]+"1"))
	}
	if s.NodeTag != "" && (len(s.NodeTag) > maxNodeTagBytes || !readsAsTag(s.NodeTag)) {
		return fmt.Errorf("%w: node tag %s is not 1 to %d of A-Z a-z 0-9 with a letter first",
			ErrInvalid, quote(s.NodeTag), maxNodeTagBytes)
	}
	if s.Durable != "" && s.Durable != DurableAlways {
		return fmt.Errorf("%w: Durable %s is neither %s nor empty", ErrInvalid, quote(s.Durable), DurableAlways)
	}
	return nil
}

// IsZero reports whether s adds nothing to an identifier.
func (s Server) IsZero() bool { return s.ServerPrefix == "" && s.NodeTag == "" }

// SameAs reports whether s and other add the same to an identifier, letter case
// aside, so that their identifiers could be equal.
func (s Server) SameAs(other Server) bool {
	return strings.EqualFold(s.ServerPrefix, other.ServerPrefix) && strings.EqualFold(s.NodeTag, other.NodeTag)
}

// cutTag splits text before a final "-" and node tag that follow a digit. It
// accepts a tag of any length, which Validate checks.
func cutTag(text string) (head, tag string, found bool) {
	dash := strings.LastIndexByte(text, '-')
	if dash < 1 || !isDigit(text[dash-1]) || !readsAsTag(text[dash+1:]) {
		return text, "", false
	}
	return text[:dash], text[dash+1:], true
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
