package cli

import (
	"context"
	"fmt"
	"time"

	"github.com/hilo-id/hilo/allocator"
)

// judge counts, from the identifiers themselves and from what stands in Redis.
func (s *story) judge(ctx context.Context) (outcome, error) {
	found := outcome{Workers: s.Workers, Seconds: time.Since(s.start).Seconds(), Events: s.events, Alone: s.alone}
	var j judge
	for worker, ids := range s.texts {
		for _, id := range ids {
			if err := j.text(id, s.Separator, worker+1); err != nil {
				return found, fmt.Errorf("%q was given, which is no identifier: %w", id, err)
			}
		}
	}
	found.IDs, found.Duplicates = j.ids, j.again
	for _, stats := range s.stats {
		for _, c := range stats.Collections {
			found.RoundTrips += c.Ranges
			found.Returned += c.Returned
		}
	}
	for _, w := range s.fleet {
		found.Failures += w.failures.Load()
	}
	for _, m := range s.masters.all() {
		err := m.administer(s.Namespace, func(admin *allocator.Admin) error {
			for _, of := range j.series {
				if of.ServerPrefix != m.prefix {
					continue
				}
				counter, err := admin.Counter(ctx, of.Collection)
				if err != nil {
					return err
				}
				d := demonstrated(m, of, counter)
				found.Collections = append(found.Collections, d)
				found.Unused += d.Unused // also of ranges whose replies came too late
			}
			return nil
		})
		if err != nil {
			return found, err
		}
	}
	found.Reserved = found.IDs + found.Returned + found.Unused
	return found, nil
}

func demonstrated(m *master, of *series, counter allocator.Counter) demonstration {
	d := demonstration{
		Server:     m.name,
		Collection: of.Collection,
		IDs:        of.ids,
		Duplicates: of.again,
		Ranges:     counter.Ranges,
		Max:        counter.Max,
		Gaps:       of.numbers.gaps(),
		Unused:     counter.Max - of.numbers.count,
	}
	if of.numbers.greatest < counter.Max {
		d.Gaps++
	}
	return d
}

func verdict(found outcome) error {
	if found.Duplicates > 0 {
		return &failure{code: exitFault, text: fmt.Sprintf("%d identifiers were given twice: please report this", found.Duplicates)}
	}
	for _, c := range found.Collections {
		if c.Unused < 0 {
			return &failure{code: exitFault, text: fmt.Sprintf("of %s on %s more numbers were given than there are up to Max: please report this",
				c.Collection, c.Server)}
		}
	}
	return nil
}
