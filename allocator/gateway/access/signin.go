package access

import (
	"crypto/hmac"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"fmt"
	"net/http"
	"strings"
)

// SignIn authenticates requests. The zero value accepts all of them. It is safe for concurrent use.
type SignIn struct {
	// Tokens returns the tokens that are valid now. It is called for each request. Default nil: no token is accepted.
	Tokens func() Tokens
	// Certificates accepts a client certificate that the TLS listener verified.
	Certificates bool
}

// Required reports whether requests have to be signed in.
func (s SignIn) Required() bool { return s.Tokens != nil || s.Certificates }

// Refusal returns why a request is not signed in, or "". A bearer token and a client certificate are accepted.
func (s SignIn) Refusal(r *http.Request) string {
	switch {
	case !s.Required(), s.Certificates && r.TLS != nil && len(r.TLS.VerifiedChains) > 0:
		return ""
	case s.Tokens == nil:
		return "a client certificate is required"
	case s.Tokens().acceptBearer(r):
		return ""
	case !s.Certificates:
		return "a bearer token is required"
	}
	return "a bearer token or a client certificate is required"
}

// ShortestToken is the least length of a token in bytes.
const ShortestToken = 16

// Tokens are tokens of which each signs a request in. Only digests of them are kept.
type Tokens struct {
	tokens  [][sha256.Size]byte
	cookies [][sha256.Size]byte // for which they are exchanged
}

// NewTokens returns tokens, each of which has at least ShortestToken bytes.
func NewTokens(tokens ...string) (Tokens, error) {
	var t Tokens
	for i, token := range tokens {
		if len(token) < ShortestToken {
			return Tokens{}, fmt.Errorf("token %d has %d bytes: must have at least %d", i+1, len(token), ShortestToken)
		}
		t.tokens = append(t.tokens, sha256.Sum256([]byte(token)))
		t.cookies = append(t.cookies, sha256.Sum256([]byte(cookieOf(token))))
	}
	return t, nil
}

// Static returns a function for SignIn.Tokens, which is nil if there are none.
func (t Tokens) Static() func() Tokens {
	if len(t.tokens) == 0 {
		return nil
	}
	return func() Tokens { return t }
}

func (t Tokens) acceptBearer(r *http.Request) bool {
	scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	return strings.EqualFold(scheme, "Bearer") && contain(t.tokens, strings.TrimLeft(token, " "))
}

// contain compares with every digest, in constant time.
func contain(all [][sha256.Size]byte, text string) bool {
	digest := sha256.Sum256([]byte(text))
	var same int
	for i := range all {
		same |= subtle.ConstantTimeCompare(digest[:], all[i][:])
	}
	return same == 1
}

// cookieOf returns the cookie for which a token is exchanged. It does not reveal the token, survives a restart, and becomes
// invalid together with its token.
func cookieOf(token string) string {
	mac := hmac.New(sha256.New, []byte(token))
	mac.Write([]byte("hilo sign-in cookie"))
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}
