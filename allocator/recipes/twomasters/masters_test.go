package twomasters_test

import (
	"errors"
	"testing"

	"github.com/redis/go-redis/v9/logging"
	"go.uber.org/goleak"

	"github.com/hilo-id/hilo/allocator"
	"github.com/hilo-id/hilo/allocator/recipes/internal/stand"
	"github.com/hilo-id/hilo/allocator/recipes/twomasters"
)

func TestMain(m *testing.M) {
	logging.Disable() // the tests cause the errors that go-redis reports
	goleak.VerifyTestMain(m)
}

func TestSouthIssuesNumbersOfItsIntervalFromTheStart(t *testing.T) {
	t.Parallel()
	north, south := stand.Masters(t)
	north.Kill()
	ids := stand.Both(t, north, south, allocator.Options{})
	if number, err := ids.NextNumber(t.Context(), "orders"); number != twomasters.NorthMax+1 || err != nil {
		t.Errorf("got %d, %v while north is down, want the first number of south", number, err)
	}
}

func TestNextNumberRefusesAMasterWithAnotherInterval(t *testing.T) {
	t.Parallel()
	north, south := stand.Masters(t)
	ids := stand.Both(t, south, north, allocator.Options{}) // the wrong way round
	if number, err := ids.NextNumber(t.Context(), "orders"); !errors.Is(err, allocator.ErrPrefixConflict) {
		t.Errorf("got %d, %v, want ErrPrefixConflict", number, err)
	}
}
