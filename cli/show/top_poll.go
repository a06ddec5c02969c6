package show

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/hilo-id/hilo/allocator"
	"github.com/hilo-id/hilo/allocator/admin"
	"github.com/hilo-id/hilo/allocator/admin/info"
	"github.com/hilo-id/hilo/cli/internal/base"
	"github.com/hilo-id/hilo/cli/internal/target"
	"github.com/hilo-id/hilo/prefix"
)

// pollResult is the result of polling a server once.
type pollResult struct {
	server   int // index of the server
	at       time.Time
	took     time.Duration
	pause    time.Duration // time until the next poll
	down     string        // reason for the failure, as a sentence; empty if the server is up
	brief    string        // the reason in a few words
	counters []polledCounter
	about
}

// about describes a server. Fields that it does not report, or that this user may not read, are empty.
type about struct {
	Role         string `json:"role,omitempty"`         // primary or replica
	Version      string `json:"version,omitempty"`      // such as redis 8.0.2
	Prefix       string `json:"prefix"`                 // added to each id
	Tag          string `json:"tag"`                    // node tag, added to each id
	Identities   bool   `json:"identities"`             // whether it is the home of identities
	Durable      string `json:"durable"`                // everysec, always, or empty
	NoSettings   bool   `json:"noSettings,omitempty"`   // it is new, or lost its data
	MinValue     int64  `json:"minValue,omitempty"`     // least number that the server issues
	MaxValue     int64  `json:"maxValue,omitempty"`     // greatest number that the server issues
	Corrupt      int    `json:"corrupt"`                // keys that cannot be read
	MemoryPolicy string `json:"memoryPolicy,omitempty"` // maxmemory-policy
	Persistence  string `json:"persistence,omitempty"`  // such as AOF always
	Replicas     int    `json:"replicas"`               // connected replicas
	Latency      int64  `json:"latencyNanoseconds"`     // of one HMGET
}

// interval returns the bounds of the numbers that allocators issue of the server. limit is their own bound.
func (a *about) interval(limit int64) (low, high int64) {
	low, high = prefix.Server{MinValue: a.MinValue, MaxValue: a.MaxValue}.Interval()
	return low, min(high, limit)
}

// polledCounter is a reading of a counter. It has a time of its own, since polling many counters takes a while.
type polledCounter struct {
	admin.Counter
	at       time.Time
	identity bool
	low      int64 // first number of the newest range, if it was read after a jump
}

// label returns the name as commands accept it. The name of an identity ends in |.
func (c *polledCounter) label() string {
	if c.identity {
		return c.Name + "|"
	}
	return c.Name
}

// poller polls one server.
type poller struct {
	top
	index  int // index of the server
	client *target.Client
	admin  *admin.Admin
	jumps  map[string]int64 // of the collections, at the last poll that succeeded

	// config is the reply of CONFIG, read again at configDue. An empty one means that CONFIG is not permitted, and is never
	// requested again.
	config    map[string]string
	configDue time.Time
}

// open calls do with a poller for each server. It sends no command. opened holds the pollers of the first servers.
func (t top) open(ctx context.Context, do func([]*poller) error, opened ...*poller) error {
	index := len(opened)
	if index == len(t.targets) {
		return do(opened)
	}
	return base.AdministerWith(ctx, t.Session, t.targets[index], func(client *target.Client, operator *admin.Admin) error {
		return t.open(ctx, do, append(opened, &poller{top: t, index: index, client: client, admin: operator})...)
	})
}

// watch polls all servers while do runs, and passes the results to report.
func (t top) watch(ctx context.Context, report func(pollResult), do func() error) error {
	return t.open(ctx, func(pollers []*poller) error {
		ctx, cancel := context.WithCancel(ctx)
		var polling sync.WaitGroup
		defer polling.Wait()
		defer cancel()
		for _, p := range pollers {
			polling.Go(func() { p.run(ctx, report) })
		}
		return do()
	})
}

// run polls the server until ctx ends.
func (p *poller) run(ctx context.Context, report func(pollResult)) {
	for {
		found := p.poll(ctx)
		if ctx.Err() != nil {
			return
		}
		report(found)
		base.Sleep(ctx, found.pause)
	}
}

