package cli

import (
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/urfave/cli/v2"
)

const referenceFile = "REFERENCE.md"

var update = flag.Bool("update", false, "write "+referenceFile+" anew")

// TestReferenceIsCurrent: what is written of each command is what it says of itself.
func TestReferenceIsCurrent(t *testing.T) {
	t.Parallel()
	want := reference(t)
	if *update {
		if err := os.WriteFile(referenceFile, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(referenceFile)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != want {
		t.Errorf("%s is not current: go generate ./cli writes it anew", referenceFile)
	}
}

func reference(t *testing.T) string {
	t.Helper()
	comments := fieldComments(t)
	var b strings.Builder
	b.WriteString("# hilo: every command\n\nMade from the code by `go generate ./cli`; a test checks that it is current.\n\n")
	b.WriteString("JSON is what `--output json` prints on stdout: one value, unless it says otherwise. A field with `?` may be " +
		"missing. Fields may be added; none is renamed or removed.\n")
	var titles, texts []string
	eachLeaf(New(Env{}).Commands, "", func(path string, _ *cli.Command) {
		titles = append(titles, fmt.Sprintf("[%s](#hilo-%s)", path, strings.ReplaceAll(path, " ", "-")))
		help := must(t, append(strings.Fields(path), "--help")...)
		help = strings.TrimSuffix(strings.TrimSpace(help), "The global flags (hilo --help) may stand here too.")
		text := fmt.Sprintf("## hilo %s\n\n```text\n%s\n```\n", path, strings.TrimSpace(help))
		command := everyCommand[path]
		if command.json == nil {
			t.Fatalf("hilo %s is not in everyCommand, in commands_test.go", path)
		}
		text += "\nJSON"
		if command.lines {
			text += ", a value a line"
		}
		if command.note != "" {
			text += ", " + command.note
		}
		texts = append(texts, text+":\n\n```text\n"+shapeText(reflect.TypeOf(command.json), comments, "")+"\n```\n")
	})
	fmt.Fprintf(&b, "\n%s\n\n## hilo\n\n```text\n%s\n```\n\n%s", strings.Join(titles, " · "), strings.TrimSpace(must(t)), strings.Join(texts, "\n"))
	return b.String()
}

// jsonField is one that encoding/json writes.
type jsonField struct {
	name     string
	of       reflect.Type
	in       string // the type that it is declared in
	optional bool
}

// jsonFields are those of a struct, in order, with those of embedded ones.
func jsonFields(shape reflect.Type) []jsonField {
	var all []jsonField
	for f := range shape.Fields() {
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case name == "-":
		case f.Anonymous && name == "":
			all = append(all, jsonFields(f.Type)...)
		case name == "":
			panic("bug: " + shape.Name() + "." + f.Name + " has no name in JSON")
		default:
			all = append(all, jsonField{name, f.Type, shape.Name() + "." + f.Name, strings.Contains(options, "omit")})
		}
	}
	return all
}

// shapeText shows a type as the JSON that it becomes, with what the code says of each field.
func shapeText(shape reflect.Type, comments map[string]string, indent string) string {
	switch shape.Kind() {
	case reflect.Pointer:
		return shapeText(shape.Elem(), comments, indent)
	case reflect.Slice:
		return "[" + shapeText(shape.Elem(), comments, indent) + ", …]"
	case reflect.Map:
		return "{NAME: " + shapeText(shape.Elem(), comments, indent) + ", …}"
	case reflect.Struct:
		var b strings.Builder
		b.WriteString("{\n")
		for _, f := range jsonFields(shape) {
			name := f.name
			if f.optional {
				name += "?"
			}
			comment := comments[f.in]
			if comment != "" {
				comment = "  // " + comment
			}
			text := shapeText(f.of, comments, indent+"  ")
			if first, rest, ok := strings.Cut(text, "\n"); ok {
				text, comment = first+comment+"\n"+rest, ""
			}
			fmt.Fprintf(&b, "%s  %s: %s%s\n", indent, name, text, comment)
		}
		return b.String() + indent + "}"
	default:
		return typeName(shape)
	}
}

// typeName is how JSON calls a type.
func typeName(shape reflect.Type) string {
	switch shape.Kind() {
	case reflect.String:
		return "string"
	case reflect.Bool:
		return "boolean"
	case reflect.Float64:
		return "number"
	case reflect.Int, reflect.Int32, reflect.Int64, reflect.Uint64:
		return "integer"
	case reflect.Slice:
		return "list"
	case reflect.Pointer:
		return typeName(shape.Elem())
	default:
		return "object"
	}
}

// fieldComments are what the package's code says behind the fields of its structs, by Type.Field.
func fieldComments(t *testing.T) map[string]string {
	t.Helper()
	files, err := fs.Glob(os.DirFS("."), "*.go")
	if err != nil {
		t.Fatal(err)
	}
	comments := make(map[string]string)
	for _, name := range slices.DeleteFunc(files, func(name string) bool { return strings.HasSuffix(name, "_test.go") }) {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(node ast.Node) bool {
			spec, ok := node.(*ast.TypeSpec)
			if !ok {
				return true
			}
			shape, ok := spec.Type.(*ast.StructType)
			if !ok {
				return false
			}
			for _, f := range shape.Fields.List {
				for _, field := range f.Names {
					comments[spec.Name.Name+"."+field.Name] = strings.TrimSpace(f.Comment.Text())
				}
			}
			return false
		})
	}
	return comments
}
