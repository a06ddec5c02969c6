package gormids

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"github.com/hilo-id/hilo/allocator"
	"github.com/hilo-id/hilo/allocator/admin"
	"github.com/hilo-id/hilo/allocator/recipes/internal/stand"
	"github.com/hilo-id/hilo/allocator/recipes/twomasters"
	"github.com/hilo-id/hilo/prefix"
	"github.com/hilo-id/hilo/scripts/redistest"
)

type (
	order struct {
		ID    int64 `gorm:"primaryKey;autoIncrement:false"`
		Item  string
		Lines []line
	}
	// line has the default key of GORM.
	line struct {
		ID      uint
		OrderID int64
		Text    string
	}
	orderID string
	// text has a string as its key.
	text struct {
		ID   orderID `gorm:"primaryKey;type:varchar(221)"`
		Item string
	}
	// pair has a composite key, which the plugin leaves alone.
	pair struct {
		A int64 `gorm:"primaryKey;autoIncrement:false"`
		B int64 `gorm:"primaryKey;autoIncrement:false"`
	}
	guid struct {
		ID   string `gorm:"type:uuid"`
		Item string
	}
)

// with opens a database with the plugin and creates all tables.
func with(t testing.TB, dialect stand.Dialect, db *sql.DB, plugin Plugin) *gorm.DB {
	t.Helper()
	g := open(t, dialect, db)
	if err := g.Use(plugin); err != nil {
		t.Fatal(err)
	}
	if err := g.AutoMigrate(&order{}, &line{}, &text{}, &pair{}, &guid{}); err != nil {
		t.Fatal(err)
	}
	return g
}

func TestPluginSetsTheKeysOfEveryWayToCreate(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		create func(g *gorm.DB) error
		table  string
		want   string // the keys that are stored then
	}{
		{"a struct", func(g *gorm.DB) error { return g.Create(&order{Item: "tea"}).Error }, "orders", "1"},
		{"structs", func(g *gorm.DB) error { return g.Create(&[]order{{}, {}, {}}).Error }, "orders", "1 2 3"},
		{"pointers", func(g *gorm.DB) error { return g.Create([]*order{{}, {}}).Error }, "orders", "1 2"},
		{"in batches", func(g *gorm.DB) error { return g.CreateInBatches(make([]order, 5), 2).Error }, "orders", "1 2 3 4 5"},
		{"those that have one", func(g *gorm.DB) error { return g.Create(&[]order{{}, {ID: 70}, {}}).Error }, "orders", "1 2 70"},
		{"save", func(g *gorm.DB) error { return g.Save(&order{Item: "tea"}).Error }, "orders", "1"},
		{"first or create", func(g *gorm.DB) error { return g.FirstOrCreate(&order{}, order{Item: "tea"}).Error }, "orders", "1"},
		{"a map", func(g *gorm.DB) error { return g.Model(&order{}).Create(map[string]any{"Item": "tea"}).Error }, "orders", "1"},
		{"maps", func(g *gorm.DB) error {
			return g.Model(&order{}).Create([]map[string]any{{"Item": "tea"}, {"ID": 70, "Item": "mate"}, {"id": nil}}).Error
		}, "orders", "1 2 70"},
		{"without hooks and transaction", func(g *gorm.DB) error {
			return g.Session(&gorm.Session{SkipHooks: true, SkipDefaultTransaction: true}).Create(&order{}).Error
		}, "orders", "1"},
		{"what belongs to it", func(g *gorm.DB) error {
			return g.Create(&[]order{{Lines: []line{{}, {}}}, {Lines: []line{{}}}}).Error
		}, "lines", "1 2 3"},
		{"a text", func(g *gorm.DB) error { return g.Create(&text{}).Error }, "texts", "texts/1"},
		{"texts", func(g *gorm.DB) error {
			return g.Create([]text{{}, {ID: "tea/green"}, {ID: "companies/"}, {ID: "firms|"}, {}}).Error
		}, "texts", "companies/0000000000000000001 firms/1 tea/green texts/1 texts/2"},
		{"a composite key", func(g *gorm.DB) error { return g.Create(&pair{A: 4, B: 2}).Error }, "pairs", ""},
		{"a GUID of its own", func(g *gorm.DB) error {
			return g.Create(&guid{ID: "bc151542-8fa7-45ac-bc04-509b343a8720"}).Error
		}, "guids", "bc151542-8fa7-45ac-bc04-509b343a8720"},
	}
	stand.EachDatabase(t, func(t *testing.T, dialect stand.Dialect, db *sql.DB) {
		for _, test := range tests { // one after the other, since they share the tables
			g := with(t, dialect, db, Plugin{IDs: stand.IDs(t)})
			err := g.Transaction(func(tx *gorm.DB) error {
				if err := test.create(tx); err != nil {
					return err
				}
				if got := strings.Join(keys(t, tx, test.table), " "); got != test.want {
					t.Errorf("%s: the keys are %q, want %q", test.name, got, test.want)
				}
				return errRollback
			})
			if !errors.Is(err, errRollback) {
				t.Errorf("%s: %v", test.name, err)
			}
		}
	})
}

