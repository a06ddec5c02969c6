package doctor

import (
	"cmp"
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/hilo-id/hilo/cli/internal/exit"
	"github.com/hilo-id/hilo/cli/internal/finding"
	"github.com/hilo-id/hilo/cli/internal/target"
	"github.com/hilo-id/hilo/cli/internal/term"
	"github.com/hilo-id/hilo/prefix"
)

const checkKeys = "keys"

// exemplars is how many keys of a kind are named.
const exemplars = 5

// ward collects what is wrong with the keys of a namespace.
type ward struct {
	keys       prefix.Keys
	separator  string
	counters   map[string]bool // by folded name
	identities map[string]bool
	expiring   sample
	corrupt    sample
	unread     sample // keys of names that are not folded as they should be
	unnamed    sample // keys of names that cannot be
	origins    sample // keys with an Origin
}

// sample is the first few of many.
type sample struct {
	n     int
	first []string
}

func (s *sample) addf(format string, values ...any) {
	if s.n++; s.n <= exemplars {
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

// fieldLease and fieldOrigin are what fields ends in; those before them hold numbers, the first two what a counter counts.
const fieldLease, fieldOrigin = "Lease", "Origin"

var fields = []string{
	"Max", "Value", "Bare", "Ranges", "Low", "Epoch", "Lowered", "Minute", "Issued", "IssuedBefore", "Written", fieldLease, fieldOrigin,
}

// look looks at one key, which is hilo's or left alone; its TTL, below 0 where it has none; and the values of fields, or why
// there are none.
func (w *ward) look(key string, ttl time.Duration, values []any, err error) {
	folded := key // the key that is read for the name in this one
	counts := 1   // of fields, the one without which it is corrupt: Value
	name, ok := strings.CutPrefix(key, w.keys.HiLoPrefix())
	if ok {
		w.counters[name], folded = true, w.keys.HiLo(name)
		counts = 0 // Max
	} else if name, ok = strings.CutPrefix(key, w.keys.IdentityPrefix()); ok {
		w.identities[name], folded = true, w.keys.Identity(name)
	} else if key != w.keys.ServerSide() && key != w.keys.Server() {
		return
	}
	if bad := prefix.ValidateCollection(name, w.separator); ok && bad != nil {
		w.unnamed.addf("%s (%s)", key, exit.Plain(bad))
		folded = key
	}
	if ttl >= 0 {
		w.expiring.addf("%s in %v", key, ttl.Round(time.Second))
	}
	if err != nil {
		w.corrupt.addf("%s is not a hash", key)
		return
	}
	if folded != key {
		w.unread.addf("%s, read is %s", key, folded)
	}
	for i, field := range fields {
		switch text, there := values[i].(string); {
		case !there:
		case field != fieldOrigin && field != fieldLease && !isDecimal(text):
			w.corrupt.addf("%s has %s %.40q", key, field, text)
		case text == "":
		case values[counts] == nil && key != w.keys.Server():
			w.corrupt.addf("%s has no %s, yet numbers were given out", key, fields[counts])
			return
		case field == fieldOrigin:
			w.origins.addf("%s", key)
		}
	}
}

// isDecimal tells whether a script would take text for a number.
func isDecimal(text string) bool {
	n, err := strconv.ParseInt(text, 10, 64)
	return err == nil && n >= 0 && strconv.FormatInt(n, 10) == text
}

// judge says what was seen of the keys.
func (p *patient) judge(w *ward) {
	var both sample
	for name := range w.identities {
		if w.counters[name] && p.adds.Bare() {
			both.addf("%s", name)
		}
	}
	before := len(p.Findings)
	p.fault("ttl", "key", w.expiring, "going to expire").Because("A counter that is gone gives its numbers again.").
		Remedy("PERSIST each, and find out who sets a TTL: hilo never does.")
	p.fault("state", "value", w.corrupt, "of no use").Because("Nothing is given from a counter whose state is not plain decimals in a hash.").
		Remedy("Put it right with redis-cli, or where only the number is missing with hilo seed; not below the greatest number in use.")
	p.fault("spelling", "key", w.unread, "never read").
		Because("An earlier version, or a hand, spelt the name otherwise; what was given from it can be given again.").
		Remedy("Seed the name with the greater Max of the two, with hilo seed or hilo identity seed, and DEL the key.")
	p.fault("name", "key", w.unnamed, "of a name that cannot be").Because("Nothing is given from it, and hilo export refuses it.").
		Remedy("Where another --separator is in use, say so; else RENAME the key, or DEL it.")
	if p.unguarded {
		p.fault(checkGuard, "key", w.origins, "with an Origin, and scripts of this user may not use INFO").
			Because("Nothing is given from them to this user, who would walk past the guard that others rely on.").
			Remedy(grantInfo + " Where the server permits INFO to nobody, HDEL the field Origin of each.")
	}
	p.fault("mixed", "name", both, "both a collection and an identity").
		Because("Without prefix and tag both give the same texts, so neither gives any.").
		Remedy("Set a prefix with hilo prefix set, or remove the one that is not used.")
	if len(p.Findings) == before {
		p.Add(checkKeys, finding.OK, "%d counters and %d identities are sound, and no key expires", len(w.counters), len(w.identities))
	}
}

// fault adds that there are things of a kind, and names some. Where there are none, what it gives is of no finding.
func (p *patient) fault(check, thing string, seen sample, what string) *finding.Finding {
	if seen.n == 0 {
		return &finding.Finding{}
	}
	return p.Add(check, finding.Fault, "%s %s: %s", term.Plural(seen.n, thing), what, &seen)
}

// visit looks at all keys of the namespace.
func (p *patient) visit(ctx context.Context) {
	w := &ward{keys: prefix.NewKeys(p.Namespace), separator: p.Separator, counters: make(map[string]bool), identities: make(map[string]bool)}
	more, err := p.lookAtAll(ctx, w)
	p.adds.Uses = len(w.identities) > 0
	if err != nil {
		remedy := "Try again when it answers, or with a longer --timeout."
		if target.Forbidden(err) {
			remedy = "Let this user do it: ACL SETUSER … +scan +pttl +hmget."
		}
		p.Add(checkKeys, finding.Unknown, "the keys of the namespace could not be looked at: %s", target.Cause(err, p.Timeout)).
			Because("A key that expires, or a value that is none, would not be seen.").Remedy("%s", remedy)
		return
	}
	p.judge(w)
	if more {
		p.Add(checkKeys, finding.Unknown, "the server has more keys than the %d or so that were looked at", p.most).
			Because("What is wrong with the others is not known.")
	}
}

// lookAtAll looks at all keys, or tells that there are more than it may look at.
func (p *patient) lookAtAll(ctx context.Context, w *ward) (more bool, err error) {
	client, err := target.Holder(ctx, p.client, w.keys.Server())
	if err != nil {
		return false, err
	}
	looked := 0
	for keys, err := range target.Keys(ctx, client, prefix.EscapeGlob("{"+p.Namespace+"}/")+"*") {
		if err != nil || looked >= p.most {
			return err == nil, err
		}
		if err := w.read(ctx, client, keys); err != nil {
			return false, err
		}
		looked += target.KeysAtOnce
	}
	return false, nil
}

// read looks at some keys, with one round trip.
func (w *ward) read(ctx context.Context, client redis.Cmdable, keys []string) error {
	ttls, values := make([]*redis.DurationCmd, len(keys)), make([]*redis.SliceCmd, len(keys))
	_, _ = client.Pipelined(ctx, func(p redis.Pipeliner) error { // each command has its own error
		for i, key := range keys {
			ttls[i], values[i] = p.PTTL(ctx, key), p.HMGet(ctx, key, fields...)
		}
		return nil
	})
	for i, key := range keys {
		err := cmp.Or(values[i].Err(), ttls[i].Err())
		if err != nil && !redis.HasErrorPrefix(err, "WRONGTYPE") {
			return err
		}
		w.look(key, ttls[i].Val(), values[i].Val(), err)
	}
	return nil
}
