// Package twomasters issues plain numbers from two masters, for keys such as
// bigint. Each master issues those of its own interval.
package twomasters

import (
	"github.com/redis/go-redis/v9"

	"github.com/hilo-id/hilo/allocator"
)

// The intervals, as hilo settings set --min-value and --max-value set them. Each
// belongs to its master for ever.
const (
	NorthMax = 1_000_000_000_000
	SouthMax = 2_000_000_000_000
)

// New returns an allocator of both masters, which prefers north. With their
// intervals it also issues numbers while one of them is down at the start.
func New(north, south redis.UniversalClient, o allocator.Options) (*allocator.Allocator, error) {
	return allocator.NewMulti([]allocator.Server{
		{Name: "north", Client: north, MinValue: 1, MaxValue: NorthMax},
		{Name: "south", Client: south, MinValue: NorthMax + 1, MaxValue: SouthMax},
	}, o)
}