var errRollback = errors.New("rolled back")

// keys returns the keys of a table in order.
func keys(t *testing.T, g *gorm.DB, table string) []string {
	t.Helper()
	var found []string
	if table == "pairs" {
		return nil
	}
	if err := g.Table(table).Order("id").Pluck("id", &found).Error; err != nil {
		t.Fatal(err)
	}
	return found
}

func TestPluginReusesNoKeyAfterARollback(t *testing.T) {
	t.Parallel()
	stand.EachDatabase(t, func(t *testing.T, dialect stand.Dialect, db *sql.DB) {
		g := with(t, dialect, db, Plugin{IDs: stand.IDs(t)})
		lost := order{Item: "tea"}
		err := g.Transaction(func(tx *gorm.DB) error {
			return errors.Join(tx.Create(&lost).Error, errRollback)
		})
		if !errors.Is(err, errRollback) || lost.ID != 1 {
			t.Fatalf("the order is %d, %v", lost.ID, err)
		}
		kept := order{Item: "tea"}
		if err := g.Create(&kept).Error; err != nil || kept.ID != 2 {
			t.Errorf("the next order is %d, %v, want 2: a number is given once", kept.ID, err)
		}
	})
}

// An upsert that finds the row leaves the new key in the struct, unless RETURNING reads the key of the row. A child of the struct
// would then violate the foreign key.
func TestUpsertReturnsTheKeyOfTheRowByReturning(t *testing.T) {
	t.Parallel()
	stand.EachDatabase(t, func(t *testing.T, dialect stand.Dialect, db *sql.DB) {
		g := with(t, dialect, db, Plugin{IDs: stand.IDs(t)})
		if err := g.Exec("create unique index on_item on orders (item)").Error; err != nil {
			t.Fatal(err)
		}
		stored := order{Item: "tea"}
		if err := g.Create(&stored).Error; err != nil {
			t.Fatal(err)
		}
		upsert := clause.OnConflict{Columns: []clause.Column{{Name: "item"}}, DoUpdates: clause.AssignmentColumns([]string{"item"})}
		without, one := order{Item: "tea"}, order{Item: "tea"}
		several := []order{{Item: "tea"}, {Item: "milk"}}
		returning := func(rows any) error { return g.Clauses(upsert, clause.Returning{}).Create(rows).Error }
		if err := errors.Join(g.Clauses(upsert).Create(&without).Error, returning(&one), returning(&several)); err != nil {
			t.Fatal(err)
		}
		if without.ID == stored.ID {
			t.Error("RETURNING is not needed")
		}
		if one.ID != stored.ID || several[0].ID != stored.ID || several[1].ID == stored.ID {
			t.Errorf("got %d, and %d and %d, want %d, the same and another", one.ID, several[0].ID, several[1].ID, stored.ID)
		}
	})
}

func TestBatchesCostARequestForEachRangeOnly(t *testing.T) {
	t.Parallel()
	stand.EachDatabase(t, func(t *testing.T, dialect stand.Dialect, db *sql.DB) {
		ids := stand.IDs(t)
		g := with(t, dialect, db, Plugin{IDs: ids})
		rows := make([]order, 20_000)
		if err := g.CreateInBatches(rows, 1000).Error; err != nil {
			t.Fatal(err)
		}
		for i, r := range rows {
			if r.ID != int64(i+1) {
				t.Fatalf("row %d has the key %d", i+1, r.ID)
			}
		}
		// Ten ranges, 32 + 64 + … + 16,384, hold more than 20,000 numbers; some more are prefetched.
		if s := ids.Stats().Collections[0]; s.Ranges > 16 {
			t.Errorf("%d ranges for 20 batches", s.Ranges)
		}
	})
}

