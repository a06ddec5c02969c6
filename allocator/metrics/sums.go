package metrics

import (
	"math"
	"strconv"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/hilo-id/hilo/allocator"
	"github.com/hilo-id/hilo/allocator/internal/fleet"
	"github.com/hilo-id/hilo/prefix"
)

// collectionSums is the figures of all collections with one label.
type collectionSums struct {
	allocator.CollectionStats
	runway, headroom float64
}

// serverSums is the figures of all servers with one name. It begins as the first of them.
type serverSums struct {
	allocator.ServerStats
	adds map[prefix.Server]bool
}

// sum returns the figures by label, and the number of collections used.
func sum(all []allocator.Stats, l *labels) (collections map[string]*collectionSums, servers map[string]*serverSums, used int) {
	collections, servers = make(map[string]*collectionSums), make(map[string]*serverSums)
	names := make(map[string]bool)
	for _, stats := range all {
		low, high := interval(&stats)
		for i := range stats.Collections {
			c := &stats.Collections[i]
			names[prefix.Fold(c.Name)] = true
			label := l.of(c.Name)
			if collections[label] == nil {
				collections[label] = &collectionSums{runway: math.Inf(1), headroom: 1}
			}
			collections[label].add(c, low, high)
		}
		for i := range stats.Servers {
			s := &stats.Servers[i]
			label := serverLabel(s.Name)
			if sums := servers[label]; sums != nil {
				sums.add(s)
			} else {
				servers[label] = &serverSums{*s, make(map[prefix.Server]bool)}
			}
			if s.Known {
				servers[label].adds[s.Settings] = true
			}
		}
	}
	return collections, servers, len(names)
}

// interval returns the least and the greatest number that any server issues, as far as they are known.
func interval(stats *allocator.Stats) (least, greatest int64) {
	least = math.MaxInt64
	for i := range stats.Servers {
		low, high := stats.Servers[i].Settings.Interval() // all numbers, if it is unknown
		least, greatest = min(least, low), max(greatest, high)
	}
	return least, min(stats.Limit, greatest)
}

func (s *collectionSums) add(c *allocator.CollectionStats, low, high int64) {
	s.Add(*c)
	s.headroom = min(s.headroom, 1-float64(c.Greatest-(low-1))/float64(high-(low-1)))
	if c.Runway < math.MaxInt64 {
		s.runway = min(s.runway, c.Runway.Seconds())
	}
}

func (s *collectionSums) send(metrics chan<- prometheus.Metric, label string) {
	for counter, n := range map[*prometheus.Desc]int64{
		issued: s.Issued, reserved: s.Reserved, returned: s.Returned, burnt: s.Burnt, ranges: s.Ranges, waits: s.Waits,
	} {
		metrics <- prometheus.MustNewConstMetric(counter, prometheus.CounterValue, float64(n), label)
	}
	for gauge, value := range map[*prometheus.Desc]float64{
		held: float64(s.Held), greatest: float64(s.Greatest), headroom: max(0, s.headroom), runway: s.runway,
	} {
		metrics <- prometheus.MustNewConstMetric(gauge, prometheus.GaugeValue, value, label)
	}
}

// homes is how the home of identities is told in a label: as in its key.
var homes = map[bool]string{true: "here", false: ""}

// bound returns a bound of an interval as in its key, "" if there is none.
func bound(value int64) string {
	if value == 0 {
		return ""
	}
	return strconv.FormatInt(value, 10)
}

func (s *serverSums) add(one *allocator.ServerStats) {
	s.Up = s.Up && one.Up
	s.RetryIn = max(s.RetryIn, one.RetryIn)
	s.Answered, s.AnswerAge = s.Answered || one.Answered, max(s.AnswerAge, one.AnswerAge)
	if one.CeilingErr != nil && (s.CeilingErr == nil || one.CeilingLasts < s.CeilingLasts) {
		s.CeilingErr, s.CeilingLasts = one.CeilingErr, one.CeilingLasts
	}
	for evidence, n := range one.Jumps {
		s.Jumps[evidence] += n
	}
	addAttempts(&s.Refills, &one.Refills)
	addAttempts(&s.Identities, &one.Identities)
}

func (s *serverSums) send(metrics chan<- prometheus.Metric, label string) {
	metrics <- prometheus.MustNewConstMetric(up, prometheus.GaugeValue, bit(s.Up), label)
	metrics <- prometheus.MustNewConstMetric(retry, prometheus.GaugeValue, s.RetryIn.Seconds(), label)
	for adds := range s.adds {
		metrics <- prometheus.MustNewConstMetric(info, prometheus.GaugeValue, 1, label, valid(adds.ServerPrefix), adds.NodeTag, homes[adds.Identities],
			bound(adds.MinValue), bound(adds.MaxValue), adds.Durable)
	}
	if s.Answered { // maybe after the moment of the snapshot
		metrics <- prometheus.MustNewConstMetric(answerAge, prometheus.GaugeValue, max(0, s.AnswerAge.Seconds()), label)
	}
	metrics <- prometheus.MustNewConstMetric(ceilingBlocked, prometheus.GaugeValue, bit(s.CeilingErr != nil), label)
	if s.CeilingErr != nil && s.CeilingLasts > 0 {
		metrics <- prometheus.MustNewConstMetric(ceilingSeconds, prometheus.GaugeValue, s.CeilingLasts.Seconds(), label)
	}
	for evidence, n := range s.Jumps {
		metrics <- prometheus.MustNewConstMetric(jumps, prometheus.CounterValue, float64(n), label, string(evidence))
	}
	sendAttempts(metrics, &s.Refills, refills, refillFailures, label)
	sendAttempts(metrics, &s.Identities, identities, identityFailures, label)
}

func bit(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

func addAttempts(sum, one *allocator.AttemptStats) {
	sum.Took.Count += one.Took.Count
	sum.Took.Total += one.Took.Total
	for i, n := range one.Took.AtMost {
		sum.Took.AtMost[i] += n
	}
	for kind, n := range one.Failed {
		sum.Failed[kind] += n
	}
}

func sendAttempts(metrics chan<- prometheus.Metric, a *allocator.AttemptStats, took, failures *prometheus.Desc, label string) {
	buckets := make(map[float64]uint64, len(fleet.Bounds))
	for i, bound := range fleet.Bounds {
		buckets[bound.Seconds()] = uint64(a.Took.AtMost[i])
	}
	metrics <- prometheus.MustNewConstHistogram(took, uint64(a.Took.Count), a.Took.Total.Seconds(), buckets, label)
	for kind, n := range a.Failed {
		metrics <- prometheus.MustNewConstMetric(failures, prometheus.CounterValue, float64(n), label, string(kind))
	}
}
