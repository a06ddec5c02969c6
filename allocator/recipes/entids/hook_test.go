package entids

import (
	"context"
	"database/sql"
	"fmt"
	"testing"

	"entgo.io/ent/dialect"
	entsql "entgo.io/ent/dialect/sql"
	"github.com/redis/go-redis/v9/logging"
	"go.uber.org/goleak"
	_ "modernc.org/sqlite" // the driver "sqlite"

	"github.com/hilo-id/hilo/allocator/recipes/entids/ent"
	"github.com/hilo-id/hilo/allocator/recipes/internal/stand"
)

func TestMain(m *testing.M) {
	logging.Disable() // the tests cause the errors that go-redis reports
	goleak.VerifyTestMain(m)
}

func Example() {
	ids, stop := stand.ExampleIDs() // allocator.New in a program, called once
	defer stop()
	db, closeDB := stand.ExampleDB()
	defer closeDB()
	ctx := context.Background()

	client := ent.NewClient(ent.Driver(entsql.OpenDB(dialect.SQLite, db)))
	orders, err := ids.Collection("orders")
	if err != nil {
		panic(err)
	}
	client.Order.Use(Numbers(orders)) // the schema has field.Int64("id")
	if err := client.Schema.Create(ctx); err != nil {
		panic(err)
	}

	tea, err := client.Order.Create().SetItem("tea").Save(ctx)
	fmt.Println(tea, err)
	more, err := client.Order.MapCreateBulk([]string{"mate", "coffee"}, func(c *ent.OrderCreate, i int) {
		c.SetItem([]string{"mate", "coffee"}[i])
	}).Save(ctx)
	fmt.Println(more, err)
	// Output:
	// Order(id=1, item=tea) <nil>
	// [Order(id=2, item=mate) Order(id=3, item=coffee)] <nil>
}

func TestCreatedRowsHaveTheNextNumberUnlessTheyHaveOne(t *testing.T) {
	t.Parallel()
	stand.EachDatabase(t, func(t *testing.T, d stand.Dialect, db *sql.DB) {
		name := dialect.Postgres
		if d == stand.SQLite {
			name = dialect.SQLite
		}
		client := ent.NewClient(ent.Driver(entsql.OpenDB(name, db)))
		orders, err := stand.IDs(t).Collection("orders")
		if err != nil {
			t.Fatal(err)
		}
		client.Order.Use(Numbers(orders))
		if err := client.Schema.Create(t.Context()); err != nil {
			t.Fatal(err)
		}
		own, err := client.Order.Create().SetID(4000).SetItem("tea").Save(t.Context())
		if err != nil || own.ID != 4000 {
			t.Fatalf("%v, %v", own, err)
		}
		tx, err := client.Tx(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		lost, err := tx.Order.Create().SetItem("tea").Save(t.Context())
		if err != nil || lost.ID != 1 || tx.Rollback() != nil {
			t.Fatalf("%v, %v", lost, err)
		}
		rows := make([]*ent.OrderCreate, 100)
		for i := range rows {
			rows[i] = client.Order.Create().SetItem(fmt.Sprint("item ", i))
		}
		made, err := client.Order.CreateBulk(rows...).Save(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for i, row := range made {
			if want := int64(i + 2); row.ID != want || row.Item != fmt.Sprint("item ", i) { // the rollback discarded 1
				t.Fatalf("row %d is %v, want the key %d", i, row, want)
			}
		}
		changed, err := made[0].Update().SetItem("mate").Save(t.Context())
		if err != nil || changed.ID != 2 || changed.Item != "mate" {
			t.Errorf("after a change: %v, %v", changed, err)
		}
		if n, err := client.Order.Query().Count(t.Context()); n != 101 || err != nil {
			t.Errorf("%d rows, %v", n, err)
		}
	})
}

func TestASchemaWithoutTheKeyIsAnError(t *testing.T) {
	t.Parallel()
	orders, err := stand.IDs(t).Collection("orders")
	if err != nil {
		t.Fatal(err)
	}
	hook := Numbers(orders)(nil)
	if _, err := hook.Mutate(t.Context(), unkeyed{}); err == nil {
		t.Error("no error")
	}
}

// unkeyed is a mutation of a type whose key ent sets.
type unkeyed struct{ ent.Mutation }

func (unkeyed) Op() ent.Op   { return ent.OpCreate }
func (unkeyed) Type() string { return "Order" }
