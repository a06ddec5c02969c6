package access

import (
	"fmt"
	"html"
	"net/http"
	"net/url"
	"strings"
)

// cookieName has a prefix that makes browsers accept it over a secure connection and from this host alone.
const cookieName = "__Host-hilo"

// tokenParameter is the parameter of a URL whose token is exchanged for the cookie.
const tokenParameter = "token"

// ForBrowsers returns a handler for pages that are opened in a browser, which cannot send a bearer token by itself. Beside
// those and client certificates, it accepts a token as the password of Basic authentication, under any user name. A GET with
// a valid ?token=TOKEN is answered by a cookie for this host and a page that leads to the same URL without it.
//
// With loopback, a Host that ForeignHost refuses is answered with 421. Requests that are too large are refused as by Bound.
func ForBrowsers(signIn SignIn, loopback bool, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if why := ForeignHost(r); loopback && why != "" {
			refuse(w, http.StatusMisdirectedRequest, why)
			return
		}
		if status, why := Bound(w, r); status != 0 {
			refuse(w, status, why)
			return
		}
		switch {
		case signIn.Tokens != nil && r.Method == http.MethodGet && r.URL.Query().Has(tokenParameter):
			exchange(signIn.Tokens(), w, r)
		case signIn.Refusal(r) == "", signIn.Tokens != nil && signIn.Tokens().acceptBrowser(r):
			next.ServeHTTP(w, r)
		default:
			if signIn.Tokens != nil {
				w.Header().Set("WWW-Authenticate", `Basic realm="hilo", charset="UTF-8"`)
			}
			refuse(w, http.StatusUnauthorized, signIn.Refusal(r))
		}
	})
}

func refuse(w http.ResponseWriter, status int, why string) {
	w.Header().Set("Cache-Control", "no-store")
	http.Error(w, why, status)
}

// exchange sets the cookie for the token of a URL, and removes the token from the URL, which is shown and stored.
func exchange(t Tokens, w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	token := query.Get(tokenParameter)
	if !contain(t.tokens, token) {
		refuse(w, http.StatusUnauthorized, "the token is not valid")
		return
	}
	http.SetCookie(w, &http.Cookie{
		Name: cookieName, Value: cookieOf(token), Path: "/", Secure: true, HttpOnly: true, SameSite: http.SameSiteStrictMode,
	})
	query.Del(tokenParameter)
	target := url.URL{Path: "/" + strings.TrimLeft(r.URL.Path, `/\`), RawQuery: query.Encode()}
	header := w.Header()
	header.Set("Cache-Control", "no-store")
	header.Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'")
	header.Set("Content-Type", "text/html; charset=utf-8")
	header.Set("Referrer-Policy", "no-referrer")
	fmt.Fprintf(w, continuation, html.EscapeString(target.String()))
}

// continuation is a page and no redirect: after a link on another site, browsers would follow that without the cookie, which is
// for the same site.
const continuation = `<!doctype html><title>hilo</title><meta http-equiv="refresh" content="0; url=%[1]s"><a href="%[1]s">Continue</a>
`

// acceptBrowser reports whether the request has the cookie, or a token as the password of Basic authentication.
func (t Tokens) acceptBrowser(r *http.Request) bool {
	if _, password, ok := r.BasicAuth(); ok && contain(t.tokens, password) {
		return true
	}
	cookie, err := r.Cookie(cookieName)
	return err == nil && contain(t.cookies, cookie.Value)
}
