package cli

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/redis/go-redis/v9"
	"github.com/urfave/cli/v2"

	"github.com/hilo-id/hilo/allocator"
	"github.com/hilo-id/hilo/prefix"
)

// seedScan raises counters to the greatest numbers that keys show.
type seedScan struct {
	globals
	target  target
	Pattern string
	Strip   string
	Kind    allocator.Kind
	Yes     bool
	DryRun  bool
}

// scanned is what comes of it, as JSON has it.
type scanned struct {
	Scanned int64 `json:"scanned"` // keys that there are
	Matched int64 `json:"matched"` // of these, keys that match the pattern
	LeftOut int64 `json:"leftOut"` // of these, keys that are no identifiers
	changes
}

func readSeedScan(c *cli.Context, g globals, t target) (seedScan, error) {
	s := seedScan{
		globals: g, target: t,
		Pattern: c.String("scan"), Strip: c.String("strip"), Yes: c.Bool("yes"), DryRun: c.Bool("dry-run"),
	}
	if s.Pattern == "" {
		return s, usagef("--scan is empty: it takes a pattern of keys, such as 'orders/*'")
	}
	s.Kind = allocator.Kind(c.String("kind"))
	if s.Kind != allocator.KindHiLo && s.Kind != allocator.KindIdentity {
		return s, usagef("--kind is %q: must be hilo or identity", s.Kind)
	}
	return s, nil
}

// Run scans, shows what it found, and writes when that is agreed to.
func (s seedScan) Run(ctx context.Context) error {
	if !s.Yes && !s.DryRun && !s.interactive() {
		return &failure{code: exitFailed, text: "there is no terminal to ask at before anything is written: " +
			"give --yes, or --dry-run to see what would be"}
	}
	found := &numbersFound{seedScan: s, greatest: make(map[string]row)}
	p := plan{globals: s.globals, source: "--scan"}
	var done changes
	err := s.administerBeside(ctx, s.target, func(client redis.UniversalClient, m *allocator.Admin) (err error) {
		if err := s.scan(ctx, client, found); err != nil {
			return err
		}
		p.rows = found.rows()
		if p.server, err = m.ServerPrefix(ctx); err != nil {
			return err
		}
		done, err = p.carryOut(ctx, m, s.DryRun, func(would changes) error { return s.agree(ctx, found, would) })
		return err
	})
	if err != nil {
		return p.broken(err, done)
	}
	if s.JSON {
		return s.writeJSON(scanned{found.scanned, found.matched, found.leftOut(), done})
	}
	if s.DryRun {
		if err := s.printf("%s\n", found); err != nil {
			return err
		}
	}
	return s.showChanges(done)
}

// agree shows on stderr what would be written and asks. No answer is needed where nothing would change.
func (s seedScan) agree(ctx context.Context, found *numbersFound, would changes) error {
	if s.Yes || would.New+would.Raised == 0 {
		return nil
	}
	onStderr := s.globals
	onStderr.Stdout, onStderr.JSON = s.Stderr, false
	if err := onStderr.printf("%s\n", found); err != nil {
		return err
	}
	if err := onStderr.writeTable(would.table()); err != nil {
		return err
	}
	agreed, err := s.confirm(ctx, fmt.Sprintf("Raise %s?", counters(would.New+would.Raised)))
	if err != nil {
		return err
	}
	if !agreed {
		return &failure{code: exitFailed, text: "not agreed to: nothing was written"}
	}
	return nil
}

// scan looks at all keys: of a cluster, at those of all primaries.
func (s seedScan) scan(ctx context.Context, client redis.UniversalClient, found *numbersFound) error {
	nodes, err := primaries(ctx, client)
	if err != nil {
		return unavailable(err)
	}
	var total int64
	for _, node := range nodes {
		size, err := node.DBSize(ctx).Result()
		if err != nil {
			return unavailable(err)
		}
		total += size
	}
	found.scanned = total
	b := s.newBar("scanning", int(total))
	defer b.clear()
	for _, node := range nodes {
		if err := s.scanNode(ctx, node, found, b); err != nil {
			return unavailable(err)
		}
	}
	return nil
}

