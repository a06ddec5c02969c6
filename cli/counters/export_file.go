package counters

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"strings"

	"github.com/hilo-id/hilo/cli/internal/exit"
	"github.com/hilo-id/hilo/prefix"
)

// file is the content of an export.
type file struct {
	rows
	version   int
	namespace string
	server    prefix.Server
	prefixed  bool // has the server's settings
	whole     bool // has its last line, with the number of counters
}

// readExport parses an export. Its error lists the bad lines.
func readExport(name, separator string, content []byte) (file, error) {
	f := file{rows: newRows(name, separator)}
	err := f.parse(content)
	return f, err
}

// checkExport returns an error for an export of this server that no hilo can import, and the lines with names that only version
// 0.1 accepted.
func checkExport(separator string, content []byte) (refused []int, err error) {
	f := file{rows: newRows("this export", separator)}
	f.own = true
	err = f.parse(content)
	return f.refused, err
}

func (f *file) parse(content []byte) error {
	if len(bytes.TrimSpace(content)) == 0 {
		return exit.Usagef("%s is empty: nothing was written", f.bad.File)
	}
	for line, text := range jsonLines(content) {
		var l record
		err := unmarshal(text, &l)
		if err == nil {
			err = f.add(line, l)
		}
		f.bad.Add(line, err)
		if f.namespace == "" {
			break // it is not an export, so all other lines would be wrong too
		}
	}
	return f.bad.Failure()
}

// add adds the next line.
func (f *file) add(line int, l record) error {
	begun := f.namespace != ""
	switch {
	case !begun && l.Kind != lineExport:
		return errors.New(`is not the first line of an export, {"kind":"export",…}; a list of counters is for hilo seed --file`)
	case !begun && (l.Version < 1 || l.Version > exportVersion):
		return fmt.Errorf("version %d of the format is unknown: this hilo reads 1 to 3", l.Version)
	case !begun:
		err := prefix.ValidateNamespace(l.Namespace)
		if err == nil {
			f.version, f.namespace = l.Version, l.Namespace
		}
		return err
	case f.whole:
		return errors.New("follows the end of the export")
	case l.Kind == lineExport:
		return errors.New("a second export begins: import one at a time")
	case l.Kind == linePrefix && f.prefixed:
		return errors.New("a second prefix")
	case l.Kind == linePrefix:
		f.prefixed, f.server = true, prefix.Server{
			ServerPrefix: l.ServerPrefix, NodeTag: l.NodeTag, Identities: l.Identities,
			MinValue: int64(l.MinValue), MaxValue: int64(l.MaxValue), SeededOnly: l.SeededOnly,
		}
		if !strings.HasPrefix(l.Durable, "replicas:") { // of hilo 0.1
			f.server.Durable = l.Durable
		}
		return f.server.Validate()
	case l.Kind == lineEnd && !f.prefixed:
		return errors.New("the line with the server's prefix is missing")
	case l.Kind == lineEnd && len(f.bad.rows) == 0 && (l.Counters == nil || *l.Counters != len(f.read)):
		return fmt.Errorf("the end states another number of counters than there are, %d", len(f.read))
	case l.Kind == lineEnd:
		f.whole = true
		return nil
	}
	return f.counter(line, l)
}

func (f *file) counter(line int, l record) error {
	kind, err := parseKind(l.Kind)
	switch {
	case err != nil:
		return err
	case l.Max == nil:
		return errors.New("max is missing")
	case min(*l.Max, l.Ranges, l.Jumps, l.Born, l.Raised, l.Block, l.RaisedAt, l.Written, l.Lowered, l.Margin, l.Epoch, l.Top, l.Issued) < 0:
		return errors.New("every number must be 0 or more")
	case l.Jumps >= jumpsOf || l.Born > math.MaxInt64/jumpsOf-1:
		return errors.New("jumps must be below 1000000, and born a time in milliseconds")
	}
	before, err := f.put(planRow{Line: line, State: l.state(kind, f.version)})
	if before != nil {
		err = fmt.Errorf("%s stands on line %d already", before.Key(), before.Line)
	}
	return err
}
