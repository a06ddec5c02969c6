package metrics_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/redis/go-redis/v9"

	"github.com/hilo-id/hilo/allocator"
	"github.com/hilo-id/hilo/allocator/admin"
	"github.com/hilo-id/hilo/allocator/metrics"
	"github.com/hilo-id/hilo/prefix"
	"github.com/hilo-id/hilo/scripts/redistest"
)

func TestCollectorReportsWhatStatsReports(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		client := redistest.NewClient(t, s)
		setPrefix(t, client, prefix.Server{ServerPrefix: "NorthServer/", NodeTag: "A", Identities: true})
		ids := newAllocator(t, client, allocator.Options{Limit: 1000})
		take(t, ids, "orders", 3)
		take(t, ids, "Orders", 2)
		if _, err := ids.NextIdentity(t.Context(), "companies"); err != nil {
			t.Fatal(err)
		}
		if _, err := ids.NextIdentity(t.Context(), "companies"); err != nil {
			t.Fatal(err)
		}
		got := gather(t, newCollector(t, metrics.Options{}, ids))
		got.want(t, map[string]float64{
			`hilo_ids_issued_total{collection="orders"}`:   5,
			`hilo_ids_reserved_total{collection="orders"}`: 64,
			`hilo_ids_returned_total{collection="orders"}`: 0,
			`hilo_ids_burnt_total{collection="orders"}`:    0,
			`hilo_ids_held{collection="orders"}`:           59,
			`hilo_ranges_total{collection="orders"}`:       2,
			`hilo_waits_total{collection="orders"}`:        2,
			`hilo_greatest_number{collection="orders"}`:    64,
			`hilo_headroom_ratio{collection="orders"}`:     0.936,
			`hilo_collections`:                             1,
			`hilo_server_up{server="redis"}`:               1,
			`hilo_server_retry_seconds{server="redis"}`:    0,
			`hilo_server_ceiling_blocked{server="redis"}`:  0,
			`hilo_server_info{durable="",identities="",max_value="",min_value="",prefix="NorthServer/",server="redis",tag="A"}`: 1,
			`hilo_epoch_jumps_total{evidence="epoch",server="redis"}`:                                                           0,
			`hilo_identity_failures_total{kind="identities_elsewhere",server="redis"}`:                                          0,
			`hilo_refill_failures_total{kind="unguarded",server="redis"}`:                                                       0,
			`hilo_epoch_jumps_total{evidence="floor",server="redis"}`:                                                           0,
			`hilo_epoch_jumps_total{evidence="missing",server="redis"}`:                                                         0,
			`hilo_epoch_jumps_total{evidence="origin",server="redis"}`:                                                          0,
			`hilo_refill_seconds{server="redis"}`:                                                                               2,
			`hilo_identity_seconds{server="redis"}`:                                                                             2,
			`hilo_refill_failures_total{kind="exhausted",server="redis"}`:                                                       0,
			`hilo_identity_failures_total{kind="unavailable",server="redis"}`:                                                   0,
			`hilo_identity_failures_total{kind="not_durable",server="redis"}`:                                                   0,
			`hilo_refill_failures_total{kind="unavailable",server="redis"}`:                                                     0,
			`hilo_refill_failures_total{kind="prefix",server="redis"}`:                                                          0,
			`hilo_refill_failures_total{kind="mixed",server="redis"}`:                                                           0,
			`hilo_refill_failures_total{kind="corrupt",server="redis"}`:                                                         0,
			`hilo_refill_failures_total{kind="not_seeded",server="redis"}`:                                                      0,
			`hilo_refill_failures_total{kind="not_durable",server="redis"}`:                                                     0,
			`hilo_identity_failures_total{kind="not_seeded",server="redis"}`:                                                    0,
			`hilo_identity_failures_total{kind="exhausted",server="redis"}`:                                                     0,
			`hilo_identity_failures_total{kind="corrupt",server="redis"}`:                                                       0,
			`hilo_identity_failures_total{kind="prefix",server="redis"}`:                                                        0,
			`hilo_identity_failures_total{kind="mixed",server="redis"}`:                                                         0,
		})
		if age, there := got[`hilo_server_answer_age_seconds{server="redis"}`]; !there || age < 0 {
			t.Errorf("got answer age %v, %t, want it there and at least 0", age, there)
		}
		if runway := got[`hilo_runway_seconds{collection="orders"}`]; runway <= 0 {
			t.Errorf("got runway %v, want above 0", runway)
		}

		if err := ids.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		gather(t, newCollector(t, metrics.Options{}, ids)).want(t, map[string]float64{
			// "Orders" took the newest range, so 3..32 of "orders" cannot be returned.
			`hilo_ids_returned_total{collection="orders"}`: 30,
			`hilo_ids_burnt_total{collection="orders"}`:    29,
			`hilo_ids_held{collection="orders"}`:           0,
			`hilo_runway_seconds{collection="orders"}`:     0,
		})
	})
}

