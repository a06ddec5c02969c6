package admin

import (
	"context"
	"errors"
	"fmt"

	"github.com/hilo-id/hilo/prefix"
)

var (
	// ErrInterval means that a server's new MinValue or MaxValue would leave numbers that were issued outside of its interval.
	ErrInterval = errors.New("an interval belongs to its server for ever")
	// ErrNeedsTrust means that a change is safe only under a condition that cannot be seen, which the text states. It is made
	// by an Admin of TrustSettings.
	ErrNeedsTrust = errors.New("needs a confirmation")
)

// leastInterval is the least number of numbers in an interval that needs no confirmation. A restart without Durable costs a
// counter 65,536 of them and more.
const leastInterval = 1 << 24

// WithLimit returns an Admin whose SetServerPrefix raises no counter above limit, the greatest number that the allocators
// issue. A counter without room for the gap of a jump is raised to limit, issues nothing more, and is reported to full.
func (m *Admin) WithLimit(limit int64, full func(k Kind, name string, limit int64)) *Admin {
	return m.with(func(other *Admin) { other.limit, other.full = limit, full })
}

// checkInterval returns why the interval may not change from that of now to that of s, or nil.
func (m *Admin) checkInterval(ctx context.Context, now, s prefix.Server) error {
	low, high := s.Interval()
	nowLow, nowHigh := now.Interval()
	switch {
	case low == nowLow && high == nowHigh:
		return nil
	case low < nowLow:
		become := "be removed"
		if s.MinValue != 0 {
			become = fmt.Sprint("become ", low)
		}
		return fmt.Errorf("admin: %w: MinValue is %d, and may only rise, not %s; where no other server ever issued the numbers below, remove field %s of key %s by hand",
			ErrInterval, nowLow, become, fieldMin, m.keys.Server())
	case high-low < leastInterval-1 && !m.trusting:
		return fmt.Errorf("admin: %w: %d to %d has fewer than 16,777,216 numbers, and a restart of the server may cost each counter more than 65,536", ErrNeedsTrust, low, high)
	case high >= nowHigh:
		return nil
	}
	for state, err := range m.States(ctx) {
		if err != nil {
			return err
		}
		if state.Max > high {
			return fmt.Errorf("admin: %w: MaxValue may not be %d: %s %s stands at %d", ErrInterval, high, state.Kind, state.Name, state.Max)
		}
	}
	return nil
}
