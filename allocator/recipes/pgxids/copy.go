// Package pgxids stores rows in PostgreSQL with numbers of hilo as keys, with pgx:
// one at a time, or many by COPY.
package pgxids

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/hilo-id/hilo/allocator"
)

// DB is implemented by *pgx.Conn, *pgxpool.Pool and pgx.Tx.
type DB interface {
	Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error)
	CopyFrom(ctx context.Context, table pgx.Identifier, columns []string, rows pgx.CopyFromSource) (int64, error)
}

// Insert stores an order under the next number. NextNumber fails with ErrPrefixed
// where there are several servers without disjoint intervals, since a number alone
// is not unique then.
func Insert(ctx context.Context, db DB, orders *allocator.Collection, item string) (id int64, err error) {
	id, err = orders.NextNumber(ctx)
	if err != nil {
		return 0, err
	}
	_, err = db.Exec(ctx, `insert into orders (id, item) values ($1, $2)`, id, item)
	return id, err
}

// CopyAll stores orders under consecutive numbers, all or none, and returns the numbers.
func CopyAll(ctx context.Context, db DB, orders *allocator.Collection,
	items []string) (allocator.Range, error) {
	if len(items) == 0 {
		return allocator.Range{}, nil
	}
	batch, err := orders.Take(ctx, int64(len(items))) // one request
	if err != nil {
		return allocator.Range{}, err
	}
	columns := []string{"id", "item"}
	_, err = db.CopyFrom(ctx, pgx.Identifier{"orders"}, columns, Rows(batch, items))
	return batch.Range(), err
}

// Rows returns the source for COPY: the items with their numbers.
func Rows(batch allocator.Batch, items []string) pgx.CopyFromSource {
	return pgx.CopyFromSlice(len(items), func(i int) ([]any, error) {
		if int64(i) >= batch.Len() {
			return nil, errors.New("there are more items than numbers")
		}
		return []any{batch.Range().Low + int64(i), items[i]}, nil
	})
}
