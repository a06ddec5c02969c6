package fromserial_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/hilo-id/hilo/allocator"
	"github.com/hilo-id/hilo/allocator/pgtest"
	"github.com/hilo-id/hilo/allocator/recipes/fromserial"
	"github.com/hilo-id/hilo/allocator/recipes/internal/stand"
	"github.com/hilo-id/hilo/scripts/redistest"
)

// A table of several tenants, imported with explicit keys, of which a role sees the rows of one.
func TestRaiseRefusesATableOfWhichRowsAreHidden(t *testing.T) {
	t.Parallel()
	s := &site{t: t, url: pgtest.Start(t).URL()}
	s.db = s.connect()
	operator := stand.Operator(t, redistest.StartMini(t))
	s.exec(`create role shop login; create role guest login; grant create on schema public to shop`)
	s.exec(`alter role shop set app.tenant = '1'; alter role guest set app.tenant = '1'`)
	for _, table := range []string{"forced", "enabled"} {
		s.exec(`set role shop; create table ` + table + ` (id bigserial primary key, tenant int not null default 1, item text);
			insert into ` + table + ` (id, tenant, item) select g, case when g <= 1000 then 1 else 2 end, 'x' from generate_series(1, 5000) g;
			alter table ` + table + ` enable row level security;
			create policy own on ` + table + ` using (tenant = current_setting('app.tenant')::int);
			grant select on ` + table + ` to guest; grant all on sequence ` + table + `_id_seq to guest; reset role`)
	}
	s.exec(`alter table forced force row level security`)
	as := func(user string) *pgx.Conn {
		config, err := pgx.ParseConfig(s.url)
		if err != nil {
			t.Fatal(err)
		}
		config.User = user
		conn, err := pgx.ConnectConfig(t.Context(), config)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = conn.Close(t.Context()) })
		return conn
	}
	shop, guest := as("shop"), as("guest")
	for _, test := range []struct {
		name, table string
		db          *pgx.Conn
	}{{"an owner under FORCE", "forced", shop}, {"a role that owns nothing", "enabled", guest}} {
		var visible int64
		if err := test.db.QueryRow(t.Context(), `select max(id) from `+test.table).Scan(&visible); err != nil || visible != 1000 {
			t.Fatalf("%s sees keys up to %d, %v, want 1000: nothing is hidden", test.name, visible, err)
		}
		bound, err := fromserial.Raise(t.Context(), test.db, operator, test.table, test.table, 1000)
		if err == nil || !strings.Contains(err.Error(), `row-level security policy for table "`+test.table+`"`) {
			t.Errorf("%s: got %d, %v, want an error that names the table", test.name, bound, err)
		}
		if got, err := operator.Counter(t.Context(), test.table); !errors.Is(err, allocator.ErrNotSeeded) {
			t.Errorf("%s: got the counter %+v, %v, want none", test.name, got, err)
		}
	}
	// A role that sees all rows goes on, and the setting ends with the transaction.
	for table, db := range map[string]*pgx.Conn{"forced": s.db, "enabled": shop} {
		if bound, err := fromserial.Raise(t.Context(), db, operator, table, table, 1000); bound != 6000 || err != nil {
			t.Errorf("%s: got %d, %v, want 6000", table, bound, err)
		}
		var setting string
		if err := db.QueryRow(t.Context(), `show row_security`).Scan(&setting); err != nil || setting != "on" {
			t.Errorf("got row_security %q, %v, want on", setting, err)
		}
	}
}
