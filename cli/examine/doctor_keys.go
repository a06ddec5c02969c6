package examine

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hilo-id/hilo/allocator"
	"github.com/hilo-id/hilo/allocator/admin"
	"github.com/hilo-id/hilo/cli/internal/exit"
	"github.com/hilo-id/hilo/cli/internal/finding"
	"github.com/hilo-id/hilo/cli/internal/target"
	"github.com/hilo-id/hilo/cli/internal/term"
	"github.com/hilo-id/hilo/prefix"
)

const (
	checkKeys  = "keys"
	checkReset = "reset"
)

// maxExamples is the number of keys of a kind that a finding names.
const maxExamples = 5

// keyScan collects faults of the keys of a namespace.
type keyScan struct {
	keys       prefix.Keys
	separator  string
	origin     string          // the server's replication id, "" if unknown
	began      int64           // when the server's process began, in milliseconds since 1970, 0 if unknown
	durable    bool            // its settings say Durable
	found      int             // counters of all kinds
	counters   map[string]bool // by folded name
	identities map[string]bool
	expiring   sample
	fading     sample // fields that expire
	overdrawn  sample // counters that issued numbers above their ceiling
	corrupt    sample
	unfolded   sample // keys whose name is not folded
	invalid    sample // keys whose name is not valid
	origins    sample // keys with an Origin
	recreated  sample // keys that jumped and issued few ranges since
	older      bool   // a counter is older than the server's process
}

// sample counts items and keeps the first few.
type sample struct {
	n     int
	first []string
}

func (s *sample) addf(format string, values ...any) {
	if s.n++; s.n <= maxExamples {
		s.first = append(s.first, term.Printable(fmt.Sprintf(format, values...)))
	}
}

func (s *sample) String() string {
	text := strings.Join(s.first, "; ")
	if more := s.n - len(s.first); more > 0 {
		text += fmt.Sprintf("; and %d more", more)
	}
	return text
}

const fieldOrigin = "Origin"

// fields are the names of admin.Fields, of which the first two hold the number of a counter.
var fields = func() []string {
	names := make([]string, len(admin.Fields))
	for i, field := range admin.Fields {
		names[i] = field.Name
	}
	return names
}()

// allFields are the fields of counters and settings.
var allFields = append([]string{
	"ServerPrefix", "NodeTag", "Identities", "Durable", "MinValue", "MaxValue", "NewCounters", "Initialized",
}, fields...)

// add adds a key, which may be of another program. values are those of fields, and ttl is negative if it does not expire.
func (k *keyScan) add(key string, ttl time.Duration, values []any, err error) {
	folded := key // the key that clients use for its name
	required := 1 // index of the field without which it is corrupt: Value
	name, ok := strings.CutPrefix(key, k.keys.HiLoPrefix())
	if ok {
		k.counters[name], folded = true, k.keys.HiLo(name)
		required = 0 // Max
	} else if name, ok = strings.CutPrefix(key, k.keys.IdentityPrefix()); ok {
		k.identities[name], folded = true, k.keys.Identity(name)
	} else if key != k.keys.ServerSide() && key != k.keys.Server() {
		return
	}
	if bad := prefix.ValidateCollection(name, k.separator); ok && bad != nil {
		k.invalid.addf("%s (%s)", key, exit.Plain(bad))
		folded = key
	}
	if ttl >= 0 {
		k.expiring.addf("%s in %v", key, ttl.Round(time.Second))
	}
	if err != nil {
		k.corrupt.addf("%s is not a hash", key)
		return
	}
	if folded != key {
		k.unfolded.addf("%s (clients use %s)", key, folded)
	}
	for i, field := range fields {
		switch text, there := values[i].(string); {
		case !there:
		case !admin.Fields[i].Text && !isDecimal(text):
			k.corrupt.addf("%s has %s %.40q", key, field, text)
		case text == "" || field == "Name":
		case values[required] == nil && key != k.keys.Server():
			k.corrupt.addf("%s has no %s, yet numbers were issued", key, fields[required])
			return
		case field == fieldOrigin:
			k.origins.addf("%s", key)
		}
	}
	if key != k.keys.Server() {
		k.found++
		k.judge(key, required == 0, values)
	}
}

const (
	// fewRanges bounds the ranges of a counter that is reported as recreated. One that jumps for another reason usually has more.
	fewRanges = 10
	// leastJump is the least jump of a collection at a server that is not durable.
	leastJump = 65_536
	// jumpsOf is the part of Epoch that counts jumps. The rest is the time of the first range.
	jumpsOf = 1_000_000
)

