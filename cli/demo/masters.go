package demo

import (
	"context"
	"fmt"
	"time"

	"github.com/alicebob/miniredis/v2"

	"github.com/hilo-id/hilo/allocator"
	"github.com/hilo-id/hilo/cli/internal/exit"
	"github.com/hilo-id/hilo/cli/internal/target"
	"github.com/hilo-id/hilo/prefix"
)

// master is a server of the demo's own.
type master struct {
	target.Target
	prefix string
	server *miniredis.Miniredis
}

// startMasters starts both, in order of preference, each with a prefix of its own. The first is the home of identities.
func (d demo) startMasters(ctx context.Context) (all []*master, closeAll func(), err error) {
	all = []*master{
		{Target: target.Target{Name: "north"}, prefix: "NorthServer/", server: miniredis.NewMiniRedis()},
		{Target: target.Target{Name: "south"}, prefix: "SouthServer/", server: miniredis.NewMiniRedis()},
	}
	closeAll = func() {
		for _, m := range all {
			m.server.Close()
		}
	}
	for i, m := range all {
		if err := m.server.StartAddr("127.0.0.1:0"); err != nil {
			return all, closeAll, fmt.Errorf("the server %s does not start: %w", m.Name, err)
		}
		// Its clients try once: what comes after is the allocator's.
		if m.Target, err = target.Parse(m.Name + "=redis://" + m.server.Addr() + "/0?max_retries=-1"); err != nil {
			return all, closeAll, err
		}
		err := d.Administer(ctx, m.Target, func(admin *allocator.Admin) error {
			return admin.SetServerPrefix(ctx, prefix.Server{ServerPrefix: m.prefix, Identities: i == 0})
		})
		if err != nil {
			return all, closeAll, err
		}
	}
	return all, closeAll, nil
}

// count counts, from the identifiers themselves and from what stands in Redis.
func (s *story) count(ctx context.Context) error {
	s.Workers, s.Seconds = workers, time.Since(s.start).Seconds()
	s.IDs, s.Duplicates = s.ledger.IDs, s.ledger.Duplicates
	for _, m := range s.masters {
		err := s.Administer(ctx, m.Target, func(admin *allocator.Admin) error {
			for _, of := range s.ledger.Series {
				if of.ServerPrefix != m.prefix {
					continue
				}
				counter, err := admin.Counter(ctx, of.Collection)
				if err != nil {
					return err
				}
				d := demonstration{
					Server: m.Name, Collection: of.Collection, IDs: of.IDs, Duplicates: of.Duplicates, Ranges: counter.Ranges,
					Max: counter.Max, Gaps: of.Numbers.Gaps(), Unused: counter.Max - of.Numbers.Count,
				}
				if of.Numbers.Greatest < counter.Max {
					d.Gaps++
				}
				s.Collections = append(s.Collections, d)
				s.Unused += d.Unused // also of ranges whose replies came too late
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	s.Reserved = s.IDs + s.Returned + s.Unused
	return nil
}

func verdict(found outcome) error {
	if found.Duplicates > 0 {
		return &exit.Error{Code: exit.Fault, Text: fmt.Sprintf("%d identifiers were given twice: please report this", found.Duplicates)}
	}
	for _, c := range found.Collections {
		if c.Unused < 0 {
			return &exit.Error{Code: exit.Fault, Text: fmt.Sprintf("of %s on %s more numbers were given than there are up to Max: please report this",
				c.Collection, c.Server)}
		}
	}
	return nil
}
