package prefix

import "strconv"

// ID is an identifier taken apart. The separator is not part of it: it is the
// same for all identifiers of an allocator.
type ID struct {
	Collection   string
	ServerPrefix string // "" for none
	Number       int64  // 1 to math.MaxInt64
	NodeTag      string // "" for none
}

// String is the text of id with [DefaultSeparator].
func (id ID) String() string {
	var room [64]byte // most identifiers fit: the string is then the one allocation
	return string(id.Append(room[:0], DefaultSeparator))
}

// Append appends the text of id to dst. It validates nothing, and allocates
// only where dst has no room.
func (id ID) Append(dst []byte, separator string) []byte {
	dst = append(dst, id.Collection...)
	dst = append(dst, separator...)
	dst = append(dst, id.ServerPrefix...)
	dst = strconv.AppendInt(dst, id.Number, 10)
	if id.NodeTag != "" {
		dst = append(dst, '-')
		dst = append(dst, id.NodeTag...)
	}
	return dst
}