// judge finds counters that may have been lost and recreated, and those that issued more than they reserved. A client continues a
// lost counter that it has seen with a jump, so Ranges begins at 1, and Max is past the jump.
func (k *keyScan) judge(key string, hasRanges bool, values []any) {
	text := func(field string) string {
		text, _ := values[slices.Index(fields, field)].(string)
		return text
	}
	number := func(field string) int64 {
		n, _ := strconv.ParseInt(text(field), 10, 64)
		return n
	}
	born, jumps, ranges := int64(0), int64(0), number("Ranges")
	if epoch := number("Epoch"); epoch >= jumpsOf { // a lower one is of hilo 0.1
		born, jumps = epoch/jumpsOf, epoch%jumpsOf
	}
	if hasRanges && jumps > 0 && ranges > 0 && ranges < fewRanges && number("Max") > leastJump {
		k.recreated.addf("%s (%s, %s)", key, term.Plural(jumps, "jump"), term.Plural(ranges, "range"))
	}
	k.older = k.older || jumps > 0 || text(fieldOrigin) != k.origin || born > 0 && born < k.began
	// Whoever moves Max by hand leaves Low, and a seed removes it.
	for _, field := range []string{"Raised", "Ceiling"} {
		if low := number("Low"); text(field) != "" && low > number(field) && (field == "Raised" || k.durable) {
			k.overdrawn.addf("%s issued %d, and %s is %d", key, low, field, number(field))
			return
		}
	}
}

// isDecimal reports whether the scripts accept text as a number.
func isDecimal(text string) bool {
	n, err := strconv.ParseInt(text, 10, 64)
	return err == nil && n >= 0 && strconv.FormatInt(n, 10) == text
}

// report adds the findings of a scan.
func (p *probedServer) report(k *keyScan) {
	var both sample
	for name := range k.identities {
		if k.counters[name] && p.reported.Bare() {
			both.addf("%s", name)
		}
	}
	before := len(p.Findings)
	p.fault("ttl", "key", k.expiring, "about to expire").Because("A counter that expires issues its numbers again.").
		Remedy("PERSIST each, and find out what sets a TTL: hilo never does.")
	p.fault("ttl", "field", k.fading, "about to expire").
		Because("Without it a counter issues its numbers again, or the server loses its prefix, interval or Durable.").
		Remedy("HPERSIST KEY FIELDS 1 FIELD for each, and find out what sets a TTL: hilo never does.")
	p.fault("state", "value", k.corrupt, "that cannot be used").Because("A counter whose state is not plain decimals in a hash issues nothing.").
		Remedy("Correct it with redis-cli or, where only the number is missing, with hilo seed; not below the greatest number in use.")
	p.fault("ceiling", "counter", k.overdrawn, "above what was reserved").
		Because("A worker of hilo 0.1 issues its numbers too, or a field was set by hand; after a lost write its numbers are issued again.").
		Remedy("Upgrade every worker, then: hilo seed NAME --max N, with the greatest number in use.")
	p.fault("spelling", "key", k.unfolded, "never read").
		Because("An earlier version, or a user of redis-cli, spelt the name differently; numbers that it issued can be issued again.").
		Remedy("Seed the name with the greater Max of the two, with hilo seed or hilo identity seed, and DEL the key.")
	p.fault("name", "key", k.invalid, "with an invalid name").Because("It issues nothing, and hilo import refuses it.").
		Remedy("Where another --separator is in use, name it; else seed the name that it should have with its number, and DEL the key.")
	if p.unguarded {
		p.fault(checkGuard, "key", k.origins, "with an Origin, and scripts of this user may not use INFO").
			Because("They issue nothing to this user, whose writes would hide a restart from the others.").
			Remedy(grantInfo + " Where the server permits INFO to no user, HDEL the field Origin of each.")
	}
	p.fault("mixed", "name", both, "both a collection and an identity").
		Because("Without prefix and tag both have the same identifiers, so neither issues any.").
		Remedy("Set a prefix with hilo settings set, or remove the one that is not used.")
	if len(p.Findings) == before {
		p.Add(checkKeys, finding.OK, "%s and %s are sound, and none expires", term.Plural(len(k.counters), "counter"), term.Plural(len(k.identities), "identity"))
	}
	p.reportResets(k)
	p.checkInitialized(k.found)
}

// recently bounds the uptime of a server that is reported because all of its counters are new.
const recently = time.Hour

const compareMax = "Compare each with the greatest number in your own data. Where Max is below it: hilo help recover, B."

