package base

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hilo-id/hilo/cli/internal/target"
)

// The upper bounds of flags and arguments.
const (
	MostWorkers     = 10_000
	MostCollections = 100_000
	MostRate        = 1_000_000_000
)

// Value is the value of a cli.GenericFlag. It implements cli.Generic: Set refuses a text that breaks the rule of the flag.
type Value struct {
	Choices []string // the allowed texts, nil for others

	text  string
	check func(text string) error
}

// Set stores a text. Its error continues a sentence that begins with the flag and "is".
func (v *Value) Set(text string) error {
	if text == "" && !slices.Contains(v.Choices, "") {
		return errors.New("empty: give it a value, or remove it")
	}
	err := v.check(text)
	if err == nil {
		v.text = text
	}
	return err
}

// String returns the text, or the default if none was set.
func (v *Value) String() string { return v.text }

// Or allows one more word.
func (v *Value) Or(word string) *Value {
	check := v.check
	v.check = func(text string) error {
		err := check(text)
		if err != nil && text != word {
			return fmt.Errorf("%w, or %s", err, word)
		}
		return nil
	}
	return v
}

// Text returns a value that may be any text but the empty one. standard is the default, or "" for none, here and below.
func Text(standard string) *Value {
	return &Value{text: standard, check: func(string) error { return nil }}
}

// Number returns a value that is a whole number from low to high.
func Number(standard string, low, high int64) *Value {
	return &Value{text: standard, check: func(text string) error {
		number, err := strconv.ParseInt(text, 10, 64) // the nearest int64 if out of range
		switch {
		case err != nil && !errors.Is(err, strconv.ErrRange):
			return fmt.Errorf("%q: must be a whole number, %d or more", text, low)
		case number < low:
			return fmt.Errorf("%s: must be %d or more", text, low)
		case number > high || err != nil:
			return fmt.Errorf("%s: must be at most %d", text, high)
		}
		return nil
	}}
}

// Count returns a value that is a whole number of low or more.
func Count(standard string, low int64) *Value { return Number(standard, low, math.MaxInt64) }

// Duration returns a value that is a duration of more than 0, and of low or more.
func Duration(standard string, low time.Duration) *Value {
	return &Value{text: standard, check: func(text string) error {
		d, err := time.ParseDuration(text)
		switch {
		case err != nil:
			return fmt.Errorf("%q: must be a duration such as 5s or 500ms", text)
		case d <= 0:
			return fmt.Errorf("%s: must be more than 0", text)
		case d < low:
			return fmt.Errorf("%s: must be %s or more", text, low)
		}
		return nil
	}}
}

// Delay returns a value that is a duration of 0 or more.
func Delay(standard string) *Value {
	return &Value{text: standard, check: func(text string) error {
		if d, err := time.ParseDuration(text); err != nil || d < 0 {
			return fmt.Errorf("%q: must be a duration such as 5s or 500ms, or 0s", text)
		}
		return nil
	}}
}

// Choice returns a value that is one of a few words, one of which may be empty. Help lists them, and shells complete them.
func Choice(standard string, words ...string) *Value {
	return &Value{text: standard, Choices: words, check: func(text string) error {
		if !slices.Contains(words, text) {
			return fmt.Errorf("%q: must be %s", text, anyOf(words))
		}
		return nil
	}}
}

// Address returns a value that is an address to listen on: a host, which may be empty, and a port, where 0 means a free one.
func Address(standard string) *Value {
	return &Value{text: standard, check: func(text string) error {
		switch _, port, err := net.SplitHostPort(text); {
		case err != nil:
			return fmt.Errorf("%q: must be HOST:PORT or :PORT, such as 127.0.0.1:8080", text)
		case port != "0" && !target.IsPort(port):
			return fmt.Errorf("%q: the port must be a number from 0 to 65535, where 0 picks a free one", text)
		}
		return nil
	}}
}

// anyOf returns a list of the words, with "or" before the last.
func anyOf(words []string) string {
	last := len(words) - 1
	return strings.Join(words[:last], ", ") + " or " + cmp.Or(words[last], "empty")
}
