// Package fleet keeps the servers of an allocator, with their health and back-off, the prefix and tag that each one reports,
// conflicts between them, and the home of identities. Every reply of a server takes one path, Server.Issue, and concurrent
// requests for one identity share a request, by Server.Take. The package imports prefix, scripts and the package failure.
package fleet

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"go.uber.org/zap"

	"github.com/hilo-id/hilo/allocator/internal/failure"
	"github.com/hilo-id/hilo/prefix"
)

// Options are the settings of a Fleet.
type Options struct {
	// AttemptTimeout bounds one request, and one round of describing servers.
	AttemptTimeout time.Duration
	// IdentitiesAnywhere reports that identities may come from a server that is not their home.
	IdentitiesAnywhere bool
	Logger             *zap.Logger
	// Recovered starts again what failed while a server was down, and returns the number of requests that it started. It
	// is called without a lock.
	Recovered func() int
	// NameServer adds the server to an error. It is not called for a server without a name.
	NameServer func(server string, err error) error
}

// Config describes one server.
type Config struct {
	// Name is "" for the only server.
	Name      string
	Backend   Backend
	Namespace string
	// Prefix is the prefix that the server must report, or "" for any. MinValue and MaxValue are its interval, 0 for any.
	Prefix             string
	MinValue, MaxValue int64
}

// Fleet is the servers of one allocator, in order of preference. It is safe for concurrent use. It runs no goroutine and
// no timer before the first request.
type Fleet struct {
	opts    Options
	servers []*Server
	// Start is the origin of Now, on the monotonic clock. Only tests of a clock that is set change it.
	Start time.Time
	// ctx is the context of work that is not tied to one caller. Close cancels it.
	ctx    context.Context //nolint:containedctx // it lives as long as the fleet
	cancel context.CancelFunc
	// aborted ends requests for numbers. Abort cancels it.
	aborted context.Context //nolint:containedctx // as above
	abort   context.CancelFunc
	// background counts that work, and batchers that flush. It grows with mu held, and only while closed is false.
	background sync.WaitGroup

	// mu guards what follows, and the state and the marks of every server. It is the innermost lock and is never held
	// during I/O.
	mu     sync.Mutex
	closed bool
	// served reports that the settings of several servers were compared and found without conflict, so that identifiers
	// may have been issued.
	served bool
	// search is the search for the home of identities in flight, or nil.
	search *check
	// monitor is the timer of the periodic check, or nil before the first request.
	monitor *time.Timer
}

// check is one round of describing servers. err is its outcome, which is written with mu held and read with mu held or after
// done is closed.
type check struct {
	of    *Issuer // whose prefix is compared, nil for a search
	began time.Duration
	done  <-chan struct{}
	err   error
}

// MaxIdentityRequests bounds the requests for identities in flight at a server. Further ones wait before their attempt
// begins, so that waiting for a connection does not use up its timeout. Requests for server-side identifiers, one at a
// time, do not count.
const MaxIdentityRequests = 16

// Server is one Redis deployment and its state.
type Server struct {
	Config
	// Index is the place in the order of preference.
	Index int
	Keys  prefix.Keys

	fleet         *Fleet
	log           *zap.Logger
	isCluster     bool
	identitySlots chan struct{}
	// batchers has the *batcher of each counter that was used with Take, by key.
	batchers sync.Map

	// Fleet.mu guards what follows.

	// down is why the latest attempt failed, or nil. backoff is how long callers do not ask the server then, and recovery
	// the timer of its next probe, nil before the first failure.
	down     error
	backoff  serverBackoff
	recovery *time.Timer
	// unsent is why the latest request for a description was not sent, or nil. It proves nothing about the server.
	unsent error
	// answered is the time of the latest answer, or 0. servedAsOf is the time at which the newest served request was sent.
	answered, servedAsOf time.Duration
	// current is the prefix and tag that the server reported, or nil, and origin the replication id with them, "" if
	// unknown. Both are from the reply to the newest request, which was sent at currentAsOf, because a reply to an older
	// one may be from before a change. home reports whether the server is the home of identities, as of homeAsOf.
	current               *Issuer
	origin                string
	home                  bool
	durable               string // as it was reported last, in the form of prefix.Server.Durable
	currentAsOf, homeAsOf time.Duration
	// met has the replication ids of replies, the newest last, and severalServe reports that they are those of several servers.
	met          []meeting
	severalServe bool
	// verified is the last prefix that was compared with every other server and found unique. check is the latest such
	// comparison.
	verified *Issuer
	check    *check

	// settled reports that the server had a prefix, tag or interval when it issued numbers to this client.
	settled bool
	// raises has the raises of ceilings in flight. asking is the group of questions that they may still join, or nil, and
	// askedAt when it is sent.
	raises  map[counterOf]*raising
	asking  *questions
	askedAt time.Duration
	// refused has the class of the newest refusal of each counter whose newest request was refused.
	refused map[counterOf]string

	refills, identities Latency
	jumps               [len(Evidences)]int64
	// counters has those that this client used.
	counters [ServerSide + 1]map[string]*counter // by kind and folded name
}