func (p *poller) poll(ctx context.Context) pollResult {
	began := time.Now()
	found := pollResult{server: p.index}
	if err := p.read(ctx, &found); err != nil {
		found.down, found.brief = p.targets[p.index].Sentence(err, p.Timeout), target.Brief(err, p.Timeout)
	}
	found.at = time.Now()
	found.took = found.at.Sub(began)
	minPause := minInterval
	if found.down == "" {
		minPause = 4 * found.took // polls take at most a fifth of the time, however many keys there are
	}
	found.pause = max(p.Interval-found.took, minPause)
	return found
}

func (p *poller) read(ctx context.Context, found *pollResult) error {
	client, err := p.client.Holder(ctx, prefix.NewKeys(p.Namespace).Server())
	if err != nil {
		return err
	}
	facts, err := p.facts(ctx, client)
	if err != nil {
		return err
	}
	kind, version := facts.Version()
	if version != "" {
		found.Version = strings.ToLower(kind) + " " + version
	}
	found.Role, found.MemoryPolicy, found.Persistence = facts.Role(), facts.MemoryPolicy(), facts.Persistence()
	found.Replicas, _ = strconv.Atoi(facts.Info["connected_slaves"])
	began := time.Now()
	adds, err := p.admin.ServerPrefix(ctx)
	found.Latency = time.Since(began).Nanoseconds()
	switch {
	case errors.Is(err, allocator.ErrCorrupt):
		found.Corrupt++
	case err != nil:
		return err
	default:
		found.Prefix, found.Tag, found.Identities, found.Durable = adds.ServerPrefix, adds.NodeTag, adds.Identities, adds.Durable
		found.MinValue, found.MaxValue = adds.MinValue, adds.MaxValue
		if adds == (prefix.Server{}) {
			initialized, err := p.admin.Initialized(ctx)
			if err != nil {
				return err
			}
			found.NoSettings = !initialized
		}
	}
	for state, err := range p.admin.States(ctx) {
		switch {
		case errors.Is(err, allocator.ErrCorrupt):
			found.Corrupt++
		case err != nil:
			return err
		case state.Kind != admin.KindServerSide && !state.Unread: // which may have the name of the counter that is read
			found.counters = append(found.counters, polledCounter{Counter: state.Counter, at: time.Now(), identity: state.Kind == admin.KindIdentity})
		}
	}
	p.readJumps(ctx, client, found)
	return nil
}

// readJumps reads the first number after each jump of a collection since the last poll, from which its size follows.
func (p *poller) readJumps(ctx context.Context, client *target.Client, found *pollResult) {
	jumps := make(map[string]int64, len(found.counters))
	var jumped []*polledCounter
	var keys []string
	for i := range found.counters {
		c := &found.counters[i]
		if c.identity {
			continue
		}
		jumps[c.Name] = c.Jumps
		if before, known := p.jumps[c.Name]; known && before < c.Jumps {
			jumped, keys = append(jumped, c), append(keys, prefix.NewKeys(p.Namespace).HiLo(c.Name))
		}
	}
	p.jumps = jumps
	for i, hash := range client.Hashes(ctx, keys, []string{"Low", "Ranges"}, false) {
		if len(hash.Values) != 2 || hash.Values[1] != strconv.FormatInt(jumped[i].Ranges, 10) { // more ranges were issued since
			continue
		}
		text, _ := hash.Values[0].(string)
		if low, err := strconv.ParseInt(text, 10, 64); err == nil {
			jumped[i].low = low
		}
	}
}

// facts reads INFO and CONFIG. A user without the right to them gets empty replies.
func (p *poller) facts(ctx context.Context, client *target.Client) (info.Facts, error) {
	fields, err := client.Info(ctx)
	if err != nil && !target.Answered(err) {
		return info.Facts{}, err
	}
	if now := time.Now(); p.config == nil || len(p.config) > 0 && now.After(p.configDue) {
		config, err := client.Settings(ctx)
		if err != nil {
			return info.Facts{}, err
		}
		p.config, p.configDue = config, now.Add(time.Minute)
	}
	return info.Facts{Info: fields, Config: p.config}, nil
}
