package allocator

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/hilo-id/hilo/scripts/redistest"
)

var guid = regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`)

func TestResolveChoosesTheKindByTheText(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		client := redistest.NewClient(t, s)
		tagged(t, client)
		for _, row := range []struct{ text, separator, want string }{ // # is the number
			{"companies/", "", "companies/000000000000000000#-A"},
			{"companies|", "", "companies/#"},
			{"Companies|", "", "Companies/#"},
			{"users/ravendb", "", "users/ravendb"},
			{"products:", "", "products:"},
			{"a|b", "", "a|b"},
			{"/a", "", "/a"},
			{" ", "", " "},
			{"companies:", ":", "companies:000000000000000000#-A"},
			{"products|", ":", "products:#"},
			{"products/", ":", "products/"},
		} {
			client.Del(t.Context(), "{Raven}/ServerSide", "{Raven}/Identities/companies")
			a := mustNew(t, client, Options{Separator: row.separator})
			order, invoice := Order{ID: row.text}, Invoice{ID: &row.text}
			for number, get := range []func() (string, string){
				func() (string, string) {
					id, err := a.Resolve(t.Context(), row.text)
					if err != nil {
						t.Error(err)
					}
					return id, id
				},
				func() (string, string) { return mustAssign(t, a, &order), order.ID },
				func() (string, string) { return mustAssign(t, a, &invoice), *invoice.ID },
			} {
				want := strings.ReplaceAll(row.want, "#", strconv.Itoa(number+1))
				got, member := get()
				if got != want || member != got {
					t.Errorf("%q gave %s, the member is %s, want %s", row.text, got, member, want)
				}
			}
		}
	})
}

func TestAssignDistinguishesNilFromAnEmptyText(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		a := mustNew(t, redistest.NewClient(t, s), Options{})
		var none Invoice
		if id := mustAssign(t, a, &none); id != "invoices/1" || *none.ID != id {
			t.Errorf("nil: got %s and the field %s, want invoices/1 in both", id, *none.ID)
		}
		empty := Invoice{ID: new("")}
		if id := mustAssign(t, a, &empty); !guid.MatchString(id) || *empty.ID != id {
			t.Errorf("pointer to the empty text: got %s and the field %s, want a GUID in both", id, *empty.ID)
		}
	})
}

func TestAssignNeverWritesToASharedString(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		a := mustNew(t, redistest.NewClient(t, s), Options{})
		asks := "companies|"
		one, two := Invoice{ID: &asks}, Invoice{ID: &asks}
		got := []string{mustAssign(t, a, &one), mustAssign(t, a, &two), *one.ID, *two.ID, asks}
		if want := []string{"companies/1", "companies/2", "companies/1", "companies/2", "companies|"}; !slices.Equal(got, want) {
			t.Errorf("got %q, want %q", got, want)
		}
		kept := "companies/7"
		one.ID = &kept
		if mustAssign(t, a, &one); one.ID != &kept {
			t.Error("got another pointer, want the one that is kept")
		}
	})
}

func TestResolveOfTheEmptyTextReturnsDistinctGUIDs(t *testing.T) {
	t.Parallel()
	a := offline(t, Options{})
	seen := make(map[string]bool)
	for range 1000 {
		id, err := a.Resolve(t.Context(), "")
		if err != nil || !guid.MatchString(id) || seen[id] {
			t.Fatalf("got %q, %v, seen before: %v, want another GUID each time", id, err, seen[id])
		}
		seen[id] = true
	}
}

func TestResolveKeepsATextAfterClose(t *testing.T) {
	t.Parallel()
	a := offline(t, Options{})
	mustClose(t, a)
	if id, err := a.Resolve(t.Context(), "users/ravendb"); id != "users/ravendb" || err != nil {
		t.Errorf("got %q, %v, want users/ravendb, <nil>", id, err)
	}
	if id, err := a.Resolve(t.Context(), ""); id != "" || !errors.Is(err, ErrClosed) {
		t.Errorf(`the empty text: got %q, %v, want "", ErrClosed`, id, err)
	}
	text := ""
	invoice := Invoice{ID: &text}
	if id, err := a.Assign(t.Context(), &invoice); id != "" || !errors.Is(err, ErrClosed) || invoice.ID != &text || text != "" {
		t.Errorf(`pointer to it: got %q, %v and the field %q, want "", ErrClosed, and the field as it was`, id, err, *invoice.ID)
	}
}

// failures are the ways in which a server or a caller makes Assign fail.
var failures = []struct {
	name string
	opts Options
	fail func(t *testing.T, s *redistest.Server, client *redis.Client, a *Allocator) context.Context
	want []error
}{
	{"the server is away", Options{}, func(t *testing.T, s *redistest.Server, _ *redis.Client, _ *Allocator) context.Context {
		s.Kill()
		return t.Context()
	}, []error{ErrUnavailable}},
	{"ctx ended", Options{}, func(t *testing.T, _ *redistest.Server, _ *redis.Client, _ *Allocator) context.Context {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		return ctx
	}, []error{ErrUnavailable, context.Canceled}},
	{"corrupt", Options{}, func(t *testing.T, _ *redistest.Server, client *redis.Client, _ *Allocator) context.Context {
		for key, field := range counterFields {
			client.HSet(t.Context(), key, field, "01")
		}
		return t.Context()
	}, []error{ErrCorrupt}},
	{"exhausted", Options{Limit: 7}, func(t *testing.T, _ *redistest.Server, client *redis.Client, _ *Allocator) context.Context {
		for key, field := range counterFields {
			client.HSet(t.Context(), key, field, "7")
		}
		return t.Context()
	}, []error{ErrExhausted}},
	{"not seeded", Options{}, func(t *testing.T, _ *redistest.Server, client *redis.Client, _ *Allocator) context.Context {
		client.HSet(t.Context(), "{Raven}/ServerPrefixForHilo", "NewCounters", "no")
		return t.Context()
	}, []error{ErrNotSeeded}},
	{"closed", Options{}, func(t *testing.T, _ *redistest.Server, _ *redis.Client, a *Allocator) context.Context {
		mustClose(t, a)
		return t.Context()
	}, []error{ErrClosed}},
}

var counterFields = map[string]string{
	"{Raven}/HiLo/orders": "Max", "{Raven}/HiLo/invoices": "Max",
	"{Raven}/Identities/companies": "Value", "{Raven}/ServerSide": "Value",
}

func TestAssignLeavesTheMemberUnchangedOnError(t *testing.T) {
	t.Parallel()
	for _, f := range failures {
		t.Run(f.name, func(t *testing.T) {
			t.Parallel()
			redistest.Each(t, func(t *testing.T, s *redistest.Server) {
				client := redistest.NewClient(t, s)
				opts := redistest.Options(s)
				opts.MaxRetries, opts.DialerRetries = -1, 1 // a server that is down is not retried
				hasty := redis.NewClient(opts)
				t.Cleanup(func() { _ = hasty.Close() })
				a := mustNew(t, hasty, f.opts)
				ctx := f.fail(t, s, client, a)
				for _, holds := range []string{"", "companies/", "companies|"} {
					wantUnchanged(ctx, t, a, holds, f.want...)
				}
			})
		})
	}
	t.Run("invalid name", func(t *testing.T) {
		t.Parallel()
		a := offline(t, Options{})
		for _, holds := range []string{"/", "|", "a b/", "a b|", "a/b/", "a/b|", "a|/", "a||", "a{/", "\xff|", strings.Repeat("a", 129) + "/"} {
			wantUnchanged(t.Context(), t, a, holds, ErrInvalidName)
		}
	})
}

// wantUnchanged checks that Resolve fails, and that Assign fails for a string and a *string and leaves both unchanged.
func wantUnchanged(ctx context.Context, t *testing.T, a *Allocator, holds string, want ...error) {
	t.Helper()
	text := holds
	order := Order{ID: holds}
	invoice := Invoice{ID: &text}
	if holds == "" {
		invoice.ID = nil // which requests the same kind
	}
	was := invoice.ID
	for name, get := range map[string]func() (string, error){
		"Order":   func() (string, error) { return a.Assign(ctx, &order) },
		"Invoice": func() (string, error) { return a.Assign(ctx, &invoice) },
		"Resolve": func() (string, error) { return a.Resolve(ctx, cmp.Or(holds, "companies|")) },
	} {
		id, err := get()
		if id != "" {
			t.Errorf(`%s with %q: got %s, want ""`, name, holds, id)
		}
		for _, sentinel := range want {
			if !errors.Is(err, sentinel) {
				t.Errorf("%s with %q: got %v, want %v", name, holds, err, sentinel)
			}
		}
		if text := err.Error(); strings.Count(text, "allocator: ") != 1 || !strings.HasPrefix(text, "allocator: ") {
			t.Errorf("%s with %q: got %v, want one allocator: at its beginning", name, holds, err)
		}
	}
	if order.ID != holds || invoice.ID != was || text != holds {
		t.Errorf("%q: got %q and %q, want it as it was", holds, order.ID, text)
	}
}

// The first server-side identifier waits until the servers were compared, and so do the calls that arrive meanwhile. A call that
// is canceled affects neither them nor the state of the servers.
func TestResolveServesOthersWhenACallerCancelsDuringTheComparison(t *testing.T) {
	t.Parallel()
	redistest.EachReal(t, func(t *testing.T, s *redistest.Server) {
		north, south := masters(t, s)
		a := mustMulti(t, Options{RefillTimeout: 500 * time.Millisecond},
			Server{Name: "north", Client: impatient(t, north)}, Server{Name: "south", Client: impatient(t, south)})
		south.Pause()
		defer south.Resume()
		leaves, leave := context.WithCancel(t.Context())
		resolve := func(ctx context.Context) <-chan error {
			asked := make(chan error, 1)
			go func() {
				text, err := a.Resolve(ctx, "orders/")
				if err == nil && !strings.HasPrefix(text, "orders/NorthServer/") {
					err = fmt.Errorf("got %q, want one of north", text)
				}
				asked <- err
			}()
			return asked
		}
		goes := resolve(leaves)
		client := redistest.NewClient(t, north)
		for client.HGet(t.Context(), "{Raven}/ServerSide", "Value").Val() == "" { // then south is asked
			<-time.After(time.Millisecond)
		}
		stays := resolve(t.Context())
		leave()
		if err := <-stays; err != nil {
			t.Error(err)
		}
		if err := <-goes; err != nil && !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		if north := a.Stats().Servers[0]; !north.Up {
			t.Errorf("got %v for the server that serves, want it up", north.Err)
		}
	})
}
