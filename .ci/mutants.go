//go:build ignore

// Command mutants is .ci/mutants: it changes one condition at a time in a copy of
// the repository, runs the tests that ought to notice, and lists what they did not.
package main

import (
	"bufio"
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"time"
)

// mutant is one change of one file.
type mutant struct {
	file     string // below the copy
	from, to int    // the bytes that are replaced
	by       string
	what     string
	packages []string // whose tests ought to notice, the quickest first
	same     string   // why it is no fault, so that no test can notice it; "": it is one
}

func main() {
	folder := flag.String("copy", "", "the copy of the repository to work on")
	list := flag.String("list", "", "the file that names conditions in Go")
	flag.Parse()
	mutants, err := collect(*folder, *list)
	if err != nil {
		fmt.Fprintln(os.Stderr, "mutants:", err)
		os.Exit(2)
	}
	tried, left := 0, 0
	for _, m := range mutants {
		if flag.NArg() > 0 && !slices.ContainsFunc(flag.Args(), func(which string) bool { return strings.HasPrefix(m.what, which) }) {
			continue
		}
		if m.same != "" {
			fmt.Printf("same     %s: %s\n", m.what, m.same)
			continue
		}
		tried++
		noticed, err := try(*folder, m)
		switch {
		case err != nil:
			fmt.Fprintln(os.Stderr, "mutants:", err)
			os.Exit(2)
		case !noticed:
			left++
			fmt.Printf("LEFT     %s\n", m.what)
		default:
			fmt.Printf("noticed  %s\n", m.what)
		}
	}
	fmt.Printf("%d mutants, %d left\n", tried, left)
	if left > 0 {
		os.Exit(1)
	}
}

func collect(folder, list string) ([]mutant, error) {
	files, err := filepath.Glob(filepath.Join(folder, "scripts", "*.lua"))
	if err != nil {
		return nil, err
	}
	var all []mutant
	for _, path := range files {
		text, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		all = append(all, ofLua("scripts/"+filepath.Base(path), string(text))...)
	}
	return ofList(folder, list, all)
}

// luaCondition finds what stands between if or elseif and then, over lines too.
var luaCondition = regexp.MustCompile(`(?s)\b(?:else)?if\b(.*?)\bthen\b`)

// ofLua makes three mutants of each condition, that it never holds, that it always
// does, and that it is turned round, and one of each of its parts without the others.
func ofLua(file, text string) []mutant {
	packages := []string{"./scripts", "./scripts/interleavings", "./allocator"}
	code := withoutComments(text)
	var all []mutant
	for _, at := range luaCondition.FindAllStringSubmatchIndex(code, -1) {
		condition := code[at[2]:at[3]]
		line := 1 + strings.Count(code[:at[2]], "\n")
		add := func(by, how string) {
			all = append(all, mutant{
				file: file, from: at[2], to: at[3], by: " " + by + strings.Repeat("\n", strings.Count(condition, "\n")-strings.Count(by, "\n")) + " ",
				what: fmt.Sprintf("%s:%d %s: %s", file, line, how, strings.Join(strings.Fields(condition), " ")), packages: packages,
			})
		}
		add("1 == 0", "never") // of a literal false miniredis may make a loop without end
		add("not ("+condition+")", "turned round")
		if parts := operands(condition); len(parts) > 1 {
			for i, part := range parts {
				// A part is out when it decides nothing: true beside "and", false beside "or".
				neutral := map[string]string{"and": "true", "or": "false"}[part.operator]
				rest := condition[:part.from] + " " + neutral + " " + condition[part.to:]
				add(rest, fmt.Sprintf("without part %d, %s", i+1, strings.TrimSpace(condition[part.from:part.to])))
			}
		}
	}
	return all
}

// withoutComments blanks comments, so that places stay.
func withoutComments(text string) string {
	return regexp.MustCompile(`--[^\n]*`).ReplaceAllStringFunc(text, func(c string) string { return strings.Repeat(" ", len(c)) })
}

// anyLine is where a mutant's name has its line.
var anyLine = regexp.MustCompile(`:\d+ `)

type operand struct {
	from, to int
	operator string // that joins it to its neighbours
}