func TestFailuresAndJumpsAreCountedByTheirKind(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		client := redistest.NewClient(t, s)
		ids := newAllocator(t, client, allocator.Options{MinCapacity: 1, MaxCapacity: 1, Limit: 500_000_000})
		collector := newCollector(t, metrics.Options{}, ids)
		orders, err := ids.Collection("orders")
		if err != nil {
			t.Fatal(err)
		}
		request := func() { // Take of as much as a range has fetches nothing ahead
			if _, err := orders.Take(t.Context(), 2); err != nil {
				t.Fatal(err)
			}
		}
		request()
		for _, change := range []func() error{
			func() error { return client.HSet(t.Context(), "{Raven}/HiLo/orders", "Max", 1).Err() },
			func() error {
				return client.HSet(t.Context(), "{Raven}/HiLo/orders", "Origin", strings.Repeat("f", 40)).Err()
			},
			func() error { return client.Del(t.Context(), "{Raven}/HiLo/orders").Err() },
		} {
			if err := change(); err != nil {
				t.Fatal(err)
			}
			request()
		}
		if err := client.Set(t.Context(), "{Raven}/HiLo/users", "x", 0).Err(); err != nil {
			t.Fatal(err)
		}
		if _, err := ids.Next(t.Context(), "users"); !errors.Is(err, allocator.ErrCorrupt) {
			t.Errorf("users: got %v, want ErrCorrupt", err)
		}
		if err := client.HSet(t.Context(), "{Raven}/HiLo/full", "Max", 500_000_000).Err(); err != nil {
			t.Fatal(err)
		}
		if _, err := ids.Next(t.Context(), "full"); !errors.Is(err, allocator.ErrExhausted) {
			t.Errorf("full: got %v, want ErrExhausted", err)
		}
		got := gather(t, collector)
		for _, evidence := range []string{"floor", "origin", "missing"} {
			if n := got[fmt.Sprintf(`hilo_epoch_jumps_total{evidence=%q,server="redis"}`, evidence)]; n != 1 {
				t.Errorf("%s: got %v jumps, want 1", evidence, n)
			}
		}
		got.want(t, map[string]float64{
			`hilo_refill_failures_total{kind="corrupt",server="redis"}`:   1,
			`hilo_refill_failures_total{kind="exhausted",server="redis"}`: 1,
			`hilo_server_up{server="redis"}`:                              1, // it serves
		})
		s.Kill()
		for range 10 { // until the time to the next attempt, which doubles, is not over yet
			if _, err := ids.Next(t.Context(), "later"); !errors.Is(err, allocator.ErrUnavailable) {
				t.Errorf("later: got %v, want ErrUnavailable", err)
			}
			if got = gather(t, collector); got[`hilo_server_retry_seconds{server="redis"}`] > 0 {
				break
			}
		}
		got.want(t, map[string]float64{`hilo_server_up{server="redis"}`: 0})
		if got[`hilo_refill_failures_total{kind="unavailable",server="redis"}`] < 1 || got[`hilo_server_retry_seconds{server="redis"}`] <= 0 {
			t.Errorf("got %v, want at least one failure of kind unavailable and retry seconds above 0", got)
		}
	})
}

func TestCollectionsBeyondTheBoundAreOneSeriesThatNeverGoesDown(t *testing.T) {
	t.Parallel()
	ids := newAllocator(t, redistest.NewClient(t, redistest.StartMini(t)), allocator.Options{})
	collector := newCollector(t, metrics.Options{MostCollections: 2}, ids)
	take(t, ids, "quiet", 1)
	take(t, ids, "busy", 9)
	take(t, ids, "busier", 20)
	want := map[string]float64{
		`hilo_ids_issued_total{collection="busier"}`: 20,
		`hilo_ids_issued_total{collection="busy"}`:   9,
		`hilo_ids_issued_total{collection="other"}`:  1,
		`hilo_collections`:                           3,
	}
	gather(t, collector).want(t, want)

	take(t, ids, "busiest", 30) // too late for a series of its own
	want[`hilo_ids_issued_total{collection="other"}`] = 31
	want[`hilo_collections`] = 4
	got := gather(t, collector)
	got.want(t, want)
	for series := range got {
		if strings.Contains(series, "quiet") || strings.Contains(series, "busiest") {
			t.Errorf("got series %s, want none beyond the bound", series)
		}
	}
}

