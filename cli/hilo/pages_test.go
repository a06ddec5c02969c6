package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"
)

// What a reader can take in at once. What costs a reader is words and paragraphs, so README has a limit of words, too.
const (
	maxParagraphWords = 60
	maxCellWords      = 30
	maxReadmeWords    = 1300
)

// maxLines are the lines of the pages that have a limit. The other pages grow, or are generated.
var maxLines = map[string]int{
	"README.md":                     150,
	"allocator/GUARANTEES.md":       200,
	"allocator/doc.go":              56, // with the package clause
	"allocator/faults/README.md":    97,
	"allocator/gateway/RAVENDB.md":  80,
	"allocator/gateway/README.md":   70,
	"allocator/metrics/README.md":   90,
	"allocator/peerbench/README.md": 130,
	"allocator/recipes/README.md":   330,
	"cli/MOVING.md":                 100,
	"cli/README.md":                 120,
	"docker/FLEET.md":               120,
	"docker/README.md":              150,
	"docker/SERVERS.md":             90,
}

// notYetHeld are pages that do not keep the limits yet. A page that keeps them has to leave the list.
var notYetHeld []string

func TestAllPagesKeepTheirLimits(t *testing.T) {
	t.Parallel()
	all := pages(t)
	for page := range maxLines {
		if !slices.Contains(all, page) {
			all = append(all, page)
		}
	}
	for _, page := range all {
		faults := pageFaults(page)
		switch held := !slices.Contains(notYetHeld, page); {
		case held:
			for _, fault := range faults {
				t.Errorf("%s: %s", page, fault)
			}
		case len(faults) == 0:
			t.Errorf("%s keeps its limits: remove it from notYetHeld", page)
		}
	}
}

// pageFaults returns a message for each limit that a page of the repository exceeds.
func pageFaults(page string) []string {
	text, err := os.ReadFile(filepath.Join(root, page))
	if err != nil {
		return []string{err.Error()}
	}
	lines := strings.Split(strings.TrimRight(string(text), "\n"), "\n")
	if strings.HasSuffix(page, ".go") {
		clause := slices.IndexFunc(lines, func(line string) bool { return strings.HasPrefix(line, "package ") })
		lines = lines[:clause+1]
	}
	var faults []string
	if limit := maxLines[page]; limit > 0 && len(lines) > limit {
		faults = append(faults, fmt.Sprintf("got %d lines, want at most %d", len(lines), limit))
	}
	if n := len(strings.Fields(string(text))); page == "README.md" && n > maxReadmeWords {
		faults = append(faults, fmt.Sprintf("got %d words, want at most %d", n, maxReadmeWords))
	}
	if strings.HasSuffix(page, ".md") {
		faults = append(faults, denseParts(string(text))...)
	}
	return faults
}

func TestDenseParagraphsAndCellsAreFound(t *testing.T) {
	t.Parallel()
	words := func(n int) string { return strings.TrimSpace(strings.Repeat("word ", n)) }
	for _, tt := range []struct {
		name, text string
		dense      bool
	}{
		{name: "paragraph at the limit", text: words(30) + "\n" + words(30)},
		{name: "paragraph above the limit", text: words(30) + "\n" + words(31), dense: true},
		{name: "two paragraphs", text: words(60) + "\n\n" + words(60)},
		{name: "paragraph under a heading", text: "# " + words(40) + "\n" + words(60)},
		{name: "items of a list", text: "- " + words(60) + "\n- " + words(60) + "\n1. " + words(60)},
		{name: "item above the limit", text: "- " + words(40) + "\n  " + words(21), dense: true},
		{name: "links count by their text", text: words(59) + " [word](a/long/address.md#of-it)"},
		{name: "addresses of links", text: words(60) + "\n[a b]: https://example.com/a\n[c]: https://example.com/c"},
		{name: "signs are no words", text: words(60) + " · — …"},
		{name: "code", text: "```sh\n" + words(61) + "\n```"},
		{name: "paragraph after code", text: "```sh\n```\n" + words(61), dense: true},
		{name: "row of cells at the limit", text: "| a | b |\n|---|---|\n| " + words(30) + " | " + words(30) + " |"},
		{name: "cell above the limit", text: "| a | b |\n|---|---|\n| " + words(31) + " | word |", dense: true},
		{name: "escaped bar in a cell", text: "| " + words(20) + ` \| ` + words(11) + " | word |", dense: true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := denseParts(tt.text); (len(got) > 0) != tt.dense {
				t.Errorf("got %q, want some: %t", got, tt.dense)
			}
		})
	}
}

// A reader who updates looks for what has to be done, first and in a few lines.
func TestEachReleaseBeginsWithWhatYouMustDo(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join(root, "CHANGELOG.md"))
	if err != nil {
		t.Fatal(err)
	}
	releases := strings.Split(string(text), "\n## ")[1:]
	if len(releases) < 2 {
		t.Fatalf("got %d releases, want some", len(releases))
	}
	for _, release := range releases {
		name, rest, _ := strings.Cut(release, "\n")
		must, found := strings.CutPrefix(strings.TrimSpace(rest), "### You must\n")
		must, _, _ = strings.Cut(must, "\n### ")
		if lines := strings.Count(strings.TrimSpace(must), "\n") + 1; !found || lines > 8 {
			t.Errorf("%s: got %d lines under You must (there: %t), want it first and at most 8", name, lines, found)
		}
	}
}

var (
	itemPattern   = regexp.MustCompile(`^\s*([-*+]|\d+\.)\s+`)
	targetPattern = regexp.MustCompile(`\]\([^()\s]*\)|<[^>]*>`)
	cellPattern   = regexp.MustCompile(`(?:[^|\\]|\\.)+`)
	// definitionPattern is the line that has the address of a link [such as this].
	definitionPattern = regexp.MustCompile(`(?m)^\[[^\]]+\]:\s+(\S+)`)
)

// denseParts returns a message for each paragraph, item of a list and cell of a table in Markdown that has too many words.
func denseParts(text string) []string {
	var faults []string
	report := func(part, content string, limit int) {
		words := strings.Fields(targetPattern.ReplaceAllString(content, "]"))
		words = slices.DeleteFunc(words, func(word string) bool {
			return !strings.ContainsFunc(word, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) })
		})
		if len(words) > limit {
			faults = append(faults, fmt.Sprintf("got a %s of %d words, want at most %d: %s …", part, len(words), limit, strings.Join(words[:8], " ")))
		}
	}
	var paragraph []string
	end := func() {
		report("paragraph", strings.Join(paragraph, " "), maxParagraphWords)
		paragraph = nil
	}
	for line := range strings.Lines(withoutCode(text)) {
		line = strings.TrimSpace(line)
		switch {
		case line == "" || strings.HasPrefix(line, "#") || definitionPattern.MatchString(line):
			end()
		case strings.HasPrefix(line, "|"):
			end()
			for _, cell := range cellPattern.FindAllString(line, -1) {
				report("cell", cell, maxCellWords)
			}
		case itemPattern.MatchString(line):
			end()
			paragraph = []string{itemPattern.ReplaceAllString(line, "")}
		default:
			paragraph = append(paragraph, line)
		}
	}
	end()
	return faults
}

// withoutCode returns a page in which an empty line stands for each block of code.
func withoutCode(text string) string {
	return regexp.MustCompile("(?ms)^ *```.*?\n *```").ReplaceAllString(text, "\n")
}
