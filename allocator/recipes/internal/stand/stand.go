// Package stand starts what the tests and examples of the recipes need: a Redis
// with an allocator, a PostgreSQL, an SQLite. A test that opens an SQLite imports
// a driver that is named "sqlite".
package stand

import (
	"context"
	"database/sql"
	"path/filepath"
	"testing"

	"github.com/alicebob/miniredis/v2"
	_ "github.com/jackc/pgx/v5/stdlib" // the driver "pgx"
	"github.com/redis/go-redis/v9"

	"github.com/hilo-id/hilo/allocator"
	"github.com/hilo-id/hilo/allocator/pgtest"
	"github.com/hilo-id/hilo/scripts/redistest"
)

// Dialect is the SQL dialect of a database, under the name that GORM and ent use.
type Dialect string

// The two dialects.
const (
	PostgreSQL Dialect = "postgres"
	SQLite     Dialect = "sqlite"
)

// EachDatabase runs a test as a parallel subtest on PostgreSQL and on SQLite,
// each with an empty database.
func EachDatabase(t *testing.T, test func(t *testing.T, dialect Dialect, db *sql.DB)) {
	t.Helper()
	t.Run("PostgreSQL", func(t *testing.T) {
		t.Parallel()
		test(t, PostgreSQL, Open(t, "pgx", pgtest.Start(t).URL()))
	})
	t.Run("SQLite", func(t *testing.T) {
		t.Parallel()
		test(t, SQLite, Open(t, "sqlite", "file:"+filepath.Join(t.TempDir(), "test.db")+"?_pragma=foreign_keys(1)&_pragma=busy_timeout(10000)"))
	})
}

// Open opens a database until the test ends.
func Open(t testing.TB, driver, source string) *sql.DB {
	t.Helper()
	db, err := sql.Open(driver, source)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db
}

// IDs returns an allocator on a new miniredis. Both are closed when the test ends.
func IDs(t testing.TB) *allocator.Allocator {
	t.Helper()
	return IDsOf(t, redistest.NewClient(t, redistest.StartMini(t)))
}

// IDsOf returns an allocator on client. It is closed when the test ends.
func IDsOf(t testing.TB, client redis.UniversalClient) *allocator.Allocator {
	t.Helper()
	ids, err := allocator.New(client, allocator.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := ids.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return ids
}

// ExampleIDs returns what IDs does, for an Example; stop closes the allocator.
func ExampleIDs() (ids *allocator.Allocator, stop func()) {
	server := must(miniredis.Run())
	server.HSet("{Raven}/ServerPrefixForHilo", "Initialized", "by hand") // as hilo init does
	client := redis.NewClient(allocator.Tune(&redis.Options{Addr: server.Addr()}))
	ids = must(allocator.New(client, allocator.Options{}))
	return ids, func() {
		_ = ids.Close(context.Background())
		_ = client.Close()
		server.Close()
	}
}

// ExampleDB returns an SQLite in memory after executing some statements.
func ExampleDB(statements ...string) (db *sql.DB, stop func()) {
	db = must(sql.Open("sqlite", ":memory:?_pragma=foreign_keys(1)"))
	db.SetMaxOpenConns(1) // each connection would have its own database
	for _, statement := range statements {
		must(db.Exec(statement))
	}
	return db, func() { _ = db.Close() }
}

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}
