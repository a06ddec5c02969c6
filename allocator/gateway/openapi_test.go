package gateway_test

import (
	"encoding/json"
	"fmt"
	"math/big"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/hilo-id/hilo/allocator"
	"github.com/hilo-id/hilo/allocator/gateway"
	"github.com/hilo-id/hilo/scripts/redistest"
)

type object = map[string]any

// description is the content of openapi.json as it is served.
type description struct {
	t    testing.TB
	root object
}

func (d description) at(path ...string) any {
	var at any = d.root
	for _, step := range path {
		o, _ := at.(object)
		at = d.deref(o[step])
	}
	return at
}

// deref follows a reference within the description.
func (d description) deref(value any) any {
	o, ok := value.(object)
	if !ok {
		return value
	}
	ref, ok := o["$ref"].(string)
	if !ok {
		return value
	}
	found := d.at(strings.Split(strings.TrimPrefix(ref, "#/"), "/")...)
	if found == nil {
		d.t.Fatalf("got no value at %s, want one", ref)
	}
	return found
}

// fits returns an error if a value does not fit a schema. It supports the part of JSON Schema that the description uses, and
// fails on any other keyword.
func (d description) fits(schema, value any, where string) error {
	s, _ := d.deref(schema).(object)
	for keyword, rule := range s {
		var ok bool
		switch keyword {
		case "description", "default", "properties", "required", "items", "additionalProperties":
			ok = true
		case "type":
			ok = isOf(value, rule.(string))
		case "enum":
			ok = slices.Contains(rule.([]any), value)
		case "minimum", "maximum":
			n, _ := new(big.Float).SetString(string(value.(json.Number)))
			bound, _ := new(big.Float).SetString(string(rule.(json.Number)))
			ok = n.Cmp(bound) != map[string]int{"minimum": -1, "maximum": 1}[keyword]
		case "minItems":
			ok = json.Number(fmt.Sprint(len(value.([]any)))) >= rule.(json.Number)
		case "maxItems":
			ok = len(value.([]any)) <= 10_000
		default:
			return fmt.Errorf("%s: got keyword %s, want one that the test supports", where, keyword)
		}
		if !ok {
			return fmt.Errorf("%s: got %v, want %s %v", where, value, keyword, rule)
		}
	}
	if list, ok := value.([]any); ok {
		for i, item := range list {
			if err := d.fits(s["items"], item, fmt.Sprintf("%s[%d]", where, i)); err != nil {
				return err
			}
		}
	}
	o, ok := value.(object)
	properties, described := s["properties"].(object)
	if !ok || !described {
		return nil
	}
	for _, name := range s["required"].([]any) {
		if _, ok := o[name.(string)]; !ok {
			return fmt.Errorf("%s: got no %s, want it, because it is required", where, name)
		}
	}
	for name, part := range o {
		property, ok := properties[name]
		if !ok {
			return fmt.Errorf("%s: got %s, want only members that are described", where, name)
		}
		if err := d.fits(property, part, where+"."+name); err != nil {
			return err
		}
	}
	return nil
}

func isOf(value any, kind string) bool {
	switch v := value.(type) {
	case object:
		return kind == "object"
	case []any:
		return kind == "array"
	case string:
		return kind == "string"
	case json.Number:
		return kind == "number" || kind == "integer" && !strings.ContainsAny(string(v), ".eE")
	}
	return false
}

func exactly(t testing.TB, text string) (value any) {
	t.Helper()
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.UseNumber()
	if err := decoder.Decode(&value); err != nil {
		t.Fatalf("got %s, %v, want JSON", text, err)
	}
	return value
}

// checkAnswer compares an answer with the description of its operation.
func (d description) checkAnswer(path, method, target string, a answer) {
	d.t.Helper()
	operation := d.at("paths", path, strings.ToLower(method))
	if operation == nil {
		d.t.Errorf("got no description of %s %s, want one", method, path)
		return
	}
	response, _ := d.at("paths", path, strings.ToLower(method), "responses", fmt.Sprint(a.status)).(object)
	if response == nil {
		d.t.Errorf("%s %s: got %d %s, want a status that is described", method, target, a.status, a.body)
		return
	}
	kind, _, _ := strings.Cut(a.header.Get("Content-Type"), ";")
	content, _ := response["content"].(object)[kind].(object)
	if content == nil {
		d.t.Errorf("%s %s: %d: got content type %q, want one that is described", method, target, a.status, kind)
		return
	}
	if !strings.HasSuffix(kind, "json") {
		return
	}
	if err := d.fits(content["schema"], exactly(d.t, a.body), "answer"); err != nil {
		d.t.Errorf("%s %s: %d: got %s, want it as described: %v", method, target, a.status, a.body, err)
	}
}

