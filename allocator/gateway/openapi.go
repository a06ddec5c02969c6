package gateway

import (
	_ "embed"
	"encoding/json"
	"net/http"
	"strings"
)

//go:embed openapi.json
var openAPI string

// describe returns a handler that writes the description of the plain API, which a test compares with the answers.
func describe(version string) http.HandlerFunc {
	quoted, _ := json.Marshal(version)
	text := []byte(strings.Replace(openAPI, `"VERSION"`, string(quoted), 1))
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header()["Content-Type"] = jsonType
		_, _ = w.Write(text) // the client may be gone
	}
}
