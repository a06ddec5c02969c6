package counters

import "testing"

func TestIsOursMatchesKeysOfHiloOnly(t *testing.T) {
	t.Parallel()
	for key, want := range map[string]bool{
		"{Raven}/HiLo/orders2": true, "{a}/Identities/x/1": true, "{a}/ServerSide": true, "{}/ServerPrefixForHilo": true,
		"{orders}/1": false, "orders/1": false, "{": false, "": false, "Raven}/HiLo/x": false, "{a}/HiLox/1": false,
	} {
		if isOurs(key) != want {
			t.Errorf("%q: %v", key, !want)
		}
	}
}
