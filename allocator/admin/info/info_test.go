package info

import (
	"maps"
	"testing"
)

func TestFieldsSkipsHeadingsAndEmptyLines(t *testing.T) {
	t.Parallel()
	want := map[string]string{"role": "master", "slave0": "ip=::1,port=6380", "empty": ""}
	if got := Fields("# Replication\r\nrole:master\r\nslave0:ip=::1,port=6380\r\n\r\nempty:\r\n"); !maps.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestPersistence(t *testing.T) {
	t.Parallel()
	type fields = map[string]string
	for _, test := range []struct {
		name  string
		facts Facts
		want  string
	}{
		{"unknown", Facts{}, ""},
		{"an AOF by CONFIG", Facts{Info: fields{"aof_enabled": "0"}, Config: fields{"appendonly": "yes", "appendfsync": "always"}}, "AOF always"},
		{"an AOF by INFO", Facts{Info: fields{"aof_enabled": "1"}}, "AOF"},
		{"no AOF by INFO", Facts{Info: fields{"aof_enabled": "0"}}, "no AOF"},
		{"snapshots", Facts{Config: fields{"appendonly": "no", "save": "3600 1"}}, "snapshots"},
		{"nothing", Facts{Config: fields{"appendonly": "no", "save": ""}}, "none"},
	} {
		if got := test.facts.Persistence(); got != test.want {
			t.Errorf("%s: got %q, want %q", test.name, got, test.want)
		}
	}
}
