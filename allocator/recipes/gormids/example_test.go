package gormids_test

import (
	"fmt"

	"github.com/glebarez/sqlite"
	"gorm.io/gorm"

	"github.com/hilo-id/hilo/allocator"
	"github.com/hilo-id/hilo/allocator/recipes/gormids"
	"github.com/hilo-id/hilo/allocator/recipes/internal/stand"
)

type Order struct {
	ID   int64 `gorm:"primaryKey;autoIncrement:false"` // no sequence: hilo sets the key
	Item string
}

func Example() {
	ids, stop := stand.ExampleIDs() // allocator.New in a program, called once
	defer stop()
	conn, closeDB := stand.ExampleDB()
	defer closeDB()

	db, err := gorm.Open(sqlite.Dialector{Conn: conn}, &gorm.Config{})
	if err != nil {
		panic(err)
	}
	if err := db.Use(gormids.Plugin{IDs: ids}); err != nil {
		panic(err)
	}
	_ = db.AutoMigrate(&Order{})

	order := Order{Item: "tea"}
	err = db.Create(&order).Error
	fmt.Println(order.ID, err)

	more := make([]Order, 5000)
	err = db.CreateInBatches(more, 1000).Error
	fmt.Println(more[0].ID, more[4999].ID, err)
	// Output:
	// 1 <nil>
	// 2 5001 <nil>
}

// Invoice takes its ids without the plugin.
type Invoice struct {
	ID    string
	Total int
}

var ids *allocator.Allocator // the allocator of the program

// BeforeCreate sets the id. GORM calls it.
func (i *Invoice) BeforeCreate(tx *gorm.DB) error {
	_, err := ids.Assign(tx.Statement.Context, i)
	return err
}

// Without the plugin a model calls Assign in BeforeCreate, one row at a time.
func Example_hook() {
	var stop func()
	ids, stop = stand.ExampleIDs()
	defer stop()
	conn, closeDB := stand.ExampleDB()
	defer closeDB()
	db, err := gorm.Open(sqlite.Dialector{Conn: conn}, &gorm.Config{})
	if err != nil {
		panic(err)
	}
	_ = db.AutoMigrate(&Invoice{})

	invoice := Invoice{Total: 42}
	err = db.Create(&invoice).Error
	fmt.Println(invoice.ID, err)
	// Output: invoices/1 <nil>
}
