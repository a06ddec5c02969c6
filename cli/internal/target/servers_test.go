package target

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/hilo-id/hilo/allocator"
	"github.com/hilo-id/hilo/cli/internal/exit"
)

func TestExplainStatesTheRemedyWhereNoServerIsNamed(t *testing.T) {
	t.Parallel()
	o := Opened{Servers: Servers{Targets: []Target{{Name: "north"}, {Name: "south"}}}, Timeout: time.Second}
	err := o.Explain(t.Context(), fmt.Errorf("allocator: foo: %w: no answer before the end of ctx: %w", allocator.ErrUnavailable, context.DeadlineExceeded))
	want := "nothing came back within " + o.Patience(time.Second).String() +
		", in which each server has --timeout; check the servers, or name others with --redis NAME=URL"
	if got := exit.Sentence(err); got != want || exit.Code(err) != exit.Unavailable {
		t.Errorf("got exit %d, %q, want exit %d, %q", exit.Code(err), got, exit.Unavailable, want)
	}
}
