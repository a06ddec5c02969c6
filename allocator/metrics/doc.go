// Package metrics shows Prometheus what allocators do.
//
//	collector, err := metrics.New(metrics.Options{}, ids)
//	…
//	prometheus.MustRegister(collector)
//
// Everything is read from Allocator.Stats when it is scraped: nothing is counted per identifier, and an allocator that nobody
// scrapes pays nothing. A scrape costs a short lock per collection that was used.
//
// Labels are bounded: collection has at most Options.MostCollections values and "other", server is by name, kind and evidence are
// fixed lists. All are the same series from one scrape to the next, also those that are still 0.
//
// Where several allocators are given, in one process, their figures are added
// up; of runway, headroom and health it is the worst that counts.
package metrics