func TestSeveralAllocatorsAreAddedUp(t *testing.T) {
	t.Parallel()
	s := redistest.StartMini(t)
	one, two := newAllocator(t, redistest.NewClient(t, s), allocator.Options{}), newAllocator(t, redistest.NewClient(t, s), allocator.Options{Limit: 128})
	take(t, one, "orders", 3)
	take(t, two, "orders", 4)
	got := gather(t, newCollector(t, metrics.Options{}, one, two))
	got.want(t, map[string]float64{
		`hilo_ids_issued_total{collection="orders"}`: 7,
		`hilo_ranges_total{collection="orders"}`:     2,
		`hilo_greatest_number{collection="orders"}`:  64,
		`hilo_headroom_ratio{collection="orders"}`:   0.5, // that of the one that has least
		`hilo_collections`:                           1,
		`hilo_server_up{server="redis"}`:             1,
		`hilo_refill_seconds{server="redis"}`:        2,
	})
}

func TestSettingsOutOfRangeAreRefused(t *testing.T) {
	t.Parallel()
	if _, err := metrics.New(metrics.Options{MostCollections: -1}); !errors.Is(err, allocator.ErrInvalidOptions) || !strings.Contains(err.Error(), "MostCollections is -1") {
		t.Errorf("got %v, want ErrInvalidOptions, MostCollections is -1", err)
	}
	if _, err := metrics.New(metrics.Options{}, nil); !errors.Is(err, allocator.ErrInvalidOptions) || !strings.Contains(err.Error(), "allocator 1 is nil") {
		t.Errorf("got %v, want ErrInvalidOptions, allocator 1 is nil", err)
	}
}

// series is a set of values by name and labels. The value of a histogram is its count.
type series map[string]float64

func (s series) want(t *testing.T, want map[string]float64) {
	t.Helper()
	for name, value := range want {
		if got, ok := s[name]; !ok || math.Abs(got-value) > 1e-9 {
			t.Errorf("%s: got %v, %t, want %v", name, got, ok, value)
		}
	}
}

// gather scrapes a collector as Prometheus would, and runs the linter on the result.
func gather(t *testing.T, collector prometheus.Collector) series {
	t.Helper()
	problems, err := testutil.CollectAndLint(collector)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		t.Errorf("%s: got %s, want no problem", p.Metric, p.Text)
	}
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(collector)
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	all := make(series)
	for _, family := range families {
		for _, m := range family.GetMetric() {
			var labels []string
			for _, l := range m.GetLabel() {
				labels = append(labels, fmt.Sprintf("%s=%q", l.GetName(), l.GetValue()))
			}
			slices.Sort(labels)
			name := family.GetName()
			if len(labels) > 0 {
				name += "{" + strings.Join(labels, ",") + "}"
			}
			all[name] = m.GetCounter().GetValue() + m.GetGauge().GetValue() + float64(m.GetHistogram().GetSampleCount())
		}
	}
	return all
}

func newCollector(t *testing.T, opts metrics.Options, allocators ...*allocator.Allocator) *metrics.Collector {
	t.Helper()
	collector, err := metrics.New(opts, allocators...)
	if err != nil {
		t.Fatal(err)
	}
	return collector
}

func newAllocator(t *testing.T, client redis.UniversalClient, opts allocator.Options) *allocator.Allocator {
	t.Helper()
	ids, err := allocator.New(client, opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = ids.Close(context.Background()) })
	return ids
}

func take(t *testing.T, ids *allocator.Allocator, collection string, n int) {
	t.Helper()
	for range n {
		if _, err := ids.Next(t.Context(), collection); err != nil {
			t.Fatal(err)
		}
	}
}

func setPrefix(t *testing.T, client redis.UniversalClient, s prefix.Server) {
	t.Helper()
	operator, err := admin.New(client, admin.Options{Namespace: "Raven"})
	if err != nil {
		t.Fatal(err)
	}
	if err := operator.SetServerPrefix(t.Context(), s); err != nil {
		t.Fatal(err)
	}
}
