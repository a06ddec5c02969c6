package prefix_test

import (
	"testing"

	"github.com/hilo-id/hilo/prefix"
)

func TestKeysHaveTheDocumentedNames(t *testing.T) {
	t.Parallel()
	keys := prefix.NewKeys("Raven")
	for _, tt := range []struct{ name, got, want string }{
		{"a collection", keys.HiLo("orders"), "{Raven}/HiLo/orders"},
		{"a collection in another spelling", keys.HiLo("OrDers"), "{Raven}/HiLo/orders"},
		{"a collection in another script", keys.HiLo("AUFTRÄGE"), "{Raven}/HiLo/aufträge"},
		{"all collections", keys.HiLoPrefix(), "{Raven}/HiLo/"},
		{"an identity", keys.Identity("Companies"), "{Raven}/Identities/companies"},
		{"all identities", keys.IdentityPrefix(), "{Raven}/Identities/"},
		{"server-side identifiers", keys.ServerSide(), "{Raven}/ServerSide"},
		{"the server's prefix and tag", keys.Server(), "{Raven}/ServerPrefixForHilo"},
		{"a pattern that matches a text alone", prefix.EscapeGlob(`{a*b?[c]\d}/`), `{a\*b\?\[c\]\\d}/`},
		{"a namespace keeps its spelling", prefix.NewKeys("Shop/EU").HiLo("X"), "{Shop/EU}/HiLo/x"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if tt.got != tt.want {
				t.Errorf("got %s, want %s", tt.got, tt.want)
			}
		})
	}
}
