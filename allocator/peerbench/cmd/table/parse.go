package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// results are the figures of one run of the benchmarks.
type results struct {
	machine map[string]string // "goos", "goarch", "cpu"
	rows    []*row            // as they came
}

// row is one benchmark with all its figures.
type row struct {
	group, name string // of BenchmarkText/rs/xid/alone: "Text" and "rs/xid"
	figures     map[figure][]float64
}

// figure says what a number is.
type figure struct {
	unit string
	at   setting
}

// setting is one way that a benchmark was run: "alone" or "together" or, where
// it does not make that difference, "", and with so many processors.
type setting struct {
	mode string
	cpus int
}

// median returns the median over all runs of a benchmark; ok is false if there is none.
func (r *row) median(unit string, at setting) (value float64, ok bool) {
	if r == nil {
		return 0, false
	}
	values := slices.Sorted(slices.Values(r.figures[figure{unit, at}]))
	n := len(values)
	if n == 0 {
		return 0, false
	}
	return (values[(n-1)/2] + values[n/2]) / 2, true
}

func (r *results) find(group, name string) *row {
	for _, row := range r.rows {
		if row.group == group && row.name == name {
			return row
		}
	}
	return nil
}

func (r *results) group(group string) []*row {
	var rows []*row
	for _, row := range r.rows {
		if row.group == group {
			rows = append(rows, row)
		}
	}
	return rows
}

var (
	machineLine = regexp.MustCompile(`^(goos|goarch|cpu): (.+)$`)
	failureLine = regexp.MustCompile(`^(--- FAIL|FAIL|panic:)`)
	resultName  = regexp.MustCompile(`^Benchmark(\w+?)/(.+?)(?:/(alone|together))?(?:-(\d+))?$`)
)

// parse reads what go test prints. A failure in it is an error: half a table
// is worse than none.
func parse(in io.Reader) (*results, error) {
	r := &results{machine: make(map[string]string)}
	lines := bufio.NewScanner(in)
	for lines.Scan() {
		line := lines.Text()
		if failureLine.MatchString(line) {
			return nil, fmt.Errorf("the benchmarks failed: %q", line)
		}
		if m := machineLine.FindStringSubmatch(line); m != nil {
			r.machine[m[1]] = m[2]
			continue
		}
		if err := r.add(strings.Fields(line)); err != nil {
			return nil, fmt.Errorf("%q: %w", line, err)
		}
	}
	if err := lines.Err(); err != nil {
		return nil, err
	}
	if len(r.rows) == 0 {
		return nil, errors.New("no benchmark in the input")
	}
	return r, nil
}

// add takes a line `BenchmarkText/rs/xid/alone-2  1000  89.6 ns/op  24 B/op`;
// others it leaves out.
func (r *results) add(fields []string) error {
	if len(fields) < 4 || len(fields)%2 != 0 {
		return nil
	}
	name := resultName.FindStringSubmatch(fields[0])
	if name == nil {
		return nil
	}
	group, text, at := name[1], strings.ReplaceAll(name[2], "_", " "), setting{name[3], 1}
	if name[4] != "" {
		var err error
		if at.cpus, err = strconv.Atoi(name[4]); err != nil {
			return err
		}
	}
	into := r.find(group, text)
	if into == nil {
		into = &row{group: group, name: text, figures: make(map[figure][]float64)}
		r.rows = append(r.rows, into)
	}
	for pair := range slices.Chunk(fields[2:], 2) {
		value, err := strconv.ParseFloat(pair[0], 64)
		if err != nil {
			return err
		}
		key := figure{pair[1], at}
		into.figures[key] = append(into.figures[key], value)
	}
	return nil
}
