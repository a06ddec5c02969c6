package admin

import (
	"time"

	"github.com/hilo-id/hilo/allocator/internal/fleet"
	"github.com/hilo-id/hilo/scripts"
)

// Durability states how a range is confirmed before it is used, like allocator.Durability.
type Durability scripts.Durability

// WithDefaults returns d with an allocator's defaults, or allocator.ErrInvalidOptions.
func (d Durability) WithDefaults() (Durability, error) {
	filled, err := fleet.WithDefaults(scripts.Durability(d))
	return Durability(filled), err
}

// AttemptTimeout returns how long a request may take with its confirmations, if it may take timeout without them.
func (d Durability) AttemptTimeout(timeout time.Duration) time.Duration {
	return fleet.AttemptTimeout(scripts.Durability(d), timeout)
}
