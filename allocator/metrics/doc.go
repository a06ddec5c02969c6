// Package metrics shows Prometheus what allocators do.
//
//	collector, err := metrics.New(metrics.Options{}, ids)
//	…
//	prometheus.MustRegister(collector)
//
// A scrape reads everything from Allocator.Stats. Nothing is counted per identifier, and without scrapes there is no cost. A scrape costs a short lock per collection that was used.
//
// Labels are bounded: collection has at most Options.MostCollections values and "other", server is by name, kind and evidence are
// fixed lists. All are the same series from one scrape to the next, also those that are still 0.
//
// Where several allocators are given, in one process, their figures are added
// up; of runway, headroom and health it is the worst that counts.
package metrics
