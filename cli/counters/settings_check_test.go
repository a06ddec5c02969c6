package counters

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/hilo-id/hilo/allocator"
	"github.com/hilo-id/hilo/cli/internal/finding"
	"github.com/hilo-id/hilo/prefix"
)

func TestCheckComparesPrefixes(t *testing.T) {
	t.Parallel()
	server := func(name, serverPrefix, tag string) finding.Server {
		return finding.Server{Name: name, Settings: prefix.Server{ServerPrefix: serverPrefix, NodeTag: tag}}
	}
	tests := []struct {
		name    string
		servers []finding.Server
		want    []string // the faults
	}{
		{"one without", []finding.Server{server("a", "", "")}, nil},
		{"one with", []finding.Server{server("a", "N/", "")}, nil},
		{"all different", []finding.Server{server("a", "N/", ""), server("b", "S/", ""), server("c", "", "A")}, nil},
		{"the same prefix and another tag", []finding.Server{server("a", "N/", "A"), server("b", "N/", "B")}, nil},
		{"the same tag and another prefix", []finding.Server{server("a", "N/", "A"), server("b", "S/", "A")}, nil},
		{"one of two without", []finding.Server{server("a", "N/", ""), server("b", "", "")}, []string{"b: it has neither prefix nor tag nor interval"}},
		{
			"both without", []finding.Server{server("a", "", ""), server("b", "", "")},
			[]string{"a: it has neither prefix nor tag nor interval", "b: it has neither prefix nor tag nor interval"},
		},
		{"the same", []finding.Server{server("a", "N/", ""), server("b", "N/", "")}, []string{"a and b have the same prefix N/ and tag none"}},
		{"the same tag alone", []finding.Server{server("a", "", "X"), server("b", "", "X")}, []string{"a and b have the same prefix none and tag X"}},
		{
			"the same but for case", []finding.Server{server("a", "North/", "a"), server("b", "south/", ""), server("c", "NORTH/", "A")},
			[]string{`a and c have the same prefix and tag but for letter case: "North/" and tag "a" and "NORTH/" and tag "A"`},
		},
		{
			"that cannot be used", []finding.Server{{Name: "a", Err: fmt.Errorf("%w: key k: no", allocator.ErrCorrupt)}, server("b", "", "")},
			[]string{"a: key k: no", "b: it has neither prefix nor tag nor interval"},
		},
		{"not known", []finding.Server{{Name: "a", Err: errors.New("away")}, server("b", "N/", "")}, nil},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			var got []string
			for _, f := range finding.ComparePrefixes(test.servers) {
				if f.Level == finding.Fault {
					got = append(got, strings.TrimPrefix(f.Server+": "+f.What, ": "))
					if f.Why == "" || f.Do == "" {
						t.Errorf("%+v does not say why, or what to do", f)
					}
				} else if f.Level != finding.OK && f.Check != "identities" {
					t.Errorf("%+v", f)
				}
			}
			if !slices.Equal(got, test.want) {
				t.Errorf("%q, want %q", got, test.want)
			}
		})
	}
}

func TestCheckReportsTheHomeOfIdentities(t *testing.T) {
	t.Parallel()
	home := prefix.Server{ServerPrefix: "N/", Identities: true}
	none := prefix.Server{ServerPrefix: "S/"}
	unknown := finding.Server{Name: "u", Err: errors.New("away")}
	tests := []struct {
		name    string
		servers []finding.Server
		level   finding.Level // "" for no finding
		want    string
	}{
		{"one with neither prefix nor tag", []finding.Server{{Name: "a", HasIdentities: true}}, "", ""},
		{"one that is it", []finding.Server{{Name: "a", Settings: home, HasIdentities: true}}, "", ""},
		{"one of which nothing is known", []finding.Server{unknown}, "", ""},
		{"one with a prefix that is not", []finding.Server{{Name: "a", Settings: none}}, "", ""},
		{"one with a prefix that is not, and has some", []finding.Server{{Name: "a", Settings: none, HasIdentities: true}}, finding.Warning, "there are identities, and no server reports"},
		{"one of two", []finding.Server{{Name: "a", Settings: home}, {Name: "b", Settings: none}}, finding.OK, "identities come from a"},
		{"none of two", []finding.Server{{Name: "a", Settings: none}, {Name: "b", Settings: none}}, finding.Note, "no server reports that it is the home of identities"},
		{"none of two that have some", []finding.Server{{Name: "a", Settings: none, HasIdentities: true}, {Name: "b", Settings: none}}, finding.Warning, "there are identities, and no server reports"},
		{"perhaps the one that is away", []finding.Server{{Name: "a", Settings: none, HasIdentities: true}, unknown}, finding.Unknown, "their home may be a server that did not answer"},
		{"both", []finding.Server{{Name: "a", Settings: home}, {Name: "b", Settings: home}}, finding.Fault, "a and b both report that they are the home of identities"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			var got []finding.Finding
			for _, f := range finding.ComparePrefixes(test.servers) {
				if f.Check == "identities" {
					got = append(got, f)
				}
			}
			switch {
			case test.level == "" && len(got) > 0, test.level != "" && len(got) != 1:
				t.Errorf("%+v", got)
			case test.level != "" && (got[0].Level != test.level || !strings.Contains(got[0].What, test.want)):
				t.Errorf("%+v", got)
			}
		})
	}
}
