package show

import (
	"slices"
	"time"
)

const (
	// rateWindow is the time over which a rate is measured. It spans several of the ranges that a worker reserves.
	rateWindow = 5 * time.Minute
	// ratePoint is the least distance of two points, which bounds the memory of a counter.
	ratePoint = rateWindow / 30
)

// meter measures how many numbers of a counter are reserved a second. Numbers are reserved in ranges, so the rate is exact only
// from the moment that one range appeared to the moment that a later one appeared. Between these, the range that the first of
// them added and all later ones but the last were used.
type meter struct {
	points []rangeStart // the oldest first
	begun  bool         // points[0] is the first reading, which may lie anywhere between two ranges
	max    int64        // at the newest reading
}

// rangeStart is a moment when Max increased.
type rangeStart struct {
	at     time.Time
	before int64 // Max before
}

// read adds a reading and returns the rate. The rate is not known after the first reading.
func (m *meter) read(at time.Time, maximum int64) (rate float64, known bool) {
	if len(m.points) == 0 {
		m.points, m.begun, m.max = []rangeStart{{at, maximum}}, true, maximum
		return 0, false
	}
	if maximum > m.max {
		m.add(rangeStart{at, m.max})
	}
	for i := range m.points { // a returned range is reserved again later
		m.points[i].before = min(m.points[i].before, maximum)
	}
	m.max = maximum
	for len(m.points) > 2 && at.Sub(m.points[0].at) > rateWindow {
		m.points = slices.Delete(m.points, 0, 1)
	}
	return m.rate(at), true
}

// skip excludes a change of Max by which nobody reserved numbers, such as a jump. A measurement that has just begun begins anew.
func (m *meter) skip(by int64) {
	if m.begun || len(m.points) == 0 {
		*m = meter{}
		return
	}
	m.max += by
	for i := range m.points {
		m.points[i].before += by
	}
}

func (m *meter) add(p rangeStart) {
	if m.begun && len(m.points) == 2 {
		m.points, m.begun = slices.Delete(m.points, 0, 1), false
	}
	if n := len(m.points); n > 1 && !m.begun && m.points[n-1].at.Sub(m.points[n-2].at) < ratePoint {
		m.points[n-1] = p
		return
	}
	m.points = append(m.points, p)
}

// rate returns the rate at a time. Once the newest range lasts longer than it should, the numbers up to its end bound the rate.
func (m *meter) rate(now time.Time) float64 {
	first, last := m.points[0], m.points[len(m.points)-1]
	span := last.at.Sub(first.at)
	if now.Sub(last.at) >= max(rateWindow, 2*span) || len(m.points) == 1 {
		return 0
	}
	bound := float64(m.max-first.before) / now.Sub(first.at).Seconds()
	if m.begun {
		return max(0, bound)
	}
	return max(0, min(bound, float64(last.before-first.before)/span.Seconds()))
}
