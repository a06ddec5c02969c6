package main

import (
	"fmt"
	"io"
	"math"
	"runtime"
	"strings"
)

// The tables, in the README's order. A row has its ratios to the first of its
// table, where ratios is set.
var tables = []struct {
	group, title string
	unit         string
	settings     []setting
	ratios       bool
	also         []string // units
}{
	{"Number", "A number", nanoseconds, modes[:], true, []string{"allocs/op"}},
	{"Append", "A text in the caller's buffer", nanoseconds, modes[:], true, []string{"allocs/op"}},
	{"Text", "A text", nanoseconds, modes[:], true, []string{"allocs/op"}},
	{"FullSpeed", "64 workers at full speed", "ids/s", plain, true, nil},
	{"HTTP", "32 kept-alive connections, one identifier a request", "ids/s", plain, true, []string{"allocs/op"}},
	{"ServerTime", "How long a script keeps the server busy", "us/script", plain, false, nil},
	{"Warm", "Until each of 10,000 collections has a range in hand", nanoseconds, plain, true, nil},
	{"FleetStart", "A fleet that starts all at once, each allocator with 5 collections", "ids/s", plain, false, []string{"p50-ms", "p99-ms", "us/script"}},
	{"Workers", "1 to 64 workers on one collection, `Collection.Next`", nanoseconds, plain, false, []string{"ids/s", "scripts/Mids"}},
	{"Collections", "1 to 100,000 collections in one allocator, `Allocator.Next`", nanoseconds, plain, false, []string{"scripts/Mids", "B/collection"}},
	{"Ranges", "Ranges from 32 to 1,048,576, `Collection.Next`", nanoseconds, plain, false, []string{"ids/s", "scripts/Mids"}},
}

var (
	modes = [3]setting{{"alone", 1}, {"alone", 2}, {"together", 2}}
	plain = []setting{{"", 1}, {"", 2}}
)

func (s setting) String() string {
	text := fmt.Sprintf("%d cpu", s.cpus)
	if s.cpus > 1 {
		text += "s"
	}
	if s.mode == "together" {
		text += ", together"
	}
	return text
}

// nanoseconds are per identifier, also for a benchmark whose operation makes
// many and which therefore says ns/id.
const nanoseconds = "ns"

// limits are what the project holds itself to: subject over baseline is at most so much or,
// for ids/s, at least. A star is the same text in both. Of callers together it
// demands something only where it says so.
var limits = []struct {
	group, subject, baseline string
	unit                     string
	settings                 [3]setting // for the columns, without cpus: none
	together                 bool
	limit                    float64
}{
	{"Number", "Collection.NextNumber", "atomic.Int64.Add", nanoseconds, modes, true, 1.35},
	{"Append", "Collection.AppendNext", "append of prefix and number", nanoseconds, modes, false, 1.6},
	{"Text", "Collection.Next", "string(append) of prefix and number", nanoseconds, modes, false, 1.35},
	{"Text", "Collection.Next", "rs/xid", nanoseconds, modes, false, 0.5},
	{"Text", "Collection.Next", "google/uuid v7", nanoseconds, modes, false, 0.25},
	{"Text", "Allocator.Next", "Collection.Next", nanoseconds, modes, false, 1.5},
	{"Text", "Batch.Strings of 1000", "Collection.Next", nanoseconds, modes, false, 0.5},
	{"FullSpeed", "Collection.NextNumber", "INCR", idsPerSecond, [3]setting{0: {"", 1}, 2: {"", 2}}, true, 1000},
	{"HTTP", "gateway", "net.http with the same answer", idsPerSecond, [3]setting{0: {"", 1}, 2: {"", 2}}, true, 0.7},
	{"Warm", "Allocator.Warm", "Allocator.Next", nanoseconds, [3]setting{{"", 1}, {"", 2}}, false, 0.2},
	{"ServerTime", "*/next", "*/HINCRBY and HGET", "us/script", [3]setting{{"", 1}, {"", 2}}, false, 8},
}

const idsPerSecond = "ids/s"

