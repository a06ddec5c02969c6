package cli

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/hilo-id/hilo/allocator"
	"github.com/hilo-id/hilo/allocator/admin"
	"github.com/hilo-id/hilo/cli/internal/exit"
	"github.com/hilo-id/hilo/cli/internal/term"
)

func TestRefusalNamesItsRemedy(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name   string
		err    error
		remedy string
	}{
		{"a home that is elsewhere", allocator.ErrIdentitiesElsewhere, "hilo settings set --identities"},
		{"a forced seed that came too late", admin.ErrChanged, "hilo inspect"},
		{"two of one prefix", allocator.ErrPrefixConflict, "hilo settings check"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			for _, err := range []error{
				fmt.Errorf("allocator: orders: %w: why", test.err),
				errors.Join(fmt.Errorf("on north: %w", test.err), fmt.Errorf("on south: %w", test.err)),
			} {
				var stderr strings.Builder
				if code := exit.Report(&stderr, term.Style{}, err); code != exit.Refused {
					t.Errorf("exit %d of %v", code, err)
				}
				if said := strings.Join(strings.Fields(stderr.String()), " "); !strings.Contains(said, test.remedy) {
					t.Errorf("%q does not say %q", said, test.remedy)
				}
			}
		})
	}
}
