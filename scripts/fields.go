package scripts

import "slices"

// Field is a field of a counter.
type Field struct {
	Name string
	// Text reports that the field holds a text. All others hold decimals.
	Text bool
	// OfRequest reports that the field is about one request to this server, so that it means nothing at another one.
	OfRequest bool
}

// Fields are all fields of a counter that a script reads, of any kind. take.lua documents them.
var Fields = []Field{
	{Name: FieldMax},
	{Name: FieldValue},
	{Name: "Name", Text: true},
	{Name: "Origin", Text: true},
	{Name: "Ceiling"},
	{Name: "Ranges"},
	{Name: "Epoch"},
	{Name: "Raised"},
	{Name: "Block"},
	{Name: "RaisedAt"},
	{Name: "Bare"},
	{Name: "Written"},
	{Name: "Lowered"},
	{Name: "Low", OfRequest: true},
	{Name: "Lease", Text: true, OfRequest: true},
	{Name: "Forced", Text: true, OfRequest: true},
}

// FieldNames returns the names of Fields.
func FieldNames() []string {
	names := make([]string, len(Fields))
	for i, f := range Fields {
		names[i] = f.Name
	}
	return names
}

// FieldIndex returns the place of a field in Fields, or -1.
func FieldIndex(name string) int {
	return slices.IndexFunc(Fields, func(f Field) bool { return f.Name == name })
}
