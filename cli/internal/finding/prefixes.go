package finding

import (
	"cmp"
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/hilo-id/hilo/allocator"
	"github.com/hilo-id/hilo/cli/internal/exit"
	"github.com/hilo-id/hilo/cli/internal/term"
	"github.com/hilo-id/hilo/prefix"
)

// Server is a server with its settings.
type Server struct {
	Name          string
	Settings      prefix.Server
	HasIdentities bool
	Err           error // why Settings are unknown; ErrCorrupt if the stored ones are invalid
}

// Bare reports whether the server is known to have neither prefix nor tag nor interval.
func (s Server) Bare() bool { return s.Err == nil && s.Settings.IsZero() && !s.Settings.HasInterval() }

const (
	checkAddress = "address"
	checkPrefix  = "prefix"
	checkHome    = "identities"
)

// CheckShared identifies the check for servers that share their data.
const CheckShared = "shared"

// CompareNodes adds a finding if two servers are one, or replicate from each other, and reports whether it did. The nodes of each
// are the fields of their INFO.
func (s *Sheet) CompareNodes(a, b string, nodesOfA, nodesOfB []map[string]string) bool {
	share := func(field string) bool {
		return slices.ContainsFunc(nodesOfA, func(a map[string]string) bool {
			return a[field] != "" && slices.ContainsFunc(nodesOfB, func(b map[string]string) bool { return b[field] == a[field] })
		})
	}
	switch {
	case share("run_id"):
		s.Add(CheckShared, Fault, "%s and %s are one server (same run_id)", a, b).
			Because("There is no second server to continue at when it fails, and workers refuse it.").
			Remedy("Name each server once. Databases of one Redis are no masters: give each a server of its own, or a namespace (allocator.Server.Namespace).")
	case share("master_replid"):
		s.Add(CheckShared, Fault, "%s and %s have the same data (same replication id)", a, b).
			Because("One is a replica of the other, or was, and no second master. Workers refuse it.").
			Remedy("Name masters that do not replicate from each other.")
	default:
		return false
	}
	return true
}

// CompareConnections adds a finding if connections to the address of one server reach several. Each reply has the fields of INFO.
func (s *Sheet) CompareConnections(replies []map[string]string) {
	primaries, replicas := make(map[string]bool), make(map[string]bool)
	for _, fields := range replies {
		switch id := fields["master_replid"]; {
		case id == "":
		case fields["role"] != "slave":
			primaries[id] = true
		default:
			replicas[fields["run_id"]] = true
		}
	}
	switch {
	case len(primaries) > 1:
		s.Add(checkAddress, Fault, "connections to its address reach %d servers that do not replicate from each other (replication ids %s)",
			len(primaries), strings.Join(slices.Sorted(maps.Keys(primaries)), ", ")).
			Because("Each counts by itself, so numbers are issued twice. A Kubernetes Service before several pods is such an address.").
			Remedy("Let the address lead to one server. To keep several, name each by an address of its own, and set a prefix or an interval at each.")
	case len(primaries) > 0 && len(replicas) > 0:
		s.Add(checkAddress, Fault, "connections to its address reach a primary and %s of it", term.Plural(len(replicas), "replica")).
			Because("A replica takes no writes, so what reaches it issues no identifiers.").
			Remedy("Let the address lead to the primary alone, or name the sentinels with --redis.")
	}
}

