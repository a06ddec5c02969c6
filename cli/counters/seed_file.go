package counters

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/hilo-id/hilo/allocator/admin"
	"github.com/hilo-id/hilo/cli/internal/exit"
	"github.com/hilo-id/hilo/prefix"
)

// rows collects the counters of a file and the errors in its lines.
type rows struct {
	separator string
	read      []planRow
	places    map[string]int // index in read, by key
	bad       badLines
	own       bool  // it is being exported, and may have names that only version 0.1 accepted
	refused   []int // lines with such names
}

func newRows(file, separator string) rows {
	return rows{separator: separator, places: make(map[string]int), bad: badLines{File: file, Code: exit.Usage}}
}

// put adds a valid row, unless there is one for the same counter, which it returns.
func (r *rows) put(row planRow) (before *planRow, err error) {
	switch err := row.Validate(r.separator); {
	case errors.Is(err, prefix.ErrLookalike) && r.own:
		r.refused = append(r.refused, row.Line)
	case errors.Is(err, prefix.ErrLookalike):
		return nil, fmt.Errorf("%w; correct the name in this line", err)
	case err != nil:
		return nil, err
	}
	key := row.Key()
	if place, found := r.places[key]; found {
		return &r.read[place], nil
	}
	r.places[key] = len(r.read)
	r.read = append(r.read, row)
	return nil, nil
}

// readRows parses a seed file, which is CSV or JSON lines. Of several lines for one counter the greatest counts, as if the
// counter were raised by each. It leaves out the lines with a name of skip, and calls skipped for each.
func readRows(file, separator string, content []byte, skip []string, skipped func(line int, name string)) ([]planRow, error) {
	s := seedFile{rows: newRows(file, separator), skip: make(map[string]bool), skipped: skipped}
	for _, name := range skip {
		s.skip[prefix.Fold(name)] = false
	}
	switch text := bytes.TrimSpace(content); {
	case len(text) == 0:
		return nil, exit.Usagef("%s is empty: nothing was written; it needs lines such as collection,max and orders,4000", file)
	case text[0] == '{' || text[0] == '[':
		s.json(content)
	default:
		s.csv(content)
	}
	if err := s.bad.Failure(); err != nil {
		return nil, err
	}
	for _, name := range skip {
		if !s.skip[prefix.Fold(name)] {
			return nil, exit.Usagef("%s: nothing was written: --skip is %q, which no line has as its name", file, name)
		}
	}
	if len(s.read) == 0 {
		return nil, exit.Usagef("%s names no counters: nothing was written", file)
	}
	return s.read, nil
}

// seedFile is the content of a seed file.
type seedFile struct {
	rows
	skip    map[string]bool // folded names to leave out; true means that a line had it
	skipped func(line int, name string)
}

// columns are the columns of CSV. The last one may be missing.
var columns = []string{"collection", "max", "kind"}

const exampleHeader = "the first line names the columns, as in collection,max or collection,max,kind"

// csv parses CSV up to the first invalid line, because the ends of the lines after it are unknown.
func (s *seedFile) csv(content []byte) {
	in := csv.NewReader(bytes.NewReader(content))
	in.FieldsPerRecord = -1
	var header []string
	for {
		record, err := in.Read()
		if wrong, ok := errors.AsType[*csv.ParseError](err); ok {
			s.bad.Add(wrong.Line, wrong.Err)
		}
		if err != nil {
			return
		}
		line, _ := in.FieldPos(0)
		switch {
		case header == nil:
			if err := readHeader(record); err != nil {
				s.bad.Add(line, err)
				return
			}
			header = record
		case len(record) != len(header):
			s.bad.Add(line, fmt.Errorf("%d values, where the header has %d", len(record), len(header)))
		default:
			cells := make(map[string]string)
			for i, column := range header {
				cells[column] = strings.TrimSpace(record[i])
			}
			s.bad.Add(line, s.add(line, cells["collection"], cells["max"], cells["kind"]))
		}
	}
}

// readHeader normalizes the names of the columns, in place, and checks them.
func readHeader(record []string) error {
	for i, column := range record {
		record[i] = strings.ToLower(strings.TrimSpace(column))
		switch {
		case !slices.Contains(columns, record[i]):
			return fmt.Errorf("%.64q is not a column: %s", record[i], exampleHeader)
		case slices.Contains(record[:i], record[i]):
			return fmt.Errorf("column %s appears twice", record[i])
		}
	}
	for _, column := range columns[:2] {
		if !slices.Contains(record, column) {
			return fmt.Errorf("there is no column %s: %s", column, exampleHeader)
		}
	}
	return nil
}

func (s *seedFile) json(content []byte) {
	for line, text := range jsonLines(content) {
		var fields struct {
			Collection string          `json:"collection"`
			Max        json.RawMessage `json:"max"` // a number, or a string with one, as tools write numbers that a double cannot hold
			Kind       string          `json:"kind"`
		}
		err := unmarshal(text, &fields)
		if err == nil {
			err = s.add(line, fields.Collection, strings.Trim(string(fields.Max), `"`), fields.Kind)
		}
		s.bad.Add(line, err)
	}
}

// ravenDocuments is the beginning of the names of RavenDB's documents of counters, in one of its two spellings.
const ravenDocuments = "Raven/HiLo/"

// add adds the counter of a line.
func (s *seedFile) add(line int, name, max, kindText string) error {
	own, isDocument := cutFolded(name, ravenDocuments)
	if !isDocument {
		own = name
	}
	for _, spelling := range []string{name, own} {
		if _, found := s.skip[prefix.Fold(spelling)]; found {
			s.skip[prefix.Fold(spelling)] = true
			s.skipped(line, name)
			return nil
		}
	}
	name = own
	kind, err := parseKind(kindText)
	if err != nil {
		return err
	}
	if kind == admin.KindIdentity {
		name = strings.TrimSuffix(name, "|")
	}
	number, _ := strconv.ParseInt(max, 10, 64) // the result of any other text differs from it
	if number < 0 || strconv.FormatInt(number, 10) != max {
		return fmt.Errorf("max is %.64q: must be 0 to 9223372036854775807, in digits only", max)
	}
	before, err := s.put(planRow{Line: line, State: admin.State{Kind: kind, Counter: admin.Counter{Name: name, Max: number}}})
	if err != nil {
		return fmt.Errorf("%w; --skip %s leaves it out", err, shellQuote(name))
	}
	if before != nil && number > before.Max {
		before.Line, before.Max = line, number
	}
	return nil
}

// shellQuote quotes a name as a word of a command line. The form of bash, $'...', is for names that double quotes would change.
func shellQuote(name string) string {
	quoted := strconv.Quote(name)
	if quoted == `"`+name+`"` && !strings.ContainsAny(name, "$`!") {
		return quoted
	}
	return "$'" + strings.ReplaceAll(quoted[1:len(quoted)-1], "'", `\'`) + "'"
}