// operands are the parts of a condition that and or or join at its top.
func operands(condition string) []operand {
	var all []operand
	depth, from, operator := 0, 0, ""
	for i := 0; i < len(condition); i++ {
		switch {
		case strings.ContainsRune("([{", rune(condition[i])):
			depth++
		case strings.ContainsRune(")]}", rune(condition[i])):
			depth--
		case depth == 0:
			for _, word := range []string{"and", "or"} {
				if strings.HasPrefix(condition[i:], " "+word+" ") || strings.HasPrefix(condition[i:], " "+word+"\n") {
					all = append(all, operand{from, i, word})
					i += len(word)
					from, operator = i+1, word
				}
			}
		}
	}
	return append(all, operand{from, len(condition), operator})
}

// ofList reads lines of four parts, between bars: file, packages, the text that
// stands there once, and what it is replaced by. A line of two parts is about one
// of the mutants of Lua: what it is called but for its line, and why it is no fault.
func ofList(folder, list string, all []mutant) ([]mutant, error) {
	file, err := os.Open(list)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	for lines := bufio.NewScanner(file); lines.Scan(); {
		line := lines.Text()
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		parts := strings.Split(line, " | ")
		if len(parts) == 2 {
			at := slices.IndexFunc(all, func(m mutant) bool { return anyLine.ReplaceAllString(m.what, " ") == parts[0] })
			if at < 0 {
				return nil, fmt.Errorf("%s: no mutant is called %q: bring the list up to date", list, parts[0])
			}
			all[at].same = parts[1]
			continue
		}
		if len(parts) != 4 {
			return nil, fmt.Errorf("%s: %q: want file | packages | text | replacement, or mutant | why it is none", list, line)
		}
		text, err := os.ReadFile(filepath.Join(folder, parts[0]))
		if err != nil {
			return nil, err
		}
		if n := strings.Count(string(text), parts[2]); n != 1 {
			return nil, fmt.Errorf("%s: %q stands %d times in %s, not once: bring the list up to date", list, parts[2], n, parts[0])
		}
		at := strings.Index(string(text), parts[2])
		all = append(all, mutant{
			file: parts[0], from: at, to: at + len(parts[2]), by: parts[3], packages: strings.Fields(parts[1]),
			what: fmt.Sprintf("%s:%d %s -> %s", parts[0], 1+strings.Count(string(text[:at]), "\n"), parts[2], parts[3]),
		})
	}
	return all, nil
}

// try reports whether a test fails on the mutant.
func try(folder string, m mutant) (noticed bool, err error) {
	path := filepath.Join(folder, m.file)
	text, err := os.ReadFile(path)
	if err != nil {
		return false, err
	}
	changed := string(text[:m.from]) + m.by + string(text[m.to:])
	if err := os.WriteFile(path, []byte(changed), 0o644); err != nil {
		return false, err
	}
	defer func() { err = errorsOf(err, os.WriteFile(path, text, 0o644)) }()
	for _, name := range m.packages {
		if fails(folder, name) {
			return true, nil
		}
	}
	return false, nil
}

func errorsOf(first, second error) error {
	if first != nil {
		return first
	}
	return second
}

// fails runs the tests of a package on what the environment names, until the first
// of them fails; a mutant that hangs is noticed.
func fails(folder, name string) bool {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	test := exec.CommandContext(ctx, "go", "test", "-v", "-count=1", "-timeout", "4m", "-skip", "^TestEachRuleIsNeeded$", name) // that one has copies of the text
	if name == "./scripts" {
		test.Args = append(test.Args, "-rapid.shrinktime=1ms") // the smallest history that fails is of no use here
	}
	test.Dir = folder
	test.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // so that what it started ends with it
	test.Cancel = func() error { return syscall.Kill(-test.Process.Pid, syscall.SIGKILL) }
	out, err := test.StdoutPipe()
	if err != nil {
		return false
	}
	if err := test.Start(); err != nil {
		return false
	}
	for lines := bufio.NewScanner(out); lines.Scan(); {
		if strings.HasPrefix(strings.TrimSpace(lines.Text()), "--- FAIL") {
			cancel()
		}
	}
	return test.Wait() != nil
}