func (s seedScan) scanNode(ctx context.Context, node redis.Cmdable, found *numbersFound, b bar) error {
	const atOnce = 1000
	for cursor := uint64(0); ; {
		if err := ctx.Err(); err != nil {
			return err
		}
		keys, next, err := node.Scan(ctx, cursor, s.Pattern, atOnce).Result()
		if err != nil {
			return err
		}
		for _, key := range keys {
			found.key(key)
		}
		b.add(atOnce)
		if cursor = next; cursor == 0 {
			return nil
		}
	}
}

// primaries are the nodes that between them have every key once.
func primaries(ctx context.Context, client redis.UniversalClient) ([]redis.Cmdable, error) {
	cluster, ok := client.(*redis.ClusterClient)
	if !ok {
		return []redis.Cmdable{client}, nil
	}
	found := make(chan redis.Cmdable)
	var err error
	go func() { // it calls for all nodes at once
		defer close(found)
		err = cluster.ForEachMaster(ctx, func(_ context.Context, node *redis.Client) error {
			found <- node
			return nil
		})
	}()
	var nodes []redis.Cmdable
	for node := range found {
		nodes = append(nodes, node)
	}
	return nodes, err
}

// unavailable is the error of a command that package allocator has not seen.
func unavailable(err error) error { return fmt.Errorf("%w: %w", allocator.ErrUnavailable, err) }

// numbersFound are the greatest numbers among some keys.
type numbersFound struct {
	seedScan
	greatest                      map[string]row // by folded collection
	scanned, matched, identifiers int64
	example                       string // of a key that is no identifier
}

func (f *numbersFound) leftOut() int64 { return f.matched - f.identifiers }

func (f *numbersFound) key(key string) {
	f.matched++
	id, ok := f.parse(key)
	if !ok {
		f.example = cmp.Or(f.example, key)
		return
	}
	f.identifiers++
	name := prefix.Fold(id.Collection)
	r, found := f.greatest[name]
	if !found {
		r.Kind, r.Name = f.Kind, id.Collection
	}
	if r.Name > id.Collection {
		r.Name = id.Collection // SCAN has no order, and what is found is to have one spelling
	}
	r.Max = max(r.Max, id.Number)
	f.greatest[name] = r
}

// parse reads a key as an identifier.
func (f *numbersFound) parse(key string) (prefix.ID, bool) {
	if isOurs(key) {
		return prefix.ID{}, false
	}
	text, ok := strings.CutPrefix(key, f.Strip)
	if !ok {
		return prefix.ID{}, false
	}
	id, err := prefix.Parse(withoutHashTag(text), f.Separator)
	if err != nil || f.Kind == allocator.KindIdentity && (id.ServerPrefix != "" || id.NodeTag != "") {
		return prefix.ID{}, false
	}
	return id, true
}

// isOurs reports whether a key is one of hilo's own, of any namespace: counters are no identifiers, although
// {Raven}/HiLo/orders2 reads like one.
func isOurs(key string) bool {
	namespace, rest, ok := strings.Cut(strings.TrimPrefix(key, "{"), "}")
	if !ok || key[0] != '{' {
		return false
	}
	keys := prefix.NewKeys(namespace)
	ours := "{" + namespace + "}" + rest
	return strings.HasPrefix(ours, keys.HiLoPrefix()) || strings.HasPrefix(ours, keys.IdentityPrefix()) ||
		ours == keys.ServerSide() || ours == keys.Server()
}

// withoutHashTag is a key of a cluster without the braces that choose its slot; no identifier has any.
func withoutHashTag(key string) string {
	head, rest, opened := strings.Cut(key, "{")
	tag, tail, closed := strings.Cut(rest, "}")
	if !opened || !closed {
		return key
	}
	return head + tag + tail
}

func (f *numbersFound) rows() []row {
	rows := make([]row, 0, len(f.greatest))
	for _, r := range f.greatest {
		rows = append(rows, r)
	}
	slices.SortFunc(rows, func(a, b row) int { return strings.Compare(prefix.Fold(a.Name), prefix.Fold(b.Name)) })
	return rows
}

// String says what was looked at.
func (f *numbersFound) String() string {
	text := fmt.Sprintf("%d of %d keys match, %d of them identifiers", f.matched, f.scanned, f.identifiers)
	if f.leftOut() > 0 {
		text += fmt.Sprintf("; left out: %d, %.64q among them", f.leftOut(), f.example)
	}
	return text
}
