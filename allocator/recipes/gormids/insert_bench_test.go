package gormids

import (
	"database/sql"
	"path/filepath"
	"testing"
	"time"

	"gorm.io/gorm"

	"github.com/hilo-id/hilo/allocator/pgtest"
	"github.com/hilo-id/hilo/allocator/recipes/internal/stand"
	"github.com/hilo-id/hilo/scripts/redistest"
)

const (
	rowsInserted = 100_000
	batchSize    = 1_000
)

// BenchmarkInsert inserts 100,000 rows in batches of 1,000, alternately with keys
// from a loop and with keys of hilo, on the same database. It fails where taking
// the keys, measured inside the callback, exceeds 1 % of the insert with keys
// from a loop.
func BenchmarkInsert(b *testing.B) {
	b.Run("PostgreSQL", func(b *testing.B) {
		benchmarkInsert(b, stand.PostgreSQL, stand.Open(b, "pgx", pgtest.Start(b).URL()))
	})
	b.Run("SQLite", func(b *testing.B) {
		benchmarkInsert(b, stand.SQLite, stand.Open(b, "sqlite", "file:"+filepath.Join(b.TempDir(), "bench.db")))
	})
}

func benchmarkInsert(b *testing.B, dialect stand.Dialect, db *sql.DB) {
	b.Helper()
	var server *redistest.Server
	if binaries := redistest.Binaries(b); len(binaries) > 0 {
		server = redistest.Start(b, binaries[0])
	} else {
		server = redistest.StartMini(b)
	}
	plugin := Plugin{IDs: stand.IDsOf(b, redistest.NewClient(b, server))}
	keyed := with(b, dialect, db, plugin)
	var taking time.Duration
	if err := keyed.Callback().Create().Before("*").Replace("hilo:take", func(tx *gorm.DB) {
		start := time.Now()
		plugin.take(tx)
		taking += time.Since(start)
	}); err != nil {
		b.Fatal(err)
	}
	without := open(b, dialect, db)
	madeUp := func(rows []order) {
		for i := range rows {
			rows[i].ID = int64(i + 1)
		}
	}
	fillNone := func([]order) {}
	insert(b, without, madeUp) // grows the files to their size
	insert(b, keyed, fillNone) // and the ranges to theirs
	taking = 0

	var loop, hilo time.Duration
	for b.Loop() {
		loop += insert(b, without, madeUp)
		hilo += insert(b, keyed, fillNone)
	}
	share := 100 * float64(taking) / float64(loop)
	n := float64(b.N)
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(float64(loop.Milliseconds())/n, "ms-loop")
	b.ReportMetric(float64(hilo.Milliseconds())/n, "ms-hilo")
	b.ReportMetric(float64(taking.Microseconds())/1000/n, "ms-taking")
	b.ReportMetric(share, "%-taking")
	if share > 1 {
		b.Errorf("taking the keys is %.2f %% of the insert without it", share)
	}
}

// insert empties the table and returns how long inserting all rows takes, keys
// included.
func insert(b *testing.B, g *gorm.DB, fill func([]order)) time.Duration {
	b.Helper()
	if err := g.Exec("delete from orders").Error; err != nil {
		b.Fatal(err)
	}
	rows := make([]order, rowsInserted)
	for i := range rows {
		rows[i].Item = "tea"
	}
	start := time.Now()
	fill(rows)
	if err := g.CreateInBatches(rows, batchSize).Error; err != nil {
		b.Fatal(err)
	}
	took := time.Since(start)
	seen := make(map[int64]bool, len(rows))
	for _, r := range rows {
		seen[r.ID] = true
	}
	if len(seen) != rowsInserted || seen[0] {
		b.Fatalf("%d keys for %d rows", len(seen), rowsInserted)
	}
	return took
}
