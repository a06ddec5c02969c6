package pgxids_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/redis/go-redis/v9/logging"
	"go.uber.org/goleak"

	"github.com/hilo-id/hilo/allocator"
	"github.com/hilo-id/hilo/allocator/pgtest"
	"github.com/hilo-id/hilo/allocator/recipes/internal/stand"
	"github.com/hilo-id/hilo/allocator/recipes/pgxids"
	"github.com/hilo-id/hilo/allocator/recipes/twomasters"
)

func TestMain(m *testing.M) {
	logging.Disable() // the tests cause the errors that go-redis reports
	goleak.VerifyTestMain(m)
}

// The rows that COPY sends. The tests below send them to a PostgreSQL.
func Example() {
	ids, stop := stand.ExampleIDs() // allocator.New in a program, called once
	defer stop()

	orders, err := ids.Collection("orders") // kept for the whole program
	if err != nil {
		panic(err)
	}
	items := []string{"tea", "mate"}
	batch, err := orders.Take(context.Background(), int64(len(items)))
	if err != nil {
		panic(err)
	}
	for rows := pgxids.Rows(batch, items); rows.Next(); {
		fmt.Println(rows.Values())
	}
	// Output:
	// [1 tea] <nil>
	// [2 mate] <nil>
}

func TestRowsAreCopiedUnderConsecutiveNumbers(t *testing.T) {
	t.Parallel()
	pool, err := pgxpool.New(t.Context(), pgtest.Start(t).URL())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	if _, err := pool.Exec(t.Context(), `create table orders (id bigint primary key, item text not null check (item <> ''))`); err != nil {
		t.Fatal(err)
	}
	orders, err := stand.IDs(t).Collection("orders")
	if err != nil {
		t.Fatal(err)
	}
	if id, err := pgxids.Insert(t.Context(), pool, orders, "tea"); id != 1 || err != nil {
		t.Fatalf("the first is %d, %v", id, err)
	}
	items := make([]string, 10_000)
	for i := range items {
		items[i] = fmt.Sprint("item ", i)
	}
	copied, err := pgxids.CopyAll(t.Context(), pool, orders, items)
	if err != nil || copied.High-copied.Low != 9_999 {
		t.Fatalf("copied as %v, %v", copied, err)
	}
	items[5_000] = "" // refused, and all others as well
	burnt, err := pgxids.CopyAll(t.Context(), pool, orders, items)
	if err == nil || burnt.Low <= copied.High {
		t.Fatalf("copied as %v, %v, want an error", burnt, err)
	}
	const query = `select count(*), min(id), max(id), count(*) filter (where item = 'item ' || id - $1) from orders where id >= $1`
	var n, low, high, inOrder int64
	if err := pool.QueryRow(t.Context(), query, copied.Low).Scan(&n, &low, &high, &inOrder); err != nil {
		t.Fatal(err)
	}
	if got := (allocator.Range{Low: low, High: high}); n != 10_000 || got != copied || inOrder != n {
		t.Errorf("%d rows, %v, %d under their own number", n, got, inOrder)
	}
	// The same holds in a transaction of the caller.
	err = pgx.BeginFunc(t.Context(), pool, func(tx pgx.Tx) error {
		_, err := pgxids.CopyAll(t.Context(), tx, orders, items[:10])
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

func TestCopyAllOfNoRowsMakesNoRequest(t *testing.T) {
	t.Parallel()
	ids := stand.IDs(t)
	orders, err := ids.Collection("orders")
	if err != nil {
		t.Fatal(err)
	}
	if got, err := pgxids.CopyAll(t.Context(), nil, orders, nil); err != nil || got != (allocator.Range{}) { // a request to the database would panic
		t.Errorf("got %v, %v, want no numbers and no error", got, err)
	}
	if got := ids.Stats().Collections; len(got) != 0 {
		t.Errorf("got requests for %+v, want none", got)
	}
}

func TestNumbersOfTwoMastersAreOneKey(t *testing.T) {
	t.Parallel()
	pool, err := pgxpool.New(t.Context(), pgtest.Start(t).URL())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	if _, err := pool.Exec(t.Context(), `create table orders (id bigint primary key, item text not null)`); err != nil {
		t.Fatal(err)
	}
	north, south := stand.Masters(t)
	orders, err := stand.Both(t, north, south, allocator.Options{}).Collection("orders")
	if err != nil {
		t.Fatal(err)
	}
	if id, err := pgxids.Insert(t.Context(), pool, orders, "tea"); id != 1 || err != nil {
		t.Fatalf("got %d, %v, want 1 of north", id, err)
	}
	north.Kill()
	copied, err := pgxids.CopyAll(t.Context(), pool, orders, make([]string, 1000)) // more than what is in hand
	if err != nil || copied.Low <= twomasters.NorthMax || copied.High-copied.Low != 999 {
		t.Errorf("got %v, %v, want 1,000 numbers of south", copied, err)
	}
}
