// Package sqlids stores rows with ids of hilo as keys, with database/sql.
package sqlids

import (
	"context"
	"database/sql"
	"errors"

	"github.com/hilo-id/hilo/allocator"
)

// Insert stores an order under the next id, which is known before the row is
// stored. It takes the id before a connection, so that no connection is held
// while Redis is asked.
func Insert(ctx context.Context, db *sql.DB, orders *allocator.Collection,
	item string) (id string, err error) {
	id, err = orders.Next(ctx)
	if err != nil {
		return "", err
	}
	_, err = db.ExecContext(ctx, `insert into orders (id, item) values ($1, $2)`, id, item)
	return id, err
}

// InsertNumber stores an order under the next number, for a bigint key.
func InsertNumber(ctx context.Context, db *sql.DB, orders *allocator.Collection, item string) (id int64, err error) {
	id, err = orders.NextNumber(ctx)
	if err != nil {
		return 0, err
	}
	_, err = db.ExecContext(ctx, `insert into orders (id, item) values ($1, $2)`, id, item)
	return id, err
}

// InsertAll stores orders under consecutive ids, all or none.
func InsertAll(ctx context.Context, db *sql.DB, orders *allocator.Collection, items []string) (err error) {
	if len(items) == 0 {
		return nil
	}
	batch, err := orders.Take(ctx, int64(len(items))) // one request, before the transaction
	if err != nil {
		return err
	}
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil { // the ids are a gap: they are never issued again
			err = errors.Join(err, tx.Rollback())
		}
	}()
	insert, err := tx.PrepareContext(ctx, `insert into orders (id, item) values ($1, $2)`)
	if err != nil {
		return err
	}
	defer func() { _ = insert.Close() }()
	for i, id := range batch.Strings() {
		if _, err = insert.ExecContext(ctx, id, items[i]); err != nil {
			return err
		}
	}
	return tx.Commit()
}
