package show

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/hilo-id/hilo/allocator"
	"github.com/hilo-id/hilo/allocator/admin"
	"github.com/hilo-id/hilo/cli/internal/base"
	"github.com/hilo-id/hilo/cli/internal/target"
	"github.com/hilo-id/hilo/prefix"
)

// look is what one look at a server found.
type look struct {
	server   int // its index
	at       time.Time
	took     time.Duration
	pause    time.Duration // until the next look
	down     string        // why nothing was found, as a sentence; "" means that the server is up
	brief    string        // the same in few words
	counters []seenCounter
	about
}

// about is what a server reports about itself. What it does not report, or this user may not see, is missing.
type about struct {
	Role         string `json:"role,omitempty"`         // primary or replica
	Version      string `json:"version,omitempty"`      // such as redis 8.0.2
	Prefix       string `json:"prefix"`                 // that it adds to each id
	Tag          string `json:"tag"`                    // node tag
	Identities   bool   `json:"identities"`             // it is their home
	Durable      string `json:"durable"`                // always, where it states that it keeps every write
	Corrupt      int    `json:"corrupt"`                // keys that cannot be read
	MemoryPolicy string `json:"memoryPolicy,omitempty"` // maxmemory-policy
	Persistence  string `json:"persistence,omitempty"`  // such as AOF always
	Replicas     int    `json:"replicas"`               // that are connected
	Latency      int64  `json:"latencyNanoseconds"`     // of one HMGET, from here
}

// seenCounter is a counter and when it was read: a look at many counters takes a while.
type seenCounter struct {
	admin.Counter
	at       time.Time
	identity bool
}

func (s seenCounter) label() string {
	return (&counter{Counter: s.Counter, identity: s.identity}).label()
}

// looker looks at one server.
type looker struct {
	top
	index    int // of the server
	client   *target.Client
	admin    *admin.Admin
	settings settings
}

// settings are what CONFIG reports. They are read about every minute, and no more if this user may not see them.
type settings struct {
	config map[string]string
	due    time.Time
}

// open opens all servers for as long as do runs, those that are not among the opened ones yet, without asking them anything.
// When ctx ends, looks that are under way end too.
func (t top) open(ctx context.Context, do func([]*looker) error, opened ...*looker) error {
	index := len(opened)
	if index == len(t.targets) {
		return do(opened)
	}
	return base.AdministerWith(ctx, t.Session, t.targets[index], func(client *target.Client, operator *admin.Admin) error {
		return t.open(ctx, do, append(opened, &looker{top: t, index: index, client: client, admin: operator})...)
	})
}

// watch looks again and again until ctx ends.
func (l *looker) watch(ctx context.Context, report func(look)) {
	for {
		found := l.look(ctx)
		if ctx.Err() != nil {
			return
		}
		report(found)
		base.Sleep(ctx, found.pause)
	}
}

// look reads all there is to see.
func (l *looker) look(ctx context.Context) look {
	began := time.Now()
	found := look{server: l.index}
	if err := l.read(ctx, &found); err != nil {
		found.down, found.brief = l.targets[l.index].Sentence(err, l.Timeout), target.Brief(err, l.Timeout)
	}
	found.at = time.Now()
	found.took = found.at.Sub(began)
	const share = 5 // of the time is for looking, so that a server with a great many keys has rest in between
	found.pause = max(l.Interval-found.took, (share-1)*found.took)
	if found.down != "" { // what took long was waiting
		found.pause = max(l.Interval-found.took, leastInterval)
	}
	return found
}

func (l *looker) read(ctx context.Context, found *look) error {
	client, err := l.client.Holder(ctx, prefix.NewKeys(l.Namespace).Server())
	if err != nil {
		return err
	}
	facts, err := l.facts(ctx, client)
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
	adds, err := l.admin.ServerPrefix(ctx)
	found.Latency = time.Since(began).Nanoseconds()
	switch {
	case errors.Is(err, allocator.ErrCorrupt):
		found.Corrupt++
	case err != nil:
		return err
	default:
		found.Prefix, found.Tag, found.Identities, found.Durable = adds.ServerPrefix, adds.NodeTag, adds.Identities, adds.Durable
	}
	for state, err := range l.admin.States(ctx) {
		switch {
		case errors.Is(err, allocator.ErrCorrupt):
			found.Corrupt++
		case err != nil:
			return err
		case state.Kind != admin.KindServerSide:
			found.counters = append(found.counters, seenCounter{state.Counter, time.Now(), state.Kind == admin.KindIdentity})
		}
	}
	return nil
}

// facts asks a node to describe itself. Not every user may ask.
func (l *looker) facts(ctx context.Context, client *target.Client) (target.Facts, error) {
	info, err := client.Info(ctx)
	if err != nil && !target.Answered(err) {
		return target.Facts{}, err
	}
	if now := time.Now(); l.settings.config == nil || len(l.settings.config) > 0 && now.After(l.settings.due) {
		config, err := client.Settings(ctx)
		if err != nil {
			return target.Facts{}, err
		}
		l.settings = settings{config, now.Add(time.Minute)}
	}
	return target.Facts{Info: info, Config: l.settings.config}, nil
}
