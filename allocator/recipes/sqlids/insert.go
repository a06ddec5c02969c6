// Package sqlids stores rows under identifiers of hilo with database/sql, on any
// database that it has a driver for.
package sqlids

import (
	"context"
	"database/sql"
	"errors"

	"github.com/hilo-id/hilo/allocator"
)

// Insert stores an order under the next identifier, which is known before the
// row is stored. It is taken before a connection is, so that none waits for
// Redis.
func Insert(ctx context.Context, db *sql.DB, orders *allocator.Collection, item string) (id string, err error) {
	id, err = orders.Next(ctx)
	if err != nil {
		return "", err
	}
	_, err = db.ExecContext(ctx, `insert into orders (id, item) values ($1, $2)`, id, item)
	return id, err
}

// InsertAll stores orders under consecutive identifiers, all or none.
func InsertAll(ctx context.Context, db *sql.DB, orders *allocator.Collection, items []string) (err error) {
	batch, err := orders.Take(ctx, int64(len(items))) // one request, before the transaction
	if err != nil {
		return err
	}
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil { // the identifiers are burnt: nobody is given them again
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
