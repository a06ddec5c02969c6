package cli

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"
)

// shape is a type as the JSON that it is encoded to. It is read from the code, since the types belong to the packages of the
// commands.
type shape struct {
	kind   string // object, list, map, string, boolean, number or integer
	null   bool   // it is a pointer
	of     *shape // elements of a list or map
	fields []jsonField
}

// jsonField is a field that encoding/json writes.
type jsonField struct {
	name     string
	of       shape
	comment  string // the trailing comment of the field
	optional bool
}

// goSource is the code from which shapes are read. It is a folder or a single text.
type goSource struct {
	types   map[string]ast.Expr
	imports map[string]string // folders, by the name of the package
}

// shapeOf returns the shape of a type such as []counters.listed.
func shapeOf(t *testing.T, name string) shape {
	t.Helper()
	expr, err := parser.ParseExpr(name)
	if err != nil {
		t.Fatal(err)
	}
	code := readSource(t, ".")
	folders, err := filepath.Glob("*")
	if err != nil {
		t.Fatal(err)
	}
	internal, err := filepath.Glob(filepath.Join("internal", "*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, folder := range append(folders, internal...) {
		code.imports[filepath.Base(folder)] = folder
	}
	return code.shape(t, expr)
}

func readSource(t *testing.T, folder string) goSource {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(folder, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	code := goSource{make(map[string]ast.Expr), make(map[string]string)}
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		code.parse(t, string(text))
	}
	return code
}

func (s goSource) parse(t *testing.T, text string) {
	t.Helper()
	const module = "github.com/hilo-id/hilo/"
	file, err := parser.ParseFile(token.NewFileSet(), "", text, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	for _, spec := range file.Imports {
		if folder, ok := strings.CutPrefix(strings.Trim(spec.Path.Value, `"`), module); ok {
			s.imports[path.Base(folder)] = filepath.Join("..", folder)
		}
	}
	ast.Inspect(file, func(node ast.Node) bool {
		if spec, ok := node.(*ast.TypeSpec); ok {
			s.types[spec.Name.Name] = spec.Type
		}
		return true
	})
}

func (s goSource) shape(t *testing.T, expr ast.Expr) shape {
	t.Helper()
	switch e := expr.(type) {
	case *ast.StarExpr:
		pointed := s.shape(t, e.X)
		pointed.null = true
		return pointed
	case *ast.ArrayType:
		of := s.shape(t, e.Elt)
		return shape{kind: "list", of: &of}
	case *ast.MapType:
		of := s.shape(t, e.Value)
		return shape{kind: "map", of: &of}
	case *ast.StructType:
		return s.object(t, e)
	case *ast.SelectorExpr:
		folder, ok := s.imports[e.X.(*ast.Ident).Name]
		if !ok {
			t.Fatalf("%s.%s is not of this module", e.X, e.Sel)
		}
		return readSource(t, folder).shape(t, e.Sel)
	case *ast.Ident:
		if kind, ok := map[string]string{
			"string": "string", "bool": "boolean", "float64": "number", "int": "integer", "int64": "integer",
		}[e.Name]; ok {
			return shape{kind: kind}
		}
		if named, ok := s.types[e.Name]; ok {
			return s.shape(t, named)
		}
		t.Fatalf("there is no type %s", e.Name)
	}
	t.Fatalf("%T is no type of a field in JSON", expr)
	return shape{}
}

// object returns the shape of a struct, with its fields in order and those of embedded structs.
func (s goSource) object(t *testing.T, e *ast.StructType) shape {
	t.Helper()
	all := shape{kind: "object"}
	for _, f := range e.Fields.List {
		if f.Names == nil {
			all.fields = append(all.fields, s.shape(t, f.Type).fields...)
			continue
		}
		tag := ""
		if f.Tag != nil {
			_, tag, _ = strings.Cut(strings.Trim(f.Tag.Value, "`"), `json:"`)
			tag, _, _ = strings.Cut(tag, `"`)
		}
		name, options, _ := strings.Cut(tag, ",")
		if name == "" {
			t.Fatalf("%s has no name in JSON", f.Names[0])
		}
		all.fields = append(all.fields, jsonField{name, s.shape(t, f.Type), strings.TrimSpace(f.Comment.Text()), strings.Contains(options, "omit")})
	}
	return all
}
