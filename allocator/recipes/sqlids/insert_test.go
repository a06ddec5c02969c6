package sqlids_test

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"testing"

	"github.com/redis/go-redis/v9/logging"
	"go.uber.org/goleak"
	_ "modernc.org/sqlite" // the driver "sqlite"

	"github.com/hilo-id/hilo/allocator"
	"github.com/hilo-id/hilo/allocator/recipes/internal/stand"
	"github.com/hilo-id/hilo/allocator/recipes/sqlids"
	"github.com/hilo-id/hilo/allocator/recipes/twomasters"
)

func TestMain(m *testing.M) {
	logging.Disable() // the tests cause the errors that go-redis reports
	goleak.VerifyTestMain(m)
}

const table = `create table orders (id varchar(221) primary key, item text not null check (item <> ''))`

func Example() {
	ids, stop := stand.ExampleIDs() // allocator.New in a program, called once
	defer stop()
	db, closeDB := stand.ExampleDB(table)
	defer closeDB()
	ctx := context.Background()

	orders, err := ids.Collection("orders") // kept for the whole program
	if err != nil {
		panic(err)
	}
	id, err := sqlids.Insert(ctx, db, orders, "tea")
	fmt.Println(id, err)
	err = sqlids.InsertAll(ctx, db, orders, []string{"mate", "coffee", "water"})
	fmt.Println(err)

	var last string
	err = db.QueryRow(`select max(id) from orders`).Scan(&last)
	fmt.Println(last, err)
	// Output:
	// orders/1 <nil>
	// <nil>
	// orders/4 <nil>
}

func TestRowsAreStoredUnderConsecutiveIdentifiers(t *testing.T) {
	t.Parallel()
	stand.EachDatabase(t, func(t *testing.T, _ stand.Dialect, db *sql.DB) {
		orders, err := stand.IDs(t).Collection("orders")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := db.ExecContext(t.Context(), table); err != nil {
			t.Fatal(err)
		}
		if id, err := sqlids.Insert(t.Context(), db, orders, "tea"); id != "orders/1" || err != nil {
			t.Fatalf("the first is %s, %v", id, err)
		}
		if err := sqlids.InsertAll(t.Context(), db, orders, []string{"mate", "coffee"}); err != nil {
			t.Fatal(err)
		}
		// An item without a name is refused with its whole batch, whose ids are never issued again.
		if err := sqlids.InsertAll(t.Context(), db, orders, []string{"water", ""}); err == nil {
			t.Fatal("no error for an item without a name")
		}
		if id, err := sqlids.Insert(t.Context(), db, orders, "beer"); id != "orders/6" || err != nil {
			t.Errorf("the next after a rollback is %s, %v, want orders/6", id, err)
		}
		want := []string{"orders/1 tea", "orders/2 mate", "orders/3 coffee", "orders/6 beer"}
		if got := stored(t, db); !slices.Equal(got, want) {
			t.Errorf("stored is %q, want %q", got, want)
		}
	})
}

func TestInsertAllOfNoRowsMakesNoRequest(t *testing.T) {
	t.Parallel()
	ids := stand.IDs(t)
	orders, err := ids.Collection("orders")
	if err != nil {
		t.Fatal(err)
	}
	if err := sqlids.InsertAll(t.Context(), nil, orders, nil); err != nil { // a request to the database would panic
		t.Errorf("got %v, want no error", err)
	}
	if got := ids.Stats().Collections; len(got) != 0 {
		t.Errorf("got requests for %+v, want none", got)
	}
}

func stored(t *testing.T, db *sql.DB) []string {
	t.Helper()
	rows, err := db.QueryContext(t.Context(), `select id || ' ' || item from orders order by id`)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = rows.Close() }()
	var found []string
	for rows.Next() {
		var row string
		if err := rows.Scan(&row); err != nil {
			t.Fatal(err)
		}
		found = append(found, row)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return found
}

func TestNumbersOfTwoMastersAreOneKey(t *testing.T) {
	t.Parallel()
	stand.EachDatabase(t, func(t *testing.T, _ stand.Dialect, db *sql.DB) {
		north, south := stand.Masters(t)
		orders, err := stand.Both(t, north, south, allocator.Options{}).Collection("orders")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := db.ExecContext(t.Context(), `create table orders (id bigint primary key, item text not null)`); err != nil {
			t.Fatal(err)
		}
		if id, err := sqlids.InsertNumber(t.Context(), db, orders, "tea"); id != 1 || err != nil {
			t.Fatalf("got %d, %v, want 1 of north", id, err)
		}
		north.Kill()
		for range 100 { // more than what is in hand
			if _, err := sqlids.InsertNumber(t.Context(), db, orders, "mate"); err != nil {
				t.Fatal(err)
			}
		}
		var n, greatest int64
		if err := db.QueryRowContext(t.Context(), `select count(*), max(id) from orders`).Scan(&n, &greatest); err != nil || n != 101 || greatest <= twomasters.NorthMax {
			t.Errorf("got %d rows up to %d, %v, want 101 and the last ones of south", n, greatest, err)
		}
	})
}
