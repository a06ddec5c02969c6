package gateway

import (
	"encoding/json"
	"net/http"
)

// These are shared by all answers and never modified.
var (
	jsonType = []string{"application/json"}
	noStore  = []string{"no-store"}
)

func show(w http.ResponseWriter, what any) {
	w.Header()["Content-Type"] = jsonType
	w.Header()["Cache-Control"] = noStore
	_ = json.NewEncoder(w).Encode(what) // the client may be gone
}
