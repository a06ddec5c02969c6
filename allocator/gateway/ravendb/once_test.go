package ravendb

import (
	"errors"
	"fmt"
	"testing"
	"time"
)

func TestAnswersRememberUntilTheirTime(t *testing.T) {
	t.Parallel()
	full := errors.New("full")
	for _, tt := range []struct {
		name string
		full error
	}{{"dropping the oldest", nil}, {"refusing", full}} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			a := answers{max: 3, memory: time.Minute, full: tt.full}
			now := time.Now()
			for i := range 4 {
				if _, first, err := a.remember(fmt.Sprint(i), now); i < 3 && (!first || err != nil) || i == 3 && !errors.Is(err, tt.full) {
					t.Fatalf("remember(%d): got %t, %v, want true, <nil> for the first three, then %v", i, first, err, tt.full)
				}
			}
			if _, first, err := a.remember("0", now); tt.full != nil && (first || err != nil) || tt.full == nil && !first {
				t.Errorf("the oldest: got %t, %v, want it remembered: %t", first, err, tt.full != nil)
			}
			for i := range 3 {
				if _, first, err := a.remember(fmt.Sprint(i), now.Add(time.Minute)); !first || err != nil {
					t.Errorf("remember(%d) after a minute: got %t, %v, want true", i, first, err)
				}
			}
			if len(a.order) != 3 || len(a.byID) != 3 {
				t.Errorf("got %d and %d, want 3", len(a.order), len(a.byID))
			}
		})
	}
}
