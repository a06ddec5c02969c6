package gateway

import (
	"net/http"
	"net/url"
)

// query returns the parameters of a request, of which only the one with this name is allowed, once.
func query(r *http.Request, name string) (url.Values, error) {
	values, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return nil, invalid("invalid query: %v", err)
	}
	for other, texts := range values {
		if other != name || len(texts) != 1 {
			return nil, invalid("unknown or repeated parameter %.64q: only %s is allowed, once", other, name)
		}
	}
	return values, nil
}
