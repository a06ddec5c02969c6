package access

import (
	"net"
	"net/http"
	"net/netip"
	"strings"
)

// IsLoopback reports whether a host, without a port, is localhost or a loopback address. Brackets around an IPv6 address are
// optional.
func IsLoopback(host string) bool {
	if strings.EqualFold(host, "localhost") {
		return true
	}
	if inner, ok := strings.CutPrefix(host, "["); ok {
		host, ok = strings.CutSuffix(inner, "]")
		if !ok {
			return false
		}
	}
	address, err := netip.ParseAddr(host)
	return err == nil && address.Unmap().IsLoopback()
}

// ForeignHost returns why a loopback listener refuses the Host of a request, with status 421, or "". The Host has to be localhost
// or a loopback address. A foreign name that resolves to loopback (DNS rebinding) would give the pages of its owner access.
func ForeignHost(r *http.Request) string {
	host := r.Host
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	if IsLoopback(host) {
		return ""
	}
	return "this server is reached as localhost, as [::1] or as an address of 127.0.0.0/8"
}
