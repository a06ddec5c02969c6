package metrics

import (
	"cmp"
	"fmt"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/hilo-id/hilo/allocator"
)

// Options are the settings of a Collector. The zero value works.
type Options struct {
	// MostCollections is how many collections have series of their own, 1 or more: those that come up first and, of those that
	// come up between two scrapes, the busiest. All others are added up as "other". Default 100.
	MostCollections int
}

// Collector is a prometheus.Collector over allocators. It is safe for concurrent use, and may outlive their Close.
type Collector struct {
	allocators []*allocator.Allocator
	labels     labels
}

// New makes a collector over one or several allocators. It reads nothing yet. Errors: allocator.ErrInvalidOptions.
func New(opts Options, allocators ...*allocator.Allocator) (*Collector, error) {
	opts.MostCollections = cmp.Or(opts.MostCollections, 100)
	if opts.MostCollections < 1 {
		return nil, fmt.Errorf("metrics: %w: MostCollections is %d: must be 1 or more", allocator.ErrInvalidOptions, opts.MostCollections)
	}
	for i, a := range allocators {
		if a == nil {
			return nil, fmt.Errorf("metrics: %w: allocator %d is nil", allocator.ErrInvalidOptions, i+1)
		}
	}
	return &Collector{allocators: allocators, labels: labels{most: opts.MostCollections, own: make(map[string]bool)}}, nil
}

// Describe is part of prometheus.Collector.
func (*Collector) Describe(descs chan<- *prometheus.Desc) {
	for _, d := range allDescs {
		descs <- d
	}
}

// Collect is part of prometheus.Collector.
func (c *Collector) Collect(metrics chan<- prometheus.Metric) {
	all := make([]allocator.Stats, len(c.allocators))
	for i, a := range c.allocators {
		all[i] = a.Stats()
	}
	c.labels.learn(all)
	collections, servers, used := sum(all, &c.labels)
	for label, sums := range collections {
		sums.send(metrics, label)
	}
	for name, sums := range servers {
		sums.send(metrics, name)
	}
	metrics <- prometheus.MustNewConstMetric(collectionsUsed, prometheus.GaugeValue, float64(used))
}