// reportResets adds signs of a server that lost its counters.
func (p *probedServer) reportResets(k *keyScan) {
	if k.recreated.n > 0 {
		p.Add(checkReset, finding.Warning, "%s jumped and issued few ranges: %s", term.Plural(k.recreated.n, "counter"), &k.recreated).
			Because("Either it was new when the server was restarted, or it was lost and a client that had used it continued it: other clients may have started it at 1.").
			Remedy("%s", compareMax)
	}
	n := len(k.counters) + len(k.identities)
	if n == 0 || k.older || k.origin == "" || len(p.nodes) != 1 {
		return
	}
	seconds, err := strconv.Atoi(p.nodes[0].info["uptime_in_seconds"])
	if up := time.Duration(seconds) * time.Second; err == nil && up < recently {
		p.Add(checkReset, finding.Note, "every counter began after the server was started, %v ago", up).
			Because("Unless they are new, it came back without its data, and their numbers are issued again.").Remedy("%s", compareMax)
	}
}

// fault adds a finding about the things in seen, if any.
func (p *probedServer) fault(check, thing string, seen sample, what string) *finding.Finding {
	if seen.n == 0 {
		return &finding.Finding{}
	}
	return p.Add(check, finding.Fault, "%s %s: %s", term.Plural(seen.n, thing), what, &seen)
}

// checkKeys scans all keys of the namespace.
func (p *probedServer) checkKeys(ctx context.Context) {
	k := &keyScan{keys: prefix.NewKeys(p.Namespace), separator: p.Separator, counters: make(map[string]bool), identities: make(map[string]bool)}
	if len(p.nodes) == 1 {
		k.origin = p.nodes[0].info["master_replid"]
		if seconds, err := strconv.Atoi(p.nodes[0].info["uptime_in_seconds"]); err == nil {
			k.began = time.Now().Add(-time.Duration(seconds+1) * time.Second).UnixMilli()
		}
	}
	k.durable = p.reported.Settings.Durable != ""
	more, err := p.scanKeys(ctx, k)
	p.reported.HasIdentities = len(k.identities) > 0
	if err != nil {
		_, remedy := p.Diagnose(err, p.Timeout)
		switch {
		case target.Forbidden(err):
			remedy = "let this user do it: ACL SETUSER … +scan +pttl +hmget"
		case errors.Is(err, allocator.ErrInvalidOptions): // of a scan
			remedy = "name the cluster, as in --redis redis+cluster://HOST"
		}
		p.Add(checkKeys, finding.Unknown, "the keys of the namespace could not be read: %s", target.Cause(err, p.Timeout)).
			Because("A key that expires, or a value that is no number, would not be seen.").Remedy("%s%s.", strings.ToUpper(remedy[:1]), remedy[1:])
		p.checkInitialized(-1)
		return
	}
	p.report(k)
	if more {
		p.Add(checkKeys, finding.Unknown, "the server has more keys than the %d or so that were checked", p.maxKeys).
			Because("Faults in the others would not be found.")
	}
}

// scanKeys reads up to maxKeys keys, and reports whether there are more.
func (p *probedServer) scanKeys(ctx context.Context, k *keyScan) (more bool, err error) {
	client, err := p.client.Holder(ctx, k.keys.Server())
	if err != nil {
		return false, err
	}
	read, forbidden := 0, error(nil)
	for keys, err := range p.admin.Keys(ctx) {
		if err != nil || read >= p.maxKeys {
			return err == nil, err
		}
		for i, hash := range client.Hashes(ctx, keys, fields, true) {
			if hash.Err != nil && !hash.WrongType() {
				return false, hash.Err
			}
			k.add(keys[i], hash.TTL, hash.Values, hash.Err)
		}
		if forbidden == nil {
			forbidden = k.addFieldTTLs(ctx, client, keys)
		}
		read += target.KeysAtOnce
	}
	if forbidden != nil {
		p.Add("ttl", finding.Unknown, "whether a field expires is unknown: this user may not call HTTL").
			Because("A field that expires takes a counter or a setting with it.").Remedy("Let this user do it: ACL SETUSER … +httl")
	}
	return false, nil
}

// addFieldTTLs adds the fields that expire. Its error is that the user has no right to see them.
func (k *keyScan) addFieldTTLs(ctx context.Context, client *target.Client, keys []string) error {
	var own []string
	for _, key := range keys {
		if key == k.keys.Server() || admin.KindOf(k.keys, key) != "" {
			own = append(own, key)
		}
	}
	all, err := client.FieldTTLs(ctx, own, allFields)
	for i, found := range all {
		for _, field := range slices.Sorted(maps.Keys(found)) {
			k.fading.addf("%s %s in %v", own[i], field, found[field])
		}
	}
	if !target.Forbidden(err) { // a scan that goes on finds out about the connection
		return nil
	}
	return err
}
