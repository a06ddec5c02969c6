package cli

import (
	"bufio"
	"bytes"
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/hilo-id/hilo/allocator"
	"github.com/hilo-id/hilo/prefix"
)

// row is a counter as a line of a file has it.
type row struct {
	line int
	allocator.State
}

// slurp reads a file, or stdin for "-", and gives the name that errors have for it.
func (g globals) slurp(ctx context.Context, file string) (content []byte, name string, err error) {
	name = file
	content, err = read(ctx, func() ([]byte, error) {
		if file != "-" {
			return os.ReadFile(file)
		}
		name = "stdin"
		return io.ReadAll(g.Stdin)
	})
	if err != nil && ctx.Err() == nil {
		path := (*os.PathError)(nil)
		if errors.As(err, &path) {
			err = path.Err
		}
		err = usagef("%q cannot be read: %v", file, err)
	}
	return content, name, err
}

// readRows reads the counters of a seed file, CSV or JSON lines, whichever it looks like.
func readRows(file, separator string, content []byte) ([]row, error) {
	bad := &badRows{file: file}
	content = bytes.TrimPrefix(content, []byte("\ufeff")) // as spreadsheets write it
	var rows []row
	switch trimmed := bytes.TrimSpace(content); {
	case len(trimmed) == 0:
	case trimmed[0] == '{':
		rows = readJSONRows(content, bad)
	default:
		rows = readCSVRows(content, bad)
	}
	for _, r := range rows {
		if err := r.validate(separator); err != nil {
			bad.addf(r.line, "%s", plain(err))
		}
	}
	if err := bad.failure(exitUsage); err != nil {
		return nil, err
	}
	if len(rows) == 0 {
		return nil, usagef("%s names no counters: nothing was written", file)
	}
	return rows, nil
}

const exampleHeader = "the first line names the columns, as in collection,max or collection,max,kind"

func readCSVRows(content []byte, bad *badRows) (rows []row) {
	r := csv.NewReader(bytes.NewReader(content))
	r.FieldsPerRecord = -1
	r.ReuseRecord = true
	var header []string
	for {
		record, err := r.Read()
		if err == io.EOF {
			return rows
		}
		if err != nil { // what follows cannot be told apart
			wrong := (*csv.ParseError)(nil)
			if errors.As(err, &wrong) {
				bad.addf(wrong.Line, "%v", wrong.Err)
			}
			return nil
		}
		line, _ := r.FieldPos(0)
		if header == nil {
			if header = readHeader(line, record, bad); header == nil {
				return nil
			}
			continue
		}
		if len(record) != len(header) {
			bad.addf(line, "%d values, where the header has %d", len(record), len(header))
			continue
		}
		var cells struct{ collection, max, kind string }
		for i, column := range header {
			value := strings.TrimSpace(record[i])
			switch column {
			case "collection":
				cells.collection = value
			case "max":
				cells.max = value
			case "kind":
				cells.kind = value
			}
		}
		if state, err := readState(cells.collection, cells.max, cells.kind); err != nil {
			bad.addf(line, "%v", err)
		} else {
			rows = append(rows, row{line, state})
		}
	}
}

func readHeader(line int, record []string, bad *badRows) []string {
	known := []string{"collection", "max", "kind"}
	var header []string
	for _, column := range record {
		column = strings.ToLower(strings.TrimSpace(column))
		switch {
		case !slices.Contains(known, column):
			bad.addf(line, "%.64q is no column: %s", column, exampleHeader)
			return nil
		case slices.Contains(header, column):
			bad.addf(line, "column %s stands there twice", column)
			return nil
		}
		header = append(header, column)
	}
	for _, column := range known[:2] {
		if !slices.Contains(header, column) {
			bad.addf(line, "there is no column %s: %s", column, exampleHeader)
			return nil
		}
	}
	return header
}

func readJSONRows(content []byte, bad *badRows) (rows []row) {
	for line, text := range jsonLines(content) {
		var fields struct {
			Collection string `json:"collection"`
			Max        number `json:"max"`
			Kind       string `json:"kind"`
		}
		if err := unmarshal(text, &fields); err != nil {
			bad.addf(line, "%v", err)
		} else if state, err := readState(fields.Collection, string(fields.Max), fields.Kind); err != nil {
			bad.addf(line, "%v", err)
		} else {
			rows = append(rows, row{line, state})
		}
	}
	return rows
}

// jsonLines gives the lines that are not blank, and where they stand.
func jsonLines(content []byte) func(yield func(int, []byte) bool) {
	return func(yield func(int, []byte) bool) {
		line := 0
		for text := range bytes.Lines(content) {
			line++
			if text = bytes.TrimSpace(text); len(text) > 0 && !yield(line, text) {
				return
			}
		}
	}
}

// number is a JSON number as it is written, or a text with one, as tools write those that a double cannot hold.
type number string

func (n *number) UnmarshalJSON(text []byte) error {
	if len(text) > 0 && text[0] == '"' {
		return json.Unmarshal(text, (*string)(n))
	}
	*n = number(text)
	return nil
}

// unmarshal reads one JSON object with the fields of into, and no others.
func unmarshal(text []byte, into any) error {
	if !utf8.Valid(text) {
		return errors.New("is not valid UTF-8")
	}
	decoder := json.NewDecoder(bufio.NewReader(bytes.NewReader(text)))
	decoder.DisallowUnknownFields()
	err := decoder.Decode(into)
	if err == nil && decoder.More() {
		return errors.New("holds more than one JSON object")
	}
	if err != nil {
		return fmt.Errorf("is no JSON object of this kind: %s", strings.TrimPrefix(err.Error(), "json: "))
	}
	return nil
}

// validate judges the name. What the server has to say about it comes later.
func (r row) validate(separator string) error {
	if r.Kind == allocator.KindServerSide && r.Name == "" {
		return nil
	}
	return prefix.ValidateCollection(r.Name, separator)
}

// readState reads one counter.
func readState(collection, max, kind string) (allocator.State, error) {
	state := allocator.State{Kind: allocator.Kind(kind), Counter: allocator.Counter{Name: collection}}
	var err error
	if state.Kind, err = readKind(kind); err != nil {
		return state, err
	}
	if state.Kind == allocator.KindIdentity {
		state.Name = strings.TrimSuffix(collection, "|")
	}
	state.Max, err = readCount("max", max)
	return state, err
}

func readKind(text string) (allocator.Kind, error) {
	switch kind := allocator.Kind(text); kind {
	case "":
		return allocator.KindHiLo, nil
	case allocator.KindHiLo, allocator.KindIdentity, allocator.KindServerSide:
		return kind, nil
	}
	return "", fmt.Errorf("kind is %.64q: must be hilo, identity or server-side", text)
}

// readCount reads a number as the counters have them.
func readCount(field, text string) (int64, error) {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 0 || strconv.FormatInt(n, 10) != text {
		return 0, fmt.Errorf("%s is %.64q: must be 0 to 9223372036854775807, in digits only", field, text)
	}
	return n, nil
}
