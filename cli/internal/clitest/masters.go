package clitest

import (
	"fmt"
	"strings"
	"testing"

	"github.com/hilo-id/hilo/scripts/redistest"
)

// Words splits a text into words, which may be quoted.
func Words(text string) []string {
	list := strings.Fields(text)
	for i, word := range list {
		if word == "''" {
			list[i] = ""
		}
	}
	return list
}

// Lines returns the identifiers orders/low to orders/high.
func Lines(low, high int) string {
	var b strings.Builder
	for n := low; n <= high; n++ {
		fmt.Fprintf(&b, "orders/%d\n", n)
	}
	return b.String()
}

// Masters starts two servers with prefixes, and returns them with the flags that name them. north is the home of identities.
func Masters(t *testing.T, start func() *redistest.Server) (north, south *redistest.Server, flags []string) {
	t.Helper()
	north, south = start(), start()
	Must(t, "settings", "set", "NorthServer/", "--identities", "--redis", north.URL())
	Must(t, "settings", "set", "SouthServer/", "--redis", south.URL())
	return north, south, []string{"--redis", "north=" + north.URL(), "--redis", "south=" + south.URL(), "--timeout", "2s"}
}

// EachStart is like redistest.Each, for tests that start their servers, one or more.
func EachStart(t *testing.T, test func(t *testing.T, start func(args ...string) *redistest.Server)) {
	t.Helper()
	t.Run("miniredis", func(t *testing.T) {
		t.Parallel()
		test(t, func(...string) *redistest.Server { return redistest.StartMini(t) })
	})
	for _, b := range redistest.Binaries(t) {
		t.Run(b.Name, func(t *testing.T) {
			t.Parallel()
			test(t, func(args ...string) *redistest.Server { return redistest.Start(t, b, args...) })
		})
	}
}