// run writes the tables of what it reads.
func run(in io.Reader, out io.Writer) error {
	r, err := parse(in)
	if err != nil {
		return err
	}
	var text strings.Builder
	fmt.Fprintf(&text, "%s, %s/%s, %s; medians.\n", r.machine["cpu"], r.machine["goos"], r.machine["goarch"], runtime.Version())
	r.writeLimits(&text)
	r.writeTables(&text)
	_, err = io.WriteString(out, text.String())
	return err
}

func (r *results) writeLimits(out *strings.Builder) {
	out.WriteString("\n### The limits\n\n")
	head := []string{"measure", "over", "limit"}
	for _, at := range modes {
		head = append(head, at.String())
	}
	writeHead(out, 2, head...)
	for i := range limits {
		l := &limits[i]
		for _, subject := range r.group(l.group) {
			same, ok := cutStar(subject.name, l.subject)
			if !ok {
				continue
			}
			baseline := strings.Replace(l.baseline, "*", same, 1)
			atLeast := l.unit == idsPerSecond
			word := "at most"
			if atLeast {
				word = "at least"
			}
			cells := []string{subject.name, baseline, fmt.Sprintf("%s %v", word, l.limit)}
			for column, at := range l.settings {
				ratio, ok := ratioOf(subject, r.find(l.group, baseline), l.unit, at)
				text := cell(ratio, ok)
				if missed := ratio > l.limit != atLeast; ok && missed && (column < 2 || l.together) {
					text = "**" + text + "**"
				}
				cells = append(cells, text)
			}
			writeLine(out, cells...)
		}
	}
}

// cutStar gives what the star of pattern stands for in name.
func cutStar(name, pattern string) (same string, ok bool) {
	prefix, suffix, star := strings.Cut(pattern, "*")
	if !star {
		return "", name == pattern
	}
	same, ok = strings.CutPrefix(name, prefix)
	if !ok {
		return "", false
	}
	return strings.CutSuffix(same, suffix)
}

func (r *results) writeTables(out *strings.Builder) {
	for _, t := range tables {
		rows := r.group(t.group)
		if len(rows) == 0 {
			continue
		}
		fmt.Fprintf(out, "\n### %s\n\n", t.title)
		head := []string{t.unit}
		for _, at := range t.settings {
			head = append(head, at.String())
			if t.ratios {
				head = append(head, "×")
			}
		}
		writeHead(out, 1, append(head, t.also...)...)
		for _, row := range rows {
			cells := []string{row.name}
			for _, at := range t.settings {
				cells = append(cells, cell(valueOf(row, t.unit, at)))
				if t.ratios {
					cells = append(cells, cell(ratioOf(row, rows[0], t.unit, at)))
				}
			}
			for _, unit := range t.also {
				cells = append(cells, cell(valueOf(row, unit, t.settings[len(t.settings)-1])))
			}
			writeLine(out, cells...)
		}
	}
}

func valueOf(r *row, unit string, at setting) (float64, bool) {
	if unit != nanoseconds {
		return r.median(unit, at)
	}
	if value, ok := r.median("ns/id", at); ok {
		return value, true
	}
	return r.median("ns/op", at)
}

func ratioOf(subject, baseline *row, unit string, at setting) (float64, bool) {
	over, ok1 := valueOf(subject, unit, at)
	under, ok2 := valueOf(baseline, unit, at)
	if !ok1 || !ok2 || under == 0 {
		return 0, false
	}
	return over / under, true
}

// cell writes three digits that count, and never an exponent.
func cell(value float64, ok bool) string {
	switch {
	case !ok:
		return "–"
	case value >= 100 || value == math.Trunc(value):
		return fmt.Sprintf("%.0f", value)
	case value >= 10:
		return fmt.Sprintf("%.1f", value)
	default:
		return fmt.Sprintf("%.2f", value)
	}
}

// writeHead writes the head of a table: texts columns of text, then numbers.
func writeHead(out *strings.Builder, texts int, cells ...string) {
	writeLine(out, cells...)
	for i := range cells {
		cells[i] = "--:"
		if i < texts {
			cells[i] = "---"
		}
	}
	writeLine(out, cells...)
}

func writeLine(out *strings.Builder, cells ...string) {
	out.WriteString("| " + strings.Join(cells, " | ") + " |\n")
}