func TestOpenAPIDescribesTheAnswers(t *testing.T) {
	t.Parallel()
	const token = "0123456789abcdef"
	d := open(t, redistest.StartMini(t), func(o *allocator.Options, g *gateway.Options) {
		o.Limit = 50
		g.MaxNames = 3
		g.Tokens, g.Version = []string{token}, `1.2"3`
	})
	d.set("{Raven}/HiLo/broken", "Max", "x")
	said := description{t, exactly(t, d.get("/v1/openapi.json").body).(object)}
	if said.at("openapi") != "3.1.0" || said.at("info", "version") != `1.2"3` {
		t.Errorf("got OpenAPI %v, info %v, want 3.1.0, version %q", said.at("openapi"), said.at("info"), `1.2"3`)
	}
	signedIn := func(r *http.Request) { r.Header.Set("Authorization", "Bearer "+token) }
	for _, tt := range []struct {
		path, method, target string
		status               int
	}{
		{"/v1/ids/{collection}", "POST", "/v1/ids/orders", 200},
		{"/v1/ids/{collection}", "POST", "/v1/ids/orders?count=7", 200},
		{"/v1/ids/{collection}", "POST", "/v1/ids/orders?count=x", 400},
		{"/v1/ids/{collection}", "POST", "/v1/ids/orders?count=" + strings.Repeat("1", 9000), 414},
		{"/v1/ids/{collection}", "POST", "/v1/ids/orders?count=100", 422},
		{"/v1/ids/{collection}", "POST", "/v1/ids/broken", 500},
		{"/v1/identities/{name}", "POST", "/v1/identities/companies", 200},
		{"/v1/identities/{name}", "POST", "/v1/identities/companies?count=100", 422},
		{"/v1/ids/{collection}", "POST", "/v1/ids/users", 429},
		{"/v1/identities/{name}", "POST", "/v1/identities/people", 429},
		{"/v1/collections", "GET", "/v1/collections", 500},
		{"/v1/collections/{collection}", "GET", "/v1/collections/orders", 200},
		{"/v1/collections/{collection}", "GET", "/v1/collections/none", 404},
		{"/v1/openapi.json", "GET", "/v1/openapi.json", 200},
		{"/healthz", "GET", "/healthz", 200},
		{"/readyz", "GET", "/readyz", 200},
		{"/metrics", "GET", "/metrics", 200},
	} {
		a := d.send(tt.method, tt.target, signedIn)
		if a.status != tt.status {
			t.Errorf("%s %.60s: got %d %s, want %d", tt.method, tt.target, a.status, a.body, tt.status)
		}
		said.checkAnswer(tt.path, tt.method, tt.target, a)
		if a := d.send(tt.method, tt.target); a.status == http.StatusUnauthorized {
			said.checkAnswer(tt.path, tt.method, tt.target, a)
		}
	}
	if err := d.client.Del(t.Context(), "{Raven}/HiLo/broken").Err(); err != nil {
		t.Fatal(err)
	}
	said.checkAnswer("/v1/collections", "GET", "/v1/collections", d.send("GET", "/v1/collections", signedIn))
}

// Every route is described, and every described path is a route.
func TestOpenAPIDescribesEveryPath(t *testing.T) {
	t.Parallel()
	source, err := os.ReadFile("gateway.go")
	if err != nil {
		t.Fatal(err)
	}
	var routes []string
	for _, found := range regexp.MustCompile(`\{http\.Method(\w+), "([^"]+)"`).FindAllSubmatch(source, -1) {
		routes = append(routes, strings.ToLower(string(found[1]))+" "+string(found[2]))
	}
	d := open(t, redistest.StartMini(t))
	said := description{t, exactly(t, d.get("/v1/openapi.json").body).(object)}
	var described []string
	for path, methods := range said.at("paths").(object) {
		for method := range methods.(object) {
			described = append(described, method+" "+path)
		}
	}
	slices.Sort(routes)
	slices.Sort(described)
	if len(routes) == 0 || !slices.Equal(routes, described) {
		t.Errorf("got described %q, want the routes %q, at least one", described, routes)
	}
}

// The checks find a description that is wrong.
func TestOpenAPICheckFindsDifferences(t *testing.T) {
	t.Parallel()
	d := open(t, redistest.StartMini(t))
	said := description{t, exactly(t, d.get("/v1/openapi.json").body).(object)}
	schema := object{"$ref": "#/components/schemas/Identifiers"}
	for _, wrong := range []string{`{}`, `{"ids":[]}`, `{"ids":[1]}`, `{"ids":["a"],"more":1}`, `[]`} {
		if said.fits(schema, exactly(t, wrong), "answer") == nil {
			t.Errorf("%s: got no error, want one, because it does not fit", wrong)
		}
	}
}
