package gateway

import (
	"crypto/sha256"
	"crypto/subtle"
	"net/http"
	"strings"
)

// signIn tells who may ask.
type signIn struct {
	tokens       [][sha256.Size]byte
	certificates bool
}

func newSignIn(opts Options) signIn {
	s := signIn{certificates: opts.ClientCertificates}
	for _, token := range opts.Tokens {
		s.tokens = append(s.tokens, sha256.Sum256([]byte(token)))
	}
	return s
}

// refuses is the status for a request that is not signed in, and why; 0: it is,
// or needs not be.
func (s signIn) refuses(r *http.Request) (status int, why string) {
	switch {
	case len(s.tokens) == 0 && !s.certificates, isOpen(r.URL.Path):
		return 0, ""
	case s.certificates && r.TLS != nil && len(r.TLS.VerifiedChains) > 0:
		return 0, ""
	case s.knows(r.Header.Get("Authorization")):
		return 0, ""
	case len(s.tokens) == 0:
		return http.StatusUnauthorized, "a client certificate is required"
	case !s.certificates:
		return http.StatusUnauthorized, "a bearer token is required"
	}
	return http.StatusUnauthorized, "a bearer token or a client certificate is required"
}

// knows compares with every token, and takes as long whichever it is.
func (s signIn) knows(authorization string) bool {
	scheme, token, _ := strings.Cut(authorization, " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return false
	}
	sum := sha256.Sum256([]byte(strings.TrimLeft(token, " ")))
	var same int
	for i := range s.tokens {
		same |= subtle.ConstantTimeCompare(sum[:], s.tokens[i][:])
	}
	return same == 1
}
