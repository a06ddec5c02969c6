package cli

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/hilo-id/hilo/allocator"
	"github.com/hilo-id/hilo/prefix"
	"github.com/hilo-id/hilo/scripts/redistest"
)

func TestPrefixesAreCompared(t *testing.T) {
	t.Parallel()
	server := func(name, serverPrefix, tag string) serverAdds {
		return serverAdds{name, prefix.Server{ServerPrefix: serverPrefix, NodeTag: tag}, nil}
	}
	tests := []struct {
		name    string
		servers []serverAdds
		want    []string // the faults
	}{
		{"one without", []serverAdds{server("a", "", "")}, nil},
		{"one with", []serverAdds{server("a", "N/", "")}, nil},
		{"all different", []serverAdds{server("a", "N/", ""), server("b", "S/", ""), server("c", "", "A")}, nil},
		{"the same prefix and another tag", []serverAdds{server("a", "N/", "A"), server("b", "N/", "B")}, nil},
		{"the same tag and another prefix", []serverAdds{server("a", "N/", "A"), server("b", "S/", "A")}, nil},
		{"one of two without", []serverAdds{server("a", "N/", ""), server("b", "", "")}, []string{"b: it has neither prefix nor tag"}},
		{
			"both without", []serverAdds{server("a", "", ""), server("b", "", "")},
			[]string{"a: it has neither prefix nor tag", "b: it has neither prefix nor tag"},
		},
		{"the same", []serverAdds{server("a", "N/", ""), server("b", "N/", "")}, []string{"a and b have the same prefix N/ and tag none"}},
		{"the same tag alone", []serverAdds{server("a", "", "X"), server("b", "", "X")}, []string{"a and b have the same prefix none and tag X"}},
		{
			"the same but for case", []serverAdds{server("a", "North/", "a"), server("b", "south/", ""), server("c", "NORTH/", "A")},
			[]string{`a and c have the same prefix and tag but for letter case: "North/" and tag "a" and "NORTH/" and tag "A"`},
		},
		{
			"of no use", []serverAdds{{name: "a", err: fmt.Errorf("%w: key k: no", allocator.ErrCorrupt)}, server("b", "", "")},
			[]string{"a: key k: no", "b: it has neither prefix nor tag"},
		},
		{"not known", []serverAdds{{name: "a", err: errors.New("away")}, server("b", "N/", "")}, nil},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			var got []string
			for _, f := range comparePrefixes(test.servers) {
				if f.Level == levelFault {
					got = append(got, strings.TrimPrefix(f.Server+": "+f.What, ": "))
					if f.Why == "" || f.Do == "" {
						t.Errorf("%+v does not say why, or what to do", f)
					}
				} else if f.Level != levelOK {
					t.Errorf("%+v", f)
				}
			}
			if !slices.Equal(got, test.want) {
				t.Errorf("%q, want %q", got, test.want)
			}
		})
	}
}

func TestPrefixCheckOfServers(t *testing.T) {
	t.Parallel()
	eachStart(t, func(t *testing.T, start func(...string) *redistest.Server) {
		north, south, flags := masters(t, func() *redistest.Server { return start() })
		check := append([]string{"prefix", "check"}, flags...)
		if got := must(t, check...); !strings.Contains(got, "north   NorthServer/  none  orders/NorthServer/1\n") || !strings.Contains(got, "\n0 faults") {
			t.Errorf("%q", got)
		}
		must(t, "prefix", "set", "northserver/", "--redis", south.URL())
		r := hilo(t, append(check, "--output", "json")...)
		got := decode[comparison](t, r.stdout)
		if r.code != exitFault || got.Faults != 1 || len(got.Servers) != 2 || got.Servers[1].Prefix != "northserver/" {
			t.Errorf("exit %d, %+v", r.code, got)
		}
		if err := north.Client(t).Set(t.Context(), "{Raven}/ServerPrefixForHilo", "x", 0).Err(); err != nil {
			t.Fatal(err)
		}
		if r := hilo(t, check...); r.code != exitFault || !strings.Contains(r.stdout, "is not a hash") || !strings.Contains(r.stderr, "1 fault found") {
			t.Errorf("%+v", r)
		}
		south.Kill()
		mustFail(t, exitUnavailable, hilo(t, check...), "no Redis answers at "+south.HostPort())
	})
}
