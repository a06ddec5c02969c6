package gateway

import (
	_ "embed"
	"encoding/json"
	"net/http"
	"strings"
)

//go:embed openapi.json
var openAPI string

// describe shows the description of the plain API, which a test holds against
// what is answered.
func (g *gateway) describe(w http.ResponseWriter, _ *http.Request) {
	version, _ := json.Marshal(g.opts.Version)
	w.Header()["Content-Type"] = jsonType
	_, _ = w.Write([]byte(strings.Replace(openAPI, `"VERSION"`, string(version), 1))) // a client that is gone is told nothing
}
