package main

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"
)

const root = "../.."

func TestAllLinksOfAllPagesResolve(t *testing.T) {
	t.Parallel()
	pages := pages(t)
	if len(pages) < 8 || !slices.Contains(pages, "README.md") || !slices.Contains(pages, ".github/CONTRIBUTING.md") {
		t.Fatalf("only %q", pages)
	}
	for _, page := range pages {
		for _, fault := range brokenLinks(os.DirFS(root), page) {
			t.Errorf("%s: %s", page, fault)
		}
	}
}

func TestBrokenLinksAreFound(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write := func(name, text string) {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("a/there.md", "# There is `x`\n## Twice\n## Twice\n```sh\n# no heading\n```\n")
	for link, broken := range map[string]bool{
		"there.md":                 false,
		"there.md#there-is-x":      false,
		"there.md#twice":           false,
		"there.md#twice-1":         false,
		"../a":                     false,
		"#a-b--c":                  false, // a sign between two spaces goes, and both spaces stay
		"https://example.com/none": false,
		"elsewhere.md":             true,
		"there.md#twice-2":         true,
		"there.md#no-heading":      true,
		"#nowhere":                 true,
		"../../outside":            true,
		"/a/there.md":              true,
	} {
		write("a/page.md", "## A, B & `c`!\n\n```sh\n[in code](none)\n```\nsee `[in code](none)` and [this]("+link+")\n")
		faults := brokenLinks(os.DirFS(dir), "a/page.md")
		if (len(faults) > 0) != broken {
			t.Errorf("%s: %q", link, faults)
		}
		write("a/page.md", "## A, B & `c`!\n\nsee [this]\n\n[this]: "+link+"\n")
		if faults := brokenLinks(os.DirFS(dir), "a/page.md"); (len(faults) > 0) != broken {
			t.Errorf("%s, apart: %q", link, faults)
		}
	}
}

// The README has Go code on its first page.
func TestReadmeBeginsWithCode(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join(root, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimRight(string(text), "\n"), "\n")
	if code := slices.Index(lines, "```go"); code < 0 || code > 40 {
		t.Errorf("got code in line %d, want it among the first 40", code+1)
	}
}

// pages returns all Markdown files of the repository, including those of nested modules.
func pages(t *testing.T) []string {
	t.Helper()
	var found []string
	err := fs.WalkDir(os.DirFS(root), ".", func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && (entry.Name() == ".git" || entry.Name() == "testdata"):
			return fs.SkipDir
		case strings.HasSuffix(path, ".md"):
			found = append(found, path)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

var (
	linkPattern = regexp.MustCompile(`\]\(([^()\s]+)\)`)
	codePattern = regexp.MustCompile("`[^`]*`")
)

// brokenLinks returns a message for each link of a page that leads to no file or heading of the repository.
func brokenLinks(repository fs.FS, page string) []string {
	text, err := fs.ReadFile(repository, page)
	if err != nil {
		return []string{err.Error()}
	}
	var faults []string
	content := codePattern.ReplaceAllString(prose(string(text)), "x")
	for _, match := range slices.Concat(linkPattern.FindAllStringSubmatch(content, -1), definitionPattern.FindAllStringSubmatch(content, -1)) {
		link := match[1]
		if strings.Contains(link, "://") || strings.HasPrefix(link, "mailto:") {
			continue
		}
		file, anchor, hasAnchor := strings.Cut(link, "#")
		target := page
		if file != "" {
			target = filepath.Join(filepath.Dir(page), file)
		}
		if strings.HasPrefix(file, "/") || !fs.ValidPath(target) {
			faults = append(faults, link+" leads out of the repository")
			continue
		}
		if _, err := fs.Stat(repository, target); err != nil {
			faults = append(faults, fmt.Sprintf("%s: %v", link, err))
			continue
		}
		if !hasAnchor {
			continue
		}
		destination, err := fs.ReadFile(repository, target)
		if err != nil || !slices.Contains(anchors(string(destination)), anchor) {
			faults = append(faults, link+": no such heading")
		}
	}
	return faults
}

// prose returns a page without its blocks of code.
func prose(text string) string {
	var kept strings.Builder
	fenced := false
	for line := range strings.Lines(text) {
		if strings.HasPrefix(strings.TrimSpace(line), "```") {
			fenced = !fenced
		} else if !fenced {
			kept.WriteString(line)
		}
	}
	return kept.String()
}

// anchors returns the anchors that GitHub makes of the headings of a page. They are in lower case, with hyphens for spaces and
// without other signs, and a repeated one ends in a number.
func anchors(text string) []string {
	var found []string
	seen := make(map[string]int)
	for line := range strings.Lines(prose(text)) {
		heading := strings.TrimLeft(line, "#")
		if heading == line || !strings.HasPrefix(heading, " ") {
			continue
		}
		anchor := strings.Map(func(r rune) rune {
			switch {
			case r == ' ':
				return '-'
			case r == '-', r == '_', unicode.IsLetter(r), unicode.IsDigit(r):
				return unicode.ToLower(r)
			}
			return -1
		}, strings.TrimSpace(heading))
		if n := seen[anchor]; n > 0 {
			found = append(found, fmt.Sprintf("%s-%d", anchor, n))
		} else {
			found = append(found, anchor)
		}
		seen[anchor]++
	}
	return found
}
