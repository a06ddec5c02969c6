package prefix

import "strconv"

// ID holds the parts of an identifier. The separator is not one of them, because
// it is the same for all identifiers of an allocator.
type ID struct {
	Collection   string
	ServerPrefix string // "" for none
	Number       int64  // 1 to math.MaxInt64
	NodeTag      string // "" for none
}

// String returns the text of id with [DefaultSeparator].
func (id ID) String() string {
	var buf [64]byte // most identifiers fit, so that only the string is allocated
	return string(id.Append(buf[:0], DefaultSeparator))
}

// Append appends the text of id to dst and returns the extended slice. It
// validates nothing, and allocates only if dst lacks capacity.
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