// Issuer is a server with the prefix and tag that it reported. Ranges with the same prefix and tag share one.
type Issuer struct {
	Server *Server
	Desc   prefix.Server
	// unique reports whether no number of the server is one of another server. It is decided again whenever a server
	// reports other settings.
	unique atomic.Bool
}

// New returns a Fleet of servers, in order of preference. It does no I/O.
func New(servers []Config, opts Options) *Fleet {
	opts.Logger = opts.Logger.WithOptions(zap.WithCaller(false)) // a file in here is no help
	f := &Fleet{opts: opts, Start: time.Now()}
	f.ctx, f.cancel = context.WithCancel(context.Background())
	f.aborted, f.abort = context.WithCancel(context.Background())
	for i, c := range servers {
		s := &Server{
			Config: c, Index: i, Keys: prefix.NewKeys(c.Namespace),
			fleet: f, log: opts.Logger, identitySlots: make(chan struct{}, MaxIdentityRequests),
			raises: make(map[counterOf]*raising), refused: make(map[counterOf]string),
		}
		for k := range s.counters {
			s.counters[k] = make(map[string]*counter)
		}
		if b, ok := s.Backend.(redisBackend); ok {
			s.isCluster = b.cluster != nil
		}
		if s.Name != "" {
			s.log = opts.Logger.With(zap.String("server", s.Name))
		}
		f.servers = append(f.servers, s)
	}
	return f
}

// Servers returns the servers in order of preference.
func (f *Fleet) Servers() []*Server { return f.servers }

// Now returns the time since the fleet was made.
func (f *Fleet) Now() time.Duration { return time.Since(f.Start) }

// Close stops all timers, cancels the work that is not tied to a caller, and starts no more of it, nor a request for numbers.
func (f *Fleet) Close() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.closed = true
	if f.monitor != nil {
		f.monitor.Stop()
	}
	for _, s := range f.servers {
		if s.recovery != nil {
			s.recovery.Stop()
		}
	}
	f.cancel()
}

// Abort cancels the requests for numbers in flight, and later ones.
func (f *Fleet) Abort() { f.abort() }

// Wait waits for the work that is not tied to a caller, and for batchers. It is called after Close.
func (f *Fleet) Wait() { f.background.Wait() }

// goBackground runs work that is not tied to a caller on a goroutine that Wait waits for, and returns a channel that is
// closed at its end. After Close it does nothing, and the channel is closed.
func (f *Fleet) goBackground(work func()) <-chan struct{} {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.goLocked(work)
}

// goLocked is goBackground with mu held.
func (f *Fleet) goLocked(work func()) <-chan struct{} {
	done := make(chan struct{})
	if f.closed {
		close(done)
		return done
	}
	f.background.Go(func() {
		defer close(done)
		work()
	})
	return done
}

// sleep waits for delay, or for the end of one of the contexts.
func sleep(ctx, other context.Context, delay time.Duration) {
	if delay <= 0 {
		return
	}
	timer := time.NewTimer(delay)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	case <-other.Done():
	}
}

// On returns what with the server's name, for errors.
func (s *Server) On(what string) string {
	if s.Name == "" {
		return what
	}
	return what + " on " + s.Name
}

// failed returns the error of an attempt at s.
func (s *Server) failed(what string, err error) error {
	err = failure.Attempt(s.On(what), err)
	if s.Name == "" {
		return err
	}
	return s.fleet.opts.NameServer(s.Name, err)
}
