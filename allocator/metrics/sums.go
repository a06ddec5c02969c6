package metrics

import (
	"math"
	"strconv"
	"time"

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

// serverSums is the figures of all servers with one name.
type serverSums struct {
	up       bool
	retry    time.Duration
	adds     map[prefix.Server]bool
	answered bool
	age      time.Duration // of the oldest answer
	jumps    map[allocator.Evidence]int64
	attempts [2]attempts // refills, identities
}

type attempts struct {
	count  int64
	took   time.Duration
	atMost []int64
	failed map[allocator.FailureKind]int64
}

func sum(all []allocator.Stats, l *labels) (collections map[string]*collectionSums, servers map[string]*serverSums) {
	collections, servers = make(map[string]*collectionSums), make(map[string]*serverSums)
	for _, stats := range all {
		low, high := interval(&stats)
		for i := range stats.Collections {
			c := &stats.Collections[i]
			label := l.of(c.Name)
			if collections[label] == nil {
				collections[label] = &collectionSums{runway: math.Inf(1), headroom: 1}
			}
			collections[label].add(c, low, high)
		}
		for i := range stats.Servers {
			s := &stats.Servers[i]
			label := serverLabel(s.Name)
			if servers[label] == nil {
				servers[label] = newServerSums()
			}
			servers[label].add(s)
		}
	}
	return collections, servers
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

func used(all []allocator.Stats) int {
	names := make(map[string]bool)
	for _, stats := range all {
		for i := range stats.Collections {
			names[prefix.Fold(stats.Collections[i].Name)] = true
		}
	}
	return len(names)
}

func (s *collectionSums) add(c *allocator.CollectionStats, low, high int64) {
	s.Add(*c)
	s.headroom = min(s.headroom, 1-float64(c.Greatest-(low-1))/float64(high-(low-1)))
	if c.Runway < math.MaxInt64 {
		s.runway = min(s.runway, c.Runway.Seconds())
	}
}

func (s *collectionSums) send(metrics chan<- prometheus.Metric, label string) {
	for _, counter := range []struct {
		desc  *prometheus.Desc
		value int64
	}{
		{issued, s.Issued}, {reserved, s.Reserved}, {returned, s.Returned}, {burnt, s.Burnt}, {ranges, s.Ranges}, {waits, s.Waits},
	} {
		metrics <- prometheus.MustNewConstMetric(counter.desc, prometheus.CounterValue, float64(counter.value), label)
	}
	for _, gauge := range []struct {
		desc  *prometheus.Desc
		value float64
	}{
		{held, float64(s.Held)}, {greatest, float64(s.Greatest)}, {headroom, max(0, s.headroom)}, {runway, s.runway},
	} {
		metrics <- prometheus.MustNewConstMetric(gauge.desc, prometheus.GaugeValue, gauge.value, label)
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

func newServerSums() *serverSums {
	s := &serverSums{up: true, adds: make(map[prefix.Server]bool), jumps: make(map[allocator.Evidence]int64)}
	for i := range s.attempts {
		s.attempts[i].atMost = make([]int64, len(fleet.Bounds))
		s.attempts[i].failed = make(map[allocator.FailureKind]int64)
	}
	return s
}

func (s *serverSums) add(one *allocator.ServerStats) {
	s.up = s.up && one.Up
	s.retry = max(s.retry, one.RetryIn)
	if one.Answered {
		s.answered, s.age = true, max(s.age, one.AnswerAge)
	}
	if one.Known {
		s.adds[one.Settings] = true
	}
	for evidence, n := range one.Jumps {
		s.jumps[evidence] += n
	}
	s.attempts[0].add(&one.Refills)
	s.attempts[1].add(&one.Identities)
}

func (s *serverSums) send(metrics chan<- prometheus.Metric, label string) {
	isUp := 0.0
	if s.up {
		isUp = 1
	}
	metrics <- prometheus.MustNewConstMetric(up, prometheus.GaugeValue, isUp, label)
	metrics <- prometheus.MustNewConstMetric(retry, prometheus.GaugeValue, s.retry.Seconds(), label)
	for adds := range s.adds {
		metrics <- prometheus.MustNewConstMetric(info, prometheus.GaugeValue, 1, label, valid(adds.ServerPrefix), adds.NodeTag, homes[adds.Identities],
			bound(adds.MinValue), bound(adds.MaxValue), adds.Durable)
	}
	if s.answered {
		metrics <- prometheus.MustNewConstMetric(answerAge, prometheus.GaugeValue, s.age.Seconds(), label)
	}
	for evidence, n := range s.jumps {
		metrics <- prometheus.MustNewConstMetric(jumps, prometheus.CounterValue, float64(n), label, string(evidence))
	}
	s.attempts[0].send(metrics, refills, refillFailures, label)
	s.attempts[1].send(metrics, identities, identityFailures, label)
}

func (a *attempts) add(one *allocator.AttemptStats) {
	a.count += one.Took.Count
	a.took += one.Took.Total
	for i, n := range one.Took.AtMost {
		a.atMost[i] += n
	}
	for kind, n := range one.Failed {
		a.failed[kind] += n
	}
}

func (a *attempts) send(metrics chan<- prometheus.Metric, took, failures *prometheus.Desc, label string) {
	buckets := make(map[float64]uint64, len(a.atMost))
	for i, bound := range fleet.Bounds {
		buckets[bound.Seconds()] = uint64(a.atMost[i])
	}
	metrics <- prometheus.MustNewConstHistogram(took, uint64(a.count), a.took.Seconds(), buckets, label)
	for kind, n := range a.failed {
		metrics <- prometheus.MustNewConstMetric(failures, prometheus.CounterValue, float64(n), label, string(kind))
	}
}
