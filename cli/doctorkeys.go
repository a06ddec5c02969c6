package cli

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/hilo-id/hilo/prefix"
)

const (
	checkKeys  = "keys"
	checkTTL   = "ttl"
	checkState = "state"
	checkMixed = "mixed"
)

// exemplars is how many keys of a kind are named.
const exemplars = 5

// ward collects what is wrong with the keys of a namespace.
type ward struct {
	keys       prefix.Keys
	adds       prefix.Server
	counters   map[string]bool // by folded name
	identities map[string]bool
	expiring   sample
	corrupt    sample
}

// sample is the first few of many.
type sample struct {
	n     int
	first []string
}

func (s *sample) addf(format string, values ...any) {
	if s.n++; s.n <= exemplars {
		s.first = append(s.first, fmt.Sprintf(format, values...))
	}
}

func (s *sample) String() string {
	text := strings.Join(s.first, "; ")
	if more := s.n - len(s.first); more > 0 {
		text += fmt.Sprintf("; and %d more", more)
	}
	return text
}

// kept is a key of the namespace, as it stands.
type kept struct {
	key    string
	ttl    time.Duration // below 0: none
	fields map[string]string
	err    error // of reading the fields
}

// numeric are the fields that hold numbers.
func numeric() []string {
	return []string{"Max", "Value", "Ranges", "Low", "Epoch", "Lowered", "Minute", "Issued", "IssuedBefore"}
}

func newWard(keys prefix.Keys, adds prefix.Server) *ward {
	return &ward{keys: keys, adds: adds, counters: make(map[string]bool), identities: make(map[string]bool)}
}

// look looks at one key. Those that are not hilo's are left alone.
func (w *ward) look(k kept) {
	counter, isCounter := strings.CutPrefix(k.key, w.keys.HiLoPrefix())
	identity, isIdentity := strings.CutPrefix(k.key, w.keys.IdentityPrefix())
	switch {
	case isCounter:
		w.counters[counter] = true
	case isIdentity:
		w.identities[identity] = true
	case k.key != w.keys.ServerSide() && k.key != w.keys.Server():
		return
	}
	if k.ttl >= 0 {
		w.expiring.addf("%s in %v", k.key, k.ttl.Round(time.Second))
	}
	if redis.HasErrorPrefix(k.err, "WRONGTYPE") {
		w.corrupt.addf("%s is not a hash", k.key)
		return
	}
	for _, field := range numeric() {
		if value, ok := k.fields[field]; ok && !isDecimal(value) {
			w.corrupt.addf("%s has %s %.40q", k.key, field, value)
		}
	}
}

// isDecimal tells whether a script would take text for a number.
func isDecimal(text string) bool {
	n, err := strconv.ParseInt(text, 10, 64)
	return err == nil && n >= 0 && strconv.FormatInt(n, 10) == text
}

func (w *ward) findings() []finding {
	var all []finding
	if w.expiring.n > 0 {
		all = append(all, found(checkTTL, levelFault, "%s going to expire: %s", plural(w.expiring.n, "key"), &w.expiring).
			because("A counter that is gone gives its numbers again.").remedy("PERSIST each, and find out who sets a TTL: hilo never does."))
	}
	if w.corrupt.n > 0 {
		all = append(all, found(checkState, levelFault, "%s of no use: %s", plural(w.corrupt.n, "value"), &w.corrupt).
			because("Nothing is given from a counter whose state is not a plain decimal in a hash.").
			remedy("Put it right with redis-cli; a counter not below the greatest number in use."))
	}
	if w.adds.IsZero() {
		var both sample
		for name := range w.identities {
			if w.counters[name] {
				both.addf("%s", name)
			}
		}
		if both.n > 0 {
			all = append(all, found(checkMixed, levelFault, "%s both a collection and an identity: %s", plural(both.n, "name"), &both).
				because("Without prefix and tag both give the same texts, so neither gives any.").
				remedy("Set a prefix with hilo prefix set, or remove the one that is not used."))
		}
	}
	if all == nil {
		all = append(all, found(checkKeys, levelOK, "%d counters and %d identities are sound, and no key expires", len(w.counters), len(w.identities)))
	}
	return all
}

// visit looks at all keys of the namespace, by steps that do not hold the server up.
func (d doctor) visit(ctx context.Context, p *patient) []finding {
	client, err := p.holder(ctx, d.keys.Server())
	if err != nil {
		return []finding{keysUnknown(err)}
	}
	const step = 1000
	w := newWard(d.keys, p.adds.adds)
	pattern := escapeGlob("{"+d.Namespace+"}/") + "*"
	cursor, looked := uint64(0), 0
	for {
		keys, next, err := client.Scan(ctx, cursor, pattern, step).Result()
		if err != nil {
			return []finding{keysUnknown(err)}
		}
		for _, k := range readKeys(ctx, client, keys) {
			if k.err != nil && !redis.HasErrorPrefix(k.err, "WRONGTYPE") {
				return []finding{keysUnknown(k.err)}
			}
			w.look(k)
		}
		looked += step
		if cursor = next; cursor == 0 {
			return w.findings()
		}
		if looked >= d.most {
			return append(w.findings(), found(checkKeys, levelUnknown, "the server has more keys than the %d or so that were looked at", looked).
				because("What is wrong with the others is not known."))
		}
	}
}

func keysUnknown(err error) finding {
	return found(checkKeys, levelUnknown, "the keys of the namespace could not be looked at: %s", plain(err)).
		because("A key that expires, or a value that is none, would not be seen.").
		remedy("Let this user do it: ACL SETUSER … +scan +pttl +hmget.")
}

// holder is the node that has the namespace, whose keys share a slot.
func (p *patient) holder(ctx context.Context, key string) (redis.Cmdable, error) {
	if cluster, ok := p.client.(*redis.ClusterClient); ok {
		return cluster.MasterForKey(ctx, key)
	}
	return p.client, nil
}

// readKeys reads some keys in one round trip.
func readKeys(ctx context.Context, client redis.Cmdable, keys []string) []kept {
	fields := numeric()
	ttls, values := make([]*redis.DurationCmd, len(keys)), make([]*redis.SliceCmd, len(keys))
	_, _ = client.Pipelined(ctx, func(p redis.Pipeliner) error { // each command has its own error
		for i, key := range keys {
			ttls[i], values[i] = p.PTTL(ctx, key), p.HMGet(ctx, key, fields...)
		}
		return nil
	})
	read := make([]kept, len(keys))
	for i, key := range keys {
		read[i] = kept{key: key, ttl: ttls[i].Val(), fields: make(map[string]string), err: values[i].Err()}
		if read[i].err == nil {
			read[i].err = ttls[i].Err()
		}
		for j, value := range values[i].Val() {
			if text, ok := value.(string); ok {
				read[i].fields[fields[j]] = text
			}
		}
	}
	return read
}

// escapeGlob has a pattern match text as it stands.
func escapeGlob(text string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`, `]`, `\]`).Replace(text)
}