func TestPluginTakesNoKeyForAStatementThatIsNotSent(t *testing.T) {
	t.Parallel()
	stand.EachDatabase(t, func(t *testing.T, dialect stand.Dialect, db *sql.DB) {
		ids := stand.IDs(t)
		g := with(t, dialect, db, Plugin{IDs: ids})
		dry := order{Item: "tea"}
		shown := g.ToSQL(func(tx *gorm.DB) *gorm.DB { return tx.Create(&order{Item: "tea", Lines: []line{{}}}) })
		if err := g.Session(&gorm.Session{DryRun: true}).Create(&dry).Error; err != nil || dry.ID != 0 || !strings.Contains(shown, "tea") {
			t.Errorf("got the key %d, %v, and %q, want no key", dry.ID, err, shown)
		}
		if got := ids.Stats().Collections; len(got) != 0 {
			t.Errorf("got the collections %+v, want none", got)
		}
		sent := order{Item: "tea"}
		if err := g.Create(&sent).Error; err != nil || sent.ID != 1 {
			t.Errorf("got the key %d, %v, want 1 for the first that is sent", sent.ID, err)
		}
	})
}

func TestPluginLeavesTablesWithoutACollectionToTheDatabase(t *testing.T) {
	t.Parallel()
	stand.EachDatabase(t, func(t *testing.T, dialect stand.Dialect, db *sql.DB) {
		g := with(t, dialect, db, Plugin{IDs: stand.IDs(t), Collection: func(table string) string {
			return map[string]string{"orders": "shop-orders", "texts": "shop-texts"}[table]
		}})
		one, two := order{Lines: []line{{}}}, text{}
		if err := errors.Join(g.Create(&one).Error, g.Create(&two).Error); err != nil {
			t.Fatal(err)
		}
		if one.ID != 1 || two.ID != "shop-texts/1" || one.Lines[0].ID != 1 {
			t.Errorf("the keys are %d, %s and %d", one.ID, two.ID, one.Lines[0].ID)
		}
	})
}

func TestPluginReturnsTheErrorOfTheAllocator(t *testing.T) {
	t.Parallel()
	stand.EachDatabase(t, func(t *testing.T, dialect stand.Dialect, db *sql.DB) {
		server := redistest.StartMini(t)
		g := with(t, dialect, db, Plugin{IDs: stand.IDsOf(t, redistest.NewClient(t, server))})
		server.Mini().HSet("{Raven}/HiLo/orders", "Max", "many")
		if err := g.Create(&order{}).Error; !errors.Is(err, allocator.ErrCorrupt) {
			t.Errorf("the error is %v", err)
		}
		var n int64
		if err := g.Model(&order{}).Count(&n).Error; err != nil || n != 0 {
			t.Errorf("%d rows, %v", n, err)
		}
	})
}

func TestNumbersOfSeveralServersAreRefusedAndTextsAreNot(t *testing.T) {
	t.Parallel()
	stand.EachDatabase(t, func(t *testing.T, dialect stand.Dialect, db *sql.DB) {
		var servers []allocator.Server
		for _, name := range []string{"North", "South"} {
			client := redistest.NewClient(t, redistest.StartMini(t))
			operator, err := admin.New(client, admin.Options{})
			if err != nil {
				t.Fatal(err)
			}
			if err := operator.SetServerPrefix(t.Context(), prefix.Server{ServerPrefix: name + "/"}); err != nil {
				t.Fatal(err)
			}
			servers = append(servers, allocator.Server{Name: name, Client: client})
		}
		ids, err := allocator.NewMulti(servers, allocator.Options{})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = ids.Close(context.Background()) })
		g := with(t, dialect, db, Plugin{IDs: ids})
		if err := g.Create(&order{}).Error; !errors.Is(err, allocator.ErrPrefixed) {
			t.Errorf("the error is %v", err)
		}
		rows := []text{{}, {}}
		err = g.Create(rows).Error
		got := []string{string(rows[0].ID), string(rows[1].ID), fmt.Sprint(err)}
		if want := []string{"texts/North/1", "texts/North/2", "<nil>"}; !slices.Equal(got, want) {
			t.Errorf("got %q, want %q", got, want)
		}
	})
}

func TestNumbersOfTwoMastersAreOneKey(t *testing.T) {
	t.Parallel()
	stand.EachDatabase(t, func(t *testing.T, dialect stand.Dialect, db *sql.DB) {
		north, south := stand.Masters(t)
		g := with(t, dialect, db, Plugin{IDs: stand.Both(t, north, south, allocator.Options{})})
		first, more := order{}, make([]order, 100) // more than what is in hand
		if err := g.Create(&first).Error; err != nil {
			t.Fatal(err)
		}
		north.Kill()
		if err := g.Create(&more).Error; err != nil {
			t.Fatal(err)
		}
		if last := more[99].ID; first.ID != 1 || last <= twomasters.NorthMax {
			t.Errorf("got %d and at last %d, want 1 of north and a number of south", first.ID, last)
		}
	})
}