// ComparePrefixes finds servers that could issue the same identifiers, and checks the home of identities.
func ComparePrefixes(servers []Server) []Finding {
	const (
		why = "They could issue the same identifier."
		do  = "Set a different one at each: hilo settings set NAME/ --redis URL, or disjoint intervals with --min-value and --max-value."
	)
	var s Sheet
	for i, one := range servers {
		s.Server = one.Name
		switch {
		case errors.Is(one.Err, allocator.ErrCorrupt):
			s.Add(checkPrefix, Fault, "%s", exit.Plain(one.Err)).
				Because("It issues no identifiers until this is corrected.").
				Remedy("Set it again, whole: hilo settings set PREFIX --tag TAG --identities, or --identities=false. Correct MinValue and MaxValue with redis-cli HSET; where it is no hash, DEL it first.")
		case one.Err != nil:
		case one.Bare() && len(servers) > 1:
			s.Add(checkPrefix, Fault, "it has neither prefix nor tag nor interval").
				Because("Another server without them could issue the same identifiers, so it issues none.").Remedy(do)
		case one.Bare():
			s.Add(checkPrefix, OK, "it has neither prefix nor tag, and needs none while it is the only one")
		case one.Settings.HasInterval():
			low, high := one.Settings.Interval()
			s.Add(checkPrefix, OK, "prefix %s, tag %s, numbers %d to %d",
				cmp.Or(one.Settings.ServerPrefix, "none"), cmp.Or(one.Settings.NodeTag, "none"), low, high)
		default:
			s.Add(checkPrefix, OK, "prefix %s, tag %s", cmp.Or(one.Settings.ServerPrefix, "none"), cmp.Or(one.Settings.NodeTag, "none"))
		}
		s.Server = ""
		for _, other := range servers[:i] {
			switch a, b := other.Settings, one.Settings; {
			case one.Err != nil || other.Err != nil || one.Bare() || other.Bare() || b.DisjointFrom(a):
			case b.IsZero() && a.Identities || a.IsZero() && b.Identities:
				s.Add(checkPrefix, Fault, "%s and %s may issue the same numbers without prefix and tag, of a collection and of an identity", other.Name, one.Name).
					Because("Both could issue companies/1.").Remedy("Give them disjoint intervals: hilo settings set --min-value N --redis URL.")
			case !b.SameAs(a):
			case b.ServerPrefix == a.ServerPrefix && b.NodeTag == a.NodeTag:
				s.Add(checkPrefix, Fault, "%s and %s have the same prefix %s and tag %s",
					other.Name, one.Name, cmp.Or(b.ServerPrefix, "none"), cmp.Or(b.NodeTag, "none")).Because(why).Remedy(do)
			default:
				s.Add(checkPrefix, Fault, "%s and %s have the same prefix and tag but for letter case: %q and tag %q and %q and tag %q",
					other.Name, one.Name, a.ServerPrefix, a.NodeTag, b.ServerPrefix, b.NodeTag).
					Because(why + " Many stores compare identifiers without letter case.").Remedy(do)
			}
		}
	}
	s.compareHomes(servers)
	return s.Findings
}

// compareHomes checks that exactly one server is the home of identities.
func (s *Sheet) compareHomes(servers []Server) {
	const do = "Make one their home: hilo settings set --identities --redis URL."
	alone := len(servers) == 1
	used, known := false, true
	var homes []string
	for _, one := range servers {
		used, known = used || one.HasIdentities, known && one.Err == nil && (!alone || !one.Bare())
		if one.Err == nil && one.Settings.Identities {
			homes = append(homes, one.Name)
		}
	}
	for _, other := range homes[min(1, len(homes)):] {
		s.Add(checkHome, Fault, "%s and %s both report that they are the home of identities", homes[0], other).
			Because("Both could issue the same identity, so clients that see both refuse identities.").
			Remedy("Leave it to one: hilo settings set --identities=false --redis URL.")
	}
	switch {
	case len(homes) == 1 && !alone:
		s.Add(checkHome, OK, "identities come from %s", homes[0])
	case len(homes) == 0 && !known && used && !alone:
		s.Add(checkHome, Unknown, "there are identities, and their home may be a server that did not answer")
	case len(homes) > 0 || !known:
	case used:
		s.Add(checkHome, Warning, "there are identities, and no server reports that it is their home").Because("None is issued.").Remedy(do)
	case !alone:
		s.Add(checkHome, Note, "no server reports that it is the home of identities, so none is issued").Remedy(do)
	}
}
