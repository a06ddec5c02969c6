package cli

import (
	"fmt"

	"github.com/hilo-id/hilo/allocator"
	"github.com/hilo-id/hilo/prefix"
)

// exportFile is an export as it was read.
type exportFile struct {
	name      string // for errors
	namespace string
	server    prefix.Server
	prefixed  bool // it says what the server was
	rows      []row
	whole     bool // with its end, and as many counters as that says
}

// readExport reads an export, or says what is wrong with its lines.
func readExport(name, separator string, content []byte) (exportFile, error) {
	file := exportFile{name: name}
	bad := &badRows{file: name}
	r := exportReader{file: &file, separator: separator, seen: make(map[string]int)}
	last := 0
	for line, text := range jsonLines(content) {
		last = line
		var fields exportLine
		err := unmarshal(text, &fields)
		if err == nil {
			err = r.line(line, fields)
		}
		if err != nil {
			bad.addf(line, "%v", err)
			if file.namespace == "" {
				break // it is no export, and all other lines would be wrong too
			}
		}
	}
	if last == 0 {
		return file, usagef("%s is empty: nothing was written", name)
	}
	return file, bad.failure(exitUsage)
}

type exportReader struct {
	file      *exportFile
	separator string
	seen      map[string]int // lines of counters, by kind and folded name
}

func (r *exportReader) line(line int, l exportLine) error {
	switch {
	case r.file.namespace == "":
		return r.header(l)
	case r.file.whole:
		return fmt.Errorf("stands behind the end of the export")
	}
	switch l.Kind {
	case lineExport:
		return fmt.Errorf("a second export begins: import one at a time")
	case linePrefix:
		return r.prefix(l)
	case lineEnd:
		if !r.file.prefixed {
			return fmt.Errorf("the line with the server's prefix is missing")
		}
		if l.Counters == nil || *l.Counters != len(r.file.rows) {
			return fmt.Errorf("the end says another number of counters than there are, %d", len(r.file.rows))
		}
		r.file.whole = true
		return nil
	}
	return r.counter(line, l)
}

func (r *exportReader) header(l exportLine) error {
	switch {
	case l.Kind != lineExport:
		return fmt.Errorf(`is not the first line of an export, {"kind":"export",…}; a list of counters is for hilo seed --file`)
	case l.Version != exportVersion:
		return fmt.Errorf("version %d of the format is none that this hilo knows", l.Version)
	}
	if err := prefix.ValidateNamespace(l.Namespace); err != nil {
		return fmt.Errorf("%s", plain(err))
	}
	r.file.namespace = l.Namespace
	return nil
}

func (r *exportReader) prefix(l exportLine) error {
	if r.file.prefixed {
		return fmt.Errorf("a second prefix")
	}
	r.file.prefixed = true
	r.file.server = prefix.Server{ServerPrefix: l.ServerPrefix, NodeTag: l.NodeTag}
	if err := r.file.server.Validate(); err != nil {
		return fmt.Errorf("%s", plain(err))
	}
	return nil
}

func (r *exportReader) counter(line int, l exportLine) error {
	kind, err := readKind(l.Kind)
	switch {
	case err != nil:
		return err
	case l.Max == nil:
		return fmt.Errorf("max is missing")
	case *l.Max < 0 || l.Ranges < 0 || l.Epoch < 0:
		return fmt.Errorf("max, ranges and epoch must be 0 or more")
	}
	read := row{line, allocator.State{Kind: kind, Counter: allocator.Counter{Name: l.Collection, Max: *l.Max, Ranges: l.Ranges, Epoch: l.Epoch}}}
	if err := read.validate(r.separator); err != nil {
		return fmt.Errorf("%s", plain(err))
	}
	name := string(kind)
	if kind != allocator.KindServerSide {
		name += " " + prefix.Fold(l.Collection)
	}
	if before, found := r.seen[name]; found {
		return fmt.Errorf("%s stands on line %d already", name, before)
	}
	r.seen[name] = line
	r.file.rows = append(r.file.rows, read)
	return nil
}
