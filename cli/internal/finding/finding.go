// Package finding represents the results of checks: the level, the problem, its consequence and the remedy. Of the internal
// packages it may import exit and term.
package finding

import (
	"bufio"
	"fmt"
	"io"
	"slices"

	"github.com/hilo-id/hilo/cli/internal/exit"
	"github.com/hilo-id/hilo/cli/internal/term"
)

// Level is the severity of a finding.
type Level string

// The levels, in descending order of severity.
const (
	Fault   Level = "fault"   // a number can be issued twice, or none can be issued
	Warning Level = "warning" // a fault may develop
	Unknown Level = "unknown" // the check could not be completed
	Note    Level = "note"    // information
	OK      Level = "ok"
)

// levels is the order of printing. The most severe findings are last, next to the prompt.
var levels = [...]Level{OK, Note, Unknown, Warning, Fault}

// Finding is a result of one check.
type Finding struct {
	Check  string `json:"check"`            // stable identifier of the check
	Server string `json:"server,omitempty"` // empty if it concerns all servers, or the only one
	Level  Level  `json:"level"`
	What   string `json:"what"`
	Why    string `json:"why,omitempty"` // the consequence
	Do     string `json:"do,omitempty"`  // the remedy
}

// Because sets the consequence.
func (f *Finding) Because(why string) *Finding {
	f.Why = why
	return f
}

// Remedy sets the remedy.
func (f *Finding) Remedy(do string, values ...any) { f.Do = fmt.Sprintf(do, values...) }

// Sheet collects the findings about one server, or about all.
type Sheet struct {
	Server   string // set in each new finding
	Findings []Finding
}

// Add adds a finding. The returned pointer is valid until the next call of Add.
func (s *Sheet) Add(check string, l Level, what string, values ...any) *Finding {
	s.Findings = append(s.Findings, Finding{Check: check, Server: s.Server, Level: l, What: fmt.Sprintf(what, values...)})
	return &s.Findings[len(s.Findings)-1]
}

// All holds the findings of a command and their number by level.
type All struct {
	Findings []Finding `json:"findings"`
	Faults   int       `json:"faults"`
	Warnings int       `json:"warnings"`
	Unknown  int       `json:"unknown"`
}

// Of returns an All of the given findings.
func Of(all []Finding) All {
	count := make(map[Level]int)
	for _, f := range all {
		count[f.Level]++
	}
	return All{append([]Finding{}, all...), count[Fault], count[Warning], count[Unknown]}
}

// Verdict returns an error if there are faults.
func (f All) Verdict() error {
	if f.Faults == 0 {
		return nil
	}
	return &exit.Error{Code: exit.Fault, Text: term.Plural(f.Faults, "fault") + " found; see the remedy of each"}
}

// Print writes the findings, the most severe last.
func (f All) Print(to io.Writer, style term.Style) error {
	w, width := bufio.NewWriter(to), term.Width(to)
	sorted := slices.SortedStableFunc(slices.Values(f.Findings), func(a, b Finding) int {
		return slices.Index(levels[:], a.Level) - slices.Index(levels[:], b.Level)
	})
	for _, one := range sorted {
		what := one.What
		if one.Server != "" {
			what = one.Server + ": " + what
		}
		writeIndented(w, width, string(one.Level), colored(style, one.Level), what)
		writeIndented(w, width, "", "", one.Why)
		writeIndented(w, width, "      →", "      →", one.Do)
	}
	faults, warnings := term.Plural(f.Faults, "fault"), term.Plural(f.Warnings, "warning")
	if f.Faults > 0 {
		faults = style.Red(faults)
	}
	if f.Warnings > 0 {
		warnings = style.Yellow(warnings)
	}
	fmt.Fprintf(w, "\n%s, %s, %d unknown\n", faults, warnings, f.Unknown)
	return exit.Written(w.Flush())
}

func colored(style term.Style, l Level) string {
	switch l {
	case Fault:
		return style.Red(string(l))
	case Warning, Unknown:
		return style.Yellow(string(l))
	case OK:
		return style.Green(string(l))
	default:
		return string(l)
	}
}

// writeIndented writes text behind a margin that holds head, and nothing if text is empty. styled is head in its colour.
func writeIndented(w *bufio.Writer, width int, head, styled, text string) {
	const margin = 9
	if text != "" {
		lines := term.Wrap(fmt.Sprintf("%-*s%s", margin-1, head, " "+text), width, margin)
		w.WriteString(styled + lines[len(head):] + "\n")
	}
}
