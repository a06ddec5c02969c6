package top

import (
	"context"
	"errors"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/hilo-id/hilo/allocator"
	"github.com/hilo-id/hilo/cli/internal/base"
	"github.com/hilo-id/hilo/cli/internal/target"
	"github.com/hilo-id/hilo/prefix"
)

// look is what one look at a server found.
type look struct {
	server   int // which
	at       time.Time
	took     time.Duration
	pause    time.Duration // until the next look
	down     string        // why nothing was found, as a sentence; "": it is up
	brief    string        // the same in few words
	counters []seenCounter
	about
	replicas string
}

// about is what a server says of itself.
type about struct {
	Role       string `json:"role,omitempty"`    // primary or replica, where the server says
	Version    string `json:"version,omitempty"` // such as redis 8.0.2
	Prefix     string `json:"prefix"`
	Tag        string `json:"tag"`
	Identities bool   `json:"identities"` // it is their home
	Corrupt    int    `json:"corrupt"`    // keys that cannot be read
}

// seenCounter is a counter and when it was read, since a look at many takes its time.
type seenCounter struct {
	allocator.Counter
	at time.Time
}

// looker looks at one server.
type looker struct {
	top
	index  int // of the server
	client redis.UniversalClient
	admin  *allocator.Admin
}

// open opens all servers for as long as do runs, those that are not among the opened ones yet, without asking them anything.
// When ctx ends, looks that are under way end too.
func (t top) open(ctx context.Context, do func([]*looker) error, opened ...*looker) error {
	index := len(opened)
	if index == len(t.targets) {
		return do(opened)
	}
	return base.AdministerWith(ctx, t.Session, t.targets[index], func(client redis.UniversalClient, admin *allocator.Admin) error {
		return t.open(ctx, do, append(opened, &looker{t, index, client, admin})...)
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
	client, err := target.Holder(ctx, l.client, prefix.NewKeys(l.Namespace).Server())
	if err != nil {
		return err
	}
	info, err := client.Info(ctx).Result()
	if answer := redis.Error(nil); err != nil && !errors.As(err, &answer) { // not every user may ask
		return err
	}
	fields := target.ParseInfo(info)
	found.replicas = fields["connected_slaves"]
	found.Role = map[string]string{"master": "primary", "slave": "replica"}[fields["role"]]
	for _, kind := range []string{"redis", "valkey"} { // valkey has a redis_version too
		if version := fields[kind+"_version"]; version != "" {
			found.Version = kind + " " + version
		}
	}
	adds, err := l.admin.ServerPrefix(ctx)
	switch {
	case errors.Is(err, allocator.ErrCorrupt):
		found.Corrupt++
	case err != nil:
		return err
	default:
		found.Prefix, found.Tag, found.Identities = adds.ServerPrefix, adds.NodeTag, adds.Identities
	}
	for counter, err := range l.admin.Counters(ctx) {
		switch {
		case errors.Is(err, allocator.ErrCorrupt):
			found.Corrupt++
		case err != nil:
			return err
		default:
			found.counters = append(found.counters, seenCounter{counter, time.Now()})
		}
	}
	return nil
}
