// Package finding is what checks say: how bad something is, what it is, why it matters and what to do. It may import exit
// and term beside it, and the library.
package finding

import (
	"bufio"
	"fmt"
	"io"
	"slices"

	"github.com/hilo-id/hilo/cli/internal/exit"
	"github.com/hilo-id/hilo/cli/internal/term"
)

// Level is how bad a finding is.
type Level string

// The levels, the worst first.
const (
	Fault   Level = "fault"   // a number can be issued twice, or none at all is issued
	Warning Level = "warning" // it may come to that
	Unknown Level = "unknown" // it could not be found out
	Note    Level = "note"    // information
	OK      Level = "ok"
)

// levels are in the order in which a person reads them: what is worst stands last, next to the prompt.
var levels = [...]Level{OK, Note, Unknown, Warning, Fault}

// Finding is a result of one check, about one server or about all.
type Finding struct {
	Check  string `json:"check"`            // a word that stays the same
	Server string `json:"server,omitempty"` // absent: about all, or about the only one, which has no name
	Level  Level  `json:"level"`
	What   string `json:"what"`
	Why    string `json:"why,omitempty"` // it matters
	Do     string `json:"do,omitempty"`
}

// Because adds why it matters.
func (f *Finding) Because(why string) *Finding {
	f.Why = why
	return f
}

// Remedy adds what to do.
func (f *Finding) Remedy(do string, values ...any) { f.Do = fmt.Sprintf(do, values...) }

// Sheet is what is found of one server, or of all.
type Sheet struct {
	Server   string // "": all, or the only one
	Findings []Finding
}

// Add adds what a check found. What comes of it is good until the next one is added.
func (s *Sheet) Add(check string, l Level, what string, values ...any) *Finding {
	s.Findings = append(s.Findings, Finding{Check: check, Server: s.Server, Level: l, What: fmt.Sprintf(what, values...)})
	return &s.Findings[len(s.Findings)-1]
}

// All are what a command shows of its checks.
type All struct {
	Findings []Finding `json:"findings"`
	Faults   int       `json:"faults"`
	Warnings int       `json:"warnings"`
	Unknown  int       `json:"unknown"`
}

// Of counts findings.
func Of(all []Finding) All {
	count := make(map[Level]int)
	for _, one := range all {
		count[one.Level]++
	}
	return All{append([]Finding{}, all...), count[Fault], count[Warning], count[Unknown]}
}

// Verdict returns the error of a command whose checks found a fault.
func (f All) Verdict() error {
	if f.Faults == 0 {
		return nil
	}
	return &exit.Error{Code: exit.Fault, Text: term.Plural(f.Faults, "fault") + " found; what to do about each stands beside it"}
}

// Print writes the findings in a style, the worst last.
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
		writeBehind(w, width, string(one.Level), colored(style, one.Level), what)
		writeBehind(w, width, "", "", one.Why)
		writeBehind(w, width, "      →", "      →", one.Do)
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

// colored returns the name of a level in its colour.
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

// writeBehind writes text, unless it is empty, behind a margin with a head, which is shown in colour.
func writeBehind(w *bufio.Writer, width int, head, shown, text string) {
	const margin = 9
	if text != "" {
		lines := term.Wrap(fmt.Sprintf("%-*s%s", margin-1, head, " "+text), width, margin)
		w.WriteString(shown + lines[len(head):] + "\n")
	}
}
