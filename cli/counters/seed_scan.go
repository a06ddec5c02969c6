package counters

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/hilo-id/hilo/allocator/admin"
	"github.com/hilo-id/hilo/cli/internal/base"
	"github.com/hilo-id/hilo/cli/internal/exit"
	"github.com/hilo-id/hilo/cli/internal/target"
	"github.com/hilo-id/hilo/prefix"
)

// fromScan is the command that raises counters to the greatest numbers found in keys.
type fromScan struct {
	plan
	Pattern string
	Strip   string
	Kind    admin.Kind
	Yes     bool

	found    scanned
	greatest map[string]planRow // by folded collection
	example  string             // a key that is not an identifier
}

// scanned is the JSON output.
type scanned struct {
	Scanned int64 `json:"scanned"` // all keys
	Matched int64 `json:"matched"` // keys that match the pattern
	LeftOut int64 `json:"leftOut"` // matching keys that are not identifiers
	changes
}

func readScan(r *base.Reader, p plan) *fromScan {
	p.Source = "--scan"
	s := &fromScan{
		plan: p, Pattern: r.String("scan"), Strip: r.String("strip"), Kind: admin.Kind(r.String("kind")), Yes: r.Bool("yes"),
		greatest: make(map[string]planRow),
	}
	if s.Pattern == "" {
		r.Failf("--scan is empty: must be a pattern of keys, such as 'orders/*'")
	}
	return s
}

// Run scans, shows what it found, and writes after a confirmation.
func (s *fromScan) Run(ctx context.Context) error {
	if !s.Yes && !s.DryRun && !onTerminal(s.Session) {
		return &exit.Error{Code: exit.Failed, Text: "there is no terminal for the confirmation: " +
			"add --yes to write, or --dry-run to see what would change"}
	}
	done, err := s.raise(ctx, func(client *target.Client, _ *admin.Admin) error {
		if err := s.scan(ctx, client); err != nil {
			return exit.OfRedis(err)
		}
		s.Rows = slices.SortedFunc(maps.Values(s.greatest), func(a, b planRow) int {
			return strings.Compare(prefix.Fold(a.Name), prefix.Fold(b.Name))
		})
		return nil
	}, func(would changes) error { return s.agree(ctx, would) })
	switch {
	case err != nil:
		return err
	case s.JSON:
		s.found.changes = done
		return cmp.Or(s.WriteJSON(s.found), s.nothing())
	case len(s.Rows) == 0:
		return s.nothing()
	case s.DryRun:
		return cmp.Or(s.printScan(s.Session), done.Print(s.Session))
	}
	return done.Print(s.Session)
}

// nothing returns an error if the scan found no identifier. A pattern with a mistake would otherwise pass for a seed.
func (s *fromScan) nothing() error {
	f, keys := s.found, s.Style(s.Stderr)
	switch {
	case len(s.Rows) > 0:
		return nil
	case f.Matched == 0:
		return &exit.Error{Code: exit.Fault, Text: keys.Sprintf("nothing found: none of %d keys matches %q", f.Scanned, s.Pattern)}
	}
	return &exit.Error{Code: exit.Fault, Text: keys.Sprintf("nothing found: %d of %d keys match %q, but none is an identifier that seeds a %s counter, "+
		"%.64q among them", f.Matched, f.Scanned, s.Pattern, s.Kind, s.example)}
}

// agree shows the changes on stderr and waits for a confirmation, unless nothing would change.
func (s *fromScan) agree(ctx context.Context, would changes) error {
	if s.Yes || would.New+would.Raised == 0 {
		return nil
	}
	onStderr := *s.Session
	onStderr.Stdout = s.Stderr
	if err := cmp.Or(s.printScan(&onStderr), would.WriteTable(&onStderr)); err != nil {
		return err
	}
	agreed, err := base.Confirm(ctx, s.Session, "Raise "+s.Style(s.Stderr).Plural(int64(would.New+would.Raised), "counter")+"?")
	if err == nil && !agreed {
		err = errAborted
	}
	return err
}

// scan reads all keys, those of all primaries of a cluster.
func (s *fromScan) scan(ctx context.Context, client *target.Client) error {
	nodes, err := client.Primaries(ctx)
	if err != nil {
		return err
	}
	if s.found.Scanned, err = client.Redis.DBSize(ctx).Result(); err != nil { // the sum of a cluster
		return err
	}
	patterns := s.patterns()
	b := s.NewBar("scanning", "keys", s.found.Scanned*int64(len(patterns)))
	defer b.End()
	for _, node := range nodes {
		for _, pattern := range patterns {
			for keys, err := range node.Keys(ctx, pattern.wider) {
				if err != nil {
					return err
				}
				for _, key := range keys {
					if pattern.matches(key) {
						s.key(key)
					}
				}
				b.Add(target.KeysAtOnce)
			}
		}
	}
	return nil
}

// patterns returns the pattern, and those that find the same keys with a hash tag at the beginning, {orders/1} and {orders}/1.
// The pattern itself finds a hash tag behind the separator.
func (s *fromScan) patterns() []glob {
	all := []glob{newGlob(s.Pattern)}
	if strings.HasPrefix(s.Pattern, "*") || strings.ContainsAny(s.Pattern, "{}") {
		return all
	}
	all = append(all, newGlob("{"+s.Pattern))
	if head, rest, found := strings.Cut(s.Pattern, s.Separator); found && head != "" && !strings.Contains(head, "*") { // which has them
		all = append(all, newGlob("{"+head+"}"+s.Separator+rest))
	}
	return all
}

func (s *fromScan) key(key string) {
	s.found.Matched++
	text, stripped := cutFolded(withoutHashTag(key), s.Strip)
	id, err := prefix.Parse(text, s.Separator)
	ofKind := s.Kind == admin.KindHiLo || id.ServerPrefix+id.NodeTag == "" // an identity has neither
	if !stripped || err != nil || !ofKind || isOurs(key) {
		s.found.LeftOut++
		s.example = cmp.Or(s.example, key)
		return
	}
	name := prefix.Fold(id.Collection)
	r := s.greatest[name]
	if r.Name == "" || r.Name > id.Collection {
		r.Name = id.Collection // SCAN has no order, and the spelling must not depend on it
	}
	r.Kind, r.Max = s.Kind, max(r.Max, id.Number)
	s.greatest[name] = r
}

// isOurs reports whether a key is one of hilo's own, of any namespace. Counters are not identifiers, although
// {Raven}/HiLo/orders2 has the form of one.
func isOurs(key string) bool {
	namespace, _, _ := strings.Cut(strings.TrimPrefix(key, "{"), "}")
	keys := prefix.NewKeys(namespace)
	return strings.HasPrefix(key, keys.HiLoPrefix()) || strings.HasPrefix(key, keys.IdentityPrefix()) ||
		key == keys.ServerSide() || key == keys.Server()
}

// withoutHashTag returns a key of a cluster without the braces that choose its slot. No identifier has braces.
func withoutHashTag(key string) string {
	head, rest, _ := strings.Cut(key, "{")
	if tag, tail, closed := strings.Cut(rest, "}"); closed {
		return head + tag + tail
	}
	return key
}

// printScan prints the counts of the scan.
func (s *fromScan) printScan(to *base.Session) error {
	f, leftOut := s.found, ""
	if f.LeftOut > 0 {
		leftOut = to.Style(to.Stdout).Sprintf("; left out: %d, %.64q among them", f.LeftOut, s.example)
	}
	return to.Printf("%d of %d keys match, %d of them identifiers%s\n", f.Matched, f.Scanned, f.Matched-f.LeftOut, leftOut)
}
