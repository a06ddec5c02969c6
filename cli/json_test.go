package cli

import (
	"encoding/json"
	"fmt"
	"go/ast"
	"io"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/hilo-id/hilo/cli/internal/clitest"
	"github.com/hilo-id/hilo/scripts/redistest"
)

// TestEveryCommandPrintsTheJSONOfTheReference runs all of them with --output json, except hilo demo: see TestDemoPrintsJSON.
func TestEveryCommandPrintsTheJSONOfTheReference(t *testing.T) {
	t.Parallel()
	for path, command := range everyCommand {
		if command.serverless && !command.slow {
			t.Run(path, func(t *testing.T) {
				t.Parallel()
				checkJSON(t, command, command.run(t, nil, "--output", "json"))
			})
		}
	}
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		for path, command := range everyCommand {
			if !command.serverless {
				t.Run(path, func(t *testing.T) {
					t.Parallel()
					namespace := strings.ReplaceAll(path, " ", "-")
					if !command.uninitialized {
						s.Initialize(namespace)
					}
					checkJSON(t, command, command.run(t, nil, "--output", "json", "--redis", s.URL(), "--namespace", namespace))
				})
			}
		}
	})
}

func checkJSON(t *testing.T, command tried, r clitest.Result) {
	t.Helper()
	if r.Code != command.code {
		t.Fatalf("exit %d, %q", r.Code, r.Stderr)
	}
	decoder := json.NewDecoder(strings.NewReader(r.Stdout))
	decoder.UseNumber()
	values := 0
	for ; ; values++ {
		var value any
		err := decoder.Decode(&value)
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatalf("%v: %q", err, r.Stdout)
		}
		for _, fault := range faults("the value", value, shapeOf(t, command.json)) {
			t.Errorf("%s, in %s", fault, r.Stdout)
		}
	}
	if values == 0 || values > 1 && !command.lines {
		t.Errorf("%d values: %q", values, r.Stdout)
	}
	if command.lines && strings.Count(r.Stdout, "\n") != values {
		t.Errorf("%d values, and not a line each: %q", values, r.Stdout)
	}
}

// faults returns the differences between a JSON value and the type that the reference shows.
func faults(what string, value any, is shape) []string {
	if is.null && value == nil {
		return nil
	}
	var found []string
	switch v := value.(type) {
	case map[string]any:
		if is.kind == "map" {
			for _, key := range slices.Sorted(maps.Keys(v)) {
				found = append(found, faults(what+"."+key, v[key], *is.of)...)
			}
			return found
		}
		if is.kind != "object" {
			break
		}
		for _, f := range is.fields {
			inner, ok := v[f.name]
			switch {
			case ok:
				found = append(found, faults(what+"."+f.name, inner, f.of)...)
			case !f.optional:
				found = append(found, what+" has no "+f.name)
			}
			delete(v, f.name)
		}
		for _, key := range slices.Sorted(maps.Keys(v)) {
			found = append(found, fmt.Sprintf("%s has %s, which the reference does not know", what, key))
		}
		return found
	case []any:
		if is.kind != "list" {
			break
		}
		if len(v) == 0 && what == "the value" {
			found = append(found, "the list is empty, so it shows nothing")
		}
		for i, inner := range v {
			found = append(found, faults(fmt.Sprintf("%s[%d]", what, i), inner, *is.of)...)
		}
		return found
	case string:
		if is.kind == "string" {
			return nil
		}
	case bool:
		if is.kind == "boolean" {
			return nil
		}
	case json.Number:
		if _, err := v.Int64(); is.kind == "number" || is.kind == "integer" && err == nil {
			return nil
		}
	}
	return append(found, fmt.Sprintf("%s is %v, not %s", what, value, is.kind))
}

func TestJSONCheckFindsDifferences(t *testing.T) {
	t.Parallel()
	const code = `package p
type inner struct {
	Name string ` + "`json:\"name\"`" + `
}
type whole struct {
	inner
	N    int64   ` + "`json:\"n\"`" + `
	F    float64 ` + "`json:\"f\"`" + `
	On   bool    ` + "`json:\"on,omitempty\"`" + `
	List []inner ` + "`json:\"list\"`" + `
	May  *inner  ` + "`json:\"may,omitempty\"`" + `
}`
	read := goSource{make(map[string]ast.Expr), make(map[string]string)}
	read.parse(t, code)
	whole := read.shape(t, read.types["whole"])
	const right = `{"name": "a", "n": 1, "f": 1.5, "list": [{"name": "b"}]}`
	tests := []struct {
		name, value string
		want        int
	}{
		{"as it should be", right, 0},
		{"with all that may be missing", strings.Replace(right, "{", `{"on": true, "may": {"name": "c"}, `, 1), 0},
		{"one more", strings.Replace(right, "{", `{"more": 1, `, 1), 1},
		{"one missing", strings.Replace(right, `"n": 1, `, "", 1), 1},
		{"of another type", strings.Replace(right, `"n": 1`, `"n": "1"`, 1), 1},
		{"a fraction for an integer", strings.Replace(right, `"n": 1`, `"n": 1.5`, 1), 1},
		{"null for a list", strings.Replace(right, `[{"name": "b"}]`, "null", 1), 1},
		{"one missing within", strings.Replace(right, `{"name": "b"}`, "{}", 1), 1},
		{"a list", "[]", 1},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			decoder := json.NewDecoder(strings.NewReader(test.value))
			decoder.UseNumber()
			var value any
			if err := decoder.Decode(&value); err != nil {
				t.Fatal(err)
			}
			if got := faults("it", value, whole); len(got) != test.want {
				t.Errorf("%q", got)
			}
		})
	}
}
