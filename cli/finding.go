package cli

import (
	"bufio"
	"fmt"
	"io"
	"slices"
)

// level is how bad a finding is.
type level string

const (
	levelFault   level = "fault"   // a number can be given twice, or none at all is given
	levelWarning level = "warning" // it may come to that
	levelUnknown level = "unknown" // it could not be found out
	levelNote    level = "note"    // nothing is wrong, but good to know
	levelOK      level = "ok"
)

// levels are in the order in which a person reads them: what is worst stands last, next to the prompt.
var levels = [...]level{levelOK, levelNote, levelUnknown, levelWarning, levelFault}

// finding is what one check says about one server, or about all.
type finding struct {
	Check  string `json:"check"`            // a word that stays the same
	Server string `json:"server,omitempty"` // absent: about all, or about the only one, which has no name
	Level  level  `json:"level"`
	What   string `json:"what"`
	Why    string `json:"why,omitempty"` // it matters
	Do     string `json:"do,omitempty"`
}

func found(check string, l level, what string, values ...any) finding {
	return finding{Check: check, Level: l, What: fmt.Sprintf(what, values...)}
}

func (f finding) because(why string) finding {
	f.Why = why
	return f
}

func (f finding) remedy(do string, values ...any) finding {
	f.Do = fmt.Sprintf(do, values...)
	return f
}

// on is all with the server that they are about.
func on(server string, all []finding) []finding {
	for i := range all {
		all[i].Server = server
	}
	return all
}

// findings are what a command shows of its checks.
type findings struct {
	Findings []finding `json:"findings"`
	Faults   int       `json:"faults"`
	Warnings int       `json:"warnings"`
	Unknown  int       `json:"unknown"`
}

// aboutFindings is for the description of a command that shows them as JSON.
const aboutFindings = `findings [{check, server, level,
what, why, do}], where level is fault, warning, unknown, note or ok, and server, why and
do may be absent; faults, warnings and unknown, which count them.`

func judged(all []finding) findings {
	f := findings{Findings: append([]finding{}, all...)}
	for _, one := range all {
		switch one.Level {
		case levelFault:
			f.Faults++
		case levelWarning:
			f.Warnings++
		case levelUnknown:
			f.Unknown++
		case levelNote, levelOK:
		}
	}
	return f
}

// verdict is the error of a command whose checks found a fault.
func (f findings) verdict() error {
	if f.Faults == 0 {
		return nil
	}
	return &failure{code: exitFault, text: plural(f.Faults, "fault") + " found; what to do about each stands beside it"}
}

// print writes for a person at a terminal.
func (f findings) print(to io.Writer) error {
	w, width := bufio.NewWriter(to), widthFor(to)
	sorted := slices.SortedStableFunc(slices.Values(f.Findings), func(a, b finding) int {
		return slices.Index(levels[:], a.Level) - slices.Index(levels[:], b.Level)
	})
	for _, one := range sorted {
		what := one.What
		if one.Server != "" {
			what = one.Server + ": " + what
		}
		writeBehind(w, width, string(one.Level), what)
		if one.Why != "" {
			writeBehind(w, width, "", one.Why)
		}
		if one.Do != "" {
			writeBehind(w, width, "      →", one.Do)
		}
	}
	fmt.Fprintf(w, "\n%s, %s, %d unknown\n", plural(f.Faults, "fault"), plural(f.Warnings, "warning"), f.Unknown)
	return written(w.Flush())
}

// writeBehind writes text behind a margin.
func writeBehind(w *bufio.Writer, width int, head, text string) {
	const margin = 9
	w.WriteString(wrapText(fmt.Sprintf("%-*s%s", margin-1, head, " "+text), width, margin))
	w.WriteByte('\n')
}

func plural(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}
