package main

import (
	"os"
	"strings"
	"testing"
)

func TestOutputOfGoTestBecomesTables(t *testing.T) {
	t.Parallel()
	in, err := os.Open("testdata/bench.txt")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = in.Close() }()
	var out strings.Builder
	if err := run(in, &out); err != nil {
		t.Fatal(err)
	}
	_, got, _ := strings.Cut(out.String(), "\n") // the first line has the version of Go
	want, err := os.ReadFile("testdata/bench.md")
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("the tables are:\n%s\nwant testdata/bench.md:\n%s", got, want)
	}
}

func TestOutputThatShowsNoWholeRunIsRefused(t *testing.T) {
	t.Parallel()
	const line = "BenchmarkNumber/INCR/alone 100 25647 ns/op\n"
	tests := []struct {
		name, in, want string
	}{
		{"nothing", "", "no benchmark"},
		{"no benchmarks", "PASS\nok  	x	1s\n", "no benchmark"},
		{"failed", line + "--- FAIL: BenchmarkText\n", "failed"},
		{"panicked", line + "panic: runtime error\n", "failed"},
		{"no number", "BenchmarkNumber/INCR/alone 100 fast ns/op\n", "fast"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			var out strings.Builder
			err := run(strings.NewReader(test.in), &out)
			if err == nil || !strings.Contains(err.Error(), test.want) || out.Len() > 0 {
				t.Errorf("wrote %q with error %v, want nothing and an error with %q", out.String(), err, test.want)
			}
		})
	}
}

func TestNumbersAreWrittenPlainly(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name  string
		value float64
		ok    bool
		want  string
	}{
		{"none", 1, false, "–"},
		{"whole", 2, true, "2"},
		{"zero", 0, true, "0"},
		{"small", 1.349, true, "1.35"},
		{"tens", 12.34, true, "12.3"},
		{"large", 181099180.4, true, "181099180"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			if got := cell(test.value, test.ok); got != test.want {
				t.Errorf("%v is written %q, want %q", test.value, got, test.want)
			}
		})
	}
}
