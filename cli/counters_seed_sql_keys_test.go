package cli

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/hilo-id/hilo/cli/internal/clitest"
)

// Keys that are no integers, or not of a primary key, or that a trigger or a function of a default fills.
func checkKeysForPostgreSQL(t *testing.T, psql func(input string, args ...string) (string, bool), must func(input string)) {
	t.Helper()
	query := clitest.Must(t, "seed", "--sql", "postgresql")
	must(sqlCase(t, "postgresql_numeric.sql"))
	const numeric = `collection,max
invoices_d,77
invoices_n,5000
plain,5
texts,4000
trig,900
uniq,300
`
	if got, ok := psql("", "-X", "--csv", "-c", query); !ok || got != numeric {
		t.Errorf("got %s, want %s", got, numeric)
	}
	must("drop schema public cascade; create schema public")
	must(sqlCase(t, "postgresql_keys.sql"))
	const want = `collection,max
beyond,123456789012345678901234567890
called,9
counted,2
fixed,42
fraction,12
invoices,2
legacy,444
many,800
of_domain,32
oids,4000000000
partial,66
parts_numeric,81
phones,17
reals,16777216
trig_a,951
trig_b,700
trig_c,31
`
	if got, ok := psql("", "-X", "--csv", "-c", query); !ok || got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	for _, fault := range []struct{ make, want string }{
		{"create table fault (id numeric primary key); insert into fault values (1), ('NaN')", `"NaN"`},
		{"create table fault (id numeric primary key); insert into fault values (1), ('Infinity')", `"Infinity"`},
		{"create table fault (id float8 primary key); insert into fault values (1), ('Infinity')", "out of range"},
		{"create table fault (id money primary key); insert into fault values (1)", `"$1.00"`},
		{`create table fault (a int, b text); create function fill_fault() returns trigger language plpgsql as
			$$ begin execute 'select nextval(''' || new.b || ''')' into new.a; return new; end $$;
			create trigger fill before insert on fault for each row execute function fill_fault()`, "is not known"},
	} {
		must(fault.make)
		if got, ok := psql("", "-X", "--csv", "-c", query); ok || !strings.Contains(got, fault.want) || !strings.Contains(got, "public.fault") {
			t.Errorf("%s: got %s, want %s and the table's name", fault.make, got, fault.want)
		}
		must("drop table fault")
	}
}

// checkKeysForMySQL is part of the test of the query, because a MariaDB takes seconds to create.
func checkKeysForMySQL(t *testing.T, run func(user, input string) (string, bool)) {
	t.Helper()
	const want = `collection,max
bits,70000
counted,2
dec_key,5000
dec_wide,123456789012345678901234567890
doubles,9007199254740992
fraction,12
hashed,81
invoices,2
legacy,444
many,800
orm,100
phones,17
texts,4000
trig_a,950
trig_b,2
uniq,300
vers_key,61
years,2026
`
	if output, ok := run("root", sqlCase(t, "mysql_keys.sql")); !ok {
		t.Fatal(output)
	}
	query := clitest.Must(t, "seed", "--sql", "mysql")
	if got, ok := run("root", query); !ok || got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	const loose = `create table keys_of.loose (a int, b int);
		create trigger keys_of.fill_loose before insert on keys_of.loose for each row insert into keys_of.uniq values (nextval(keys_of.gen_a), 'x')`
	if output, ok := run("root", loose); !ok {
		t.Fatal(output)
	}
	if got, ok := run("root", query); ok || !strings.Contains(got, "keys_of.loose") {
		t.Errorf("got %s, want an error that names the table", got)
	}
}

func TestSeedQueryForSQLiteListsKeysOfEachType(t *testing.T) {
	t.Parallel()
	sqlite := sqlProgram(t, "sqlite3")
	db := filepath.Join(t.TempDir(), "shop.db")
	if output, ok := sqlite(sqlCase(t, "sqlite_keys.sql"), db); !ok {
		t.Fatal(output)
	}
	query, ok := sqlite("", db, clitest.Must(t, "seed", "--sql", "sqlite"))
	if !ok {
		t.Fatal(query)
	}
	const want = `collection,max
anything,62
beyond,1000000000000000000000000000000
compact,61
counted,3
decimals,12
empty_any,0
empty_decimal,0
empty_double,0
empty_float,0
empty_numeric,0
empty_real,0
empty_untyped,0
ends,9223372036854775807
indexed,301
many,800
numbers,5000
phones,17
reals,9007199254740994
scaled,71
texts,4000
uniq,300
untyped,45
`
	if got, ok := sqlite(query, "-csv", "-header", db); !ok || got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
