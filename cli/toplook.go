package cli

import (
	"bufio"
	"context"
	"errors"
	"os"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/hilo-id/hilo/allocator"
	"github.com/hilo-id/hilo/prefix"
)

// look is what one look at a server found.
type look struct {
	server   int // which
	at       time.Time
	took     time.Duration
	down     string // why nothing was found, as a sentence; "": it is up
	brief    string // the same in few words
	role     string // "": the server does not say
	version  string
	replicas string
	prefix   prefix.Server
	counters []seenCounter
	corrupt  int           // counters that cannot be read
	pause    time.Duration // until the next look
}

// seenCounter is a counter and when it was read, since a look at many takes its time.
type seenCounter struct {
	allocator.Counter
	at time.Time
}

// looker looks at one server.
type looker struct {
	globals
	target target
	index  int
	every  time.Duration
	client redis.UniversalClient
	admin  *allocator.Admin
}

// lookers opens all servers, without asking them anything; closeAll also ends looks that are under way.
func (t top) lookers() (all []*looker, closeAll func(), err error) {
	var closing []func()
	closeAll = sync.OnceFunc(func() {
		for _, closeOne := range closing {
			closeOne()
		}
	})
	for i, server := range t.targets {
		client, closeOne, err := server.open(t.Timeout)
		if err != nil {
			closeAll()
			return nil, nil, err
		}
		closing = append(closing, closeOne)
		client.AddHook(stepLimit(t.Timeout))
		admin, err := allocator.NewAdmin(client, t.Namespace)
		if err != nil {
			closeAll()
			return nil, nil, err
		}
		all = append(all, &looker{t.globals, server, i, t.Interval, client, admin})
	}
	return all, closeAll, nil
}

// watch looks again and again until ctx ends.
func (l *looker) watch(ctx context.Context, report func(look)) {
	for {
		found := l.look(ctx)
		if ctx.Err() != nil {
			return
		}
		report(found)
		timer := time.NewTimer(found.pause)
		select {
		case <-ctx.Done():
			timer.Stop()
			return
		case <-timer.C:
		}
	}
}

// look reads all there is to see.
func (l *looker) look(ctx context.Context) look {
	began := time.Now()
	found := look{server: l.index}
	if err := l.read(ctx, &found); err != nil {
		found.down, found.brief = l.why(err), l.brief(err)
	}
	found.at = time.Now()
	found.took = found.at.Sub(began)
	const share = 5 // of the time is for looking, so that a server with a great many keys has rest in between
	found.pause = max(l.every-found.took, (share-1)*found.took)
	if found.down != "" { // what took long was waiting
		found.pause = max(l.every-found.took, leastInterval)
	}
	return found
}

func (l *looker) read(ctx context.Context, found *look) (err error) {
	if err := l.readInfo(ctx, found); err != nil {
		return err
	}
	if found.prefix, err = l.admin.ServerPrefix(ctx); errors.Is(err, allocator.ErrCorrupt) {
		found.corrupt++
	} else if err != nil {
		return err
	}
	for counter, err := range l.admin.Counters(ctx) {
		switch {
		case errors.Is(err, allocator.ErrCorrupt):
			found.corrupt++
		case err != nil:
			return err
		default:
			found.counters = append(found.counters, seenCounter{counter, time.Now()})
		}
	}
	return nil
}

// readInfo reads role and version where the server tells them: not every user may ask.
func (l *looker) readInfo(ctx context.Context, found *look) error {
	client := redis.Cmdable(l.client)
	if cluster, ok := l.client.(*redis.ClusterClient); ok {
		node, err := cluster.MasterForKey(ctx, prefix.NewKeys(l.Namespace).Server())
		if err != nil {
			return err
		}
		client = node
	}
	var sections [2]*redis.StringCmd
	_, _ = client.Pipelined(ctx, func(p redis.Pipeliner) error { // each command has its own error
		sections[0], sections[1] = p.Info(ctx, "server"), p.Info(ctx, "replication")
		return nil
	})
	fields := make(map[string]string)
	for _, section := range sections {
		answer := redis.Error(nil)
		if err := section.Err(); err != nil && !errors.As(err, &answer) {
			return err
		}
		scanner := bufio.NewScanner(strings.NewReader(section.Val()))
		for scanner.Scan() {
			if name, value, ok := strings.Cut(scanner.Text(), ":"); ok {
				fields[name] = value
			}
		}
	}
	found.replicas = fields["connected_slaves"]
	switch fields["role"] {
	case "master":
		found.role = "primary"
	case "slave":
		found.role = "replica"
	}
	switch {
	case fields["valkey_version"] != "":
		found.version = "valkey " + fields["valkey_version"]
	case fields["redis_version"] != "":
		found.version = "redis " + fields["redis_version"]
	}
	return nil
}

// why is the sentence that another command would end with.
func (l *looker) why(err error) string { return l.target.sentence(err, l.Timeout) }

// brief is why in few words, for a column.
func (l *looker) brief(err error) string {
	answer := redis.Error(nil)
	number := syscall.Errno(0)
	switch {
	case errors.As(err, &answer):
		return strings.TrimSuffix(answer.Error(), ".")
	case errors.As(err, &number):
		return number.Error()
	case errors.Is(err, context.DeadlineExceeded) || os.IsTimeout(err):
		return "no answer in " + l.Timeout.String()
	}
	return cause(err, l.Timeout)
}
