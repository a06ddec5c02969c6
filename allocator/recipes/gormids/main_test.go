package gormids

import (
	"database/sql"
	"testing"

	"github.com/glebarez/sqlite"
	"github.com/redis/go-redis/v9/logging"
	"go.uber.org/goleak"
	"gorm.io/driver/postgres"
	"gorm.io/gorm"
	"gorm.io/gorm/logger"

	"github.com/hilo-id/hilo/allocator/recipes/internal/stand"
)

func TestMain(m *testing.M) {
	logging.Disable() // the tests cause the errors that go-redis reports
	goleak.VerifyTestMain(m)
}

// open opens a database with GORM.
func open(t testing.TB, dialect stand.Dialect, db *sql.DB) *gorm.DB {
	t.Helper()
	var dialector gorm.Dialector = sqlite.Dialector{Conn: db}
	if dialect == stand.PostgreSQL {
		dialector = postgres.New(postgres.Config{Conn: db})
	}
	g, err := gorm.Open(dialector, &gorm.Config{Logger: logger.Discard})
	if err != nil {
		t.Fatal(err)
	}
	return g
}
