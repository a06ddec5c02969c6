// Package metrics shows Prometheus what allocators do.
//
//	collector, err := metrics.New(metrics.Options{}, ids)
//	…
//	prometheus.MustRegister(collector)
//
// A scrape reads everything from Allocator.Stats, with a short lock per collection that was used. Nothing is counted per identifier, and
// without scrapes there is no cost.
//
// Labels are bounded: collection has at most Options.MostCollections values and "other", server is by name, kind and evidence are
// fixed lists. All series of a label are there from the first scrape, also those that are still 0.
//
// The figures of several allocators in one process are added up, except runway, headroom, ceiling and health, of which the worst
// counts.
package metrics
