package counters

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/hilo-id/hilo/allocator/admin"
	"github.com/hilo-id/hilo/cli/internal/exit"
	"github.com/hilo-id/hilo/prefix"
)

// planRow is a counter in a line of a file.
type planRow struct {
	Line int
	admin.State
}

// jsonLines returns the lines that are not blank, with their numbers.
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

// unmarshal reads one JSON object with the fields of into, each at most once, and no others.
func unmarshal(text []byte, into any) error {
	if !utf8.Valid(text) {
		return errors.New("is not valid UTF-8")
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	err := decoder.Decode(into)
	if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok && wrong.Field != "" {
		return fmt.Errorf("is no JSON object of this kind: %s is of a wrong type, %s", wrong.Field, wrong.Value)
	} else if ok {
		return fmt.Errorf("is no JSON object on a line of its own, but of type %s", wrong.Value)
	} else if err != nil {
		return fmt.Errorf("is no JSON object of this kind: %s", strings.TrimPrefix(err.Error(), "json: "))
	}
	if _, err := decoder.Token(); err != io.EOF {
		return errors.New("holds more than one JSON object")
	}
	seen := make(map[string]bool) // Decode takes the last of two, and any letter case
	decoder = json.NewDecoder(bytes.NewReader(text))
	_, _ = decoder.Token() // the brace; the text was decoded once, so there are no more errors
	for decoder.More() {
		token, _ := decoder.Token()
		name := prefix.Fold(token.(string))
		if seen[name] {
			return fmt.Errorf("holds %q twice", name)
		}
		seen[name] = true
		_ = decoder.Decode(new(json.RawMessage))
	}
	return nil
}

// Validate checks the name. The server checks the rest.
func (r planRow) Validate(separator string) error {
	if r.Kind == admin.KindServerSide && r.Name == "" {
		return nil
	}
	return prefix.ValidateCollection(r.Name, separator)
}

// Key returns kind and name of the counter, as a key for maps. It ignores a name of the server-side counter.
func (r planRow) Key() string {
	if r.Kind == admin.KindServerSide {
		return string(r.Kind)
	}
	return string(r.Kind) + " " + prefix.Fold(r.Name)
}

// parseKind parses the kind of a counter. The empty text means hilo.
func parseKind(text string) (admin.Kind, error) {
	kind := cmp.Or(admin.Kind(text), admin.KindHiLo)
	if !slices.Contains([]admin.Kind{admin.KindHiLo, admin.KindIdentity, admin.KindServerSide}, kind) {
		return "", fmt.Errorf("kind is %.64q: must be hilo, identity or server-side", text)
	}
	return kind, nil
}

// badLines collects the errors in the lines of a file.
type badLines struct {
	File string
	Code int // least exit code
	rows []badRow
}

type badRow struct {
	line int // 0 means none
	text string
}

// Add adds the error of a line, if there is one. The greatest exit code of all errors counts.
func (b *badLines) Add(line int, err error) {
	if err == nil {
		return
	}
	text := exit.Sentence(err)
	if line > 0 {
		text = fmt.Sprintf("line %d: %s", line, text)
	}
	b.rows = append(b.rows, badRow{line, text})
	b.Code = max(b.Code, exit.Code(err))
}

// Failure returns an error with the first ten, or nil if there is none.
func (b *badLines) Failure() error {
	const most = 10
	if len(b.rows) == 0 {
		return nil
	}
	slices.SortStableFunc(b.rows, func(x, y badRow) int { return cmp.Compare(x.line, y.line) })
	var texts []string
	for _, r := range b.rows[:min(most, len(b.rows))] {
		texts = append(texts, r.text)
	}
	if more := len(b.rows) - most; more > 0 {
		texts = append(texts, fmt.Sprintf("and %d more", more))
	}
	return &exit.Error{Code: b.Code, Text: fmt.Sprintf("%s: nothing was written: %s", b.File, strings.Join(texts, "; "))}
}
