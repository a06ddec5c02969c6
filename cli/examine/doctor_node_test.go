package examine

import (
	"maps"
	"testing"
	"time"

	"github.com/hilo-id/hilo/allocator/admin/info"
	"github.com/hilo-id/hilo/cli/internal/clitest"
	"github.com/hilo-id/hilo/cli/internal/finding"
	"github.com/hilo-id/hilo/cli/internal/target"
)

// infoOf returns the INFO of a sound server with changes. The value "-" removes a field.
func infoOf(changes map[string]string) map[string]string {
	all := map[string]string{"role": "master", "redis_version": "7.4.1", "maxmemory_policy": "noeviction", "aof_enabled": "1", "aof_last_write_status": "ok"}
	maps.Copy(all, changes)
	maps.DeleteFunc(all, func(_, value string) bool { return value == "-" })
	return all
}

func TestNodeChecks(t *testing.T) {
	t.Parallel()
	type facts = map[string]string
	well := replica{addr: "r:1", online: true, priority: "100"}
	never := replica{addr: "r:2", online: true, priority: "0"}
	tests := []struct {
		name  string
		check func(*node)
		node  node
		level finding.Level // "" means no finding
		what  string
	}{
		{"a primary", checkRole, node{info: infoOf(nil)}, finding.OK, "it is a primary"},
		{
			"a replica", checkRole, node{info: facts{"role": "slave", "master_host": "h", "master_port": "6379"}},
			finding.Fault, "it is a replica, of h:6379",
		},
		{"without INFO", checkRole, node{}, finding.Unknown, "INFO does not report its role, its version and its replicas"},

		{"Redis 7", checkVersion, node{info: infoOf(nil)}, finding.OK, "Redis 7.4.1"},
		{"Redis 10", checkVersion, node{info: infoOf(facts{"redis_version": "10.0.0"})}, finding.OK, "Redis 10.0.0"},
		{"Valkey", checkVersion, node{info: infoOf(facts{"valkey_version": "8.1.1", "redis_version": "7.2.4"})}, finding.OK, "Valkey 8.1.1"},
		{"Redis 6", checkVersion, node{info: infoOf(facts{"redis_version": "6.2.14"})}, finding.Warning, "Redis 6.2.14"},
		{"Redis 4", checkVersion, node{info: infoOf(facts{"redis_version": "4.0.1"})}, finding.Fault, "Redis 4.0.1"},
		{"a version that is no number", checkVersion, node{info: infoOf(facts{"redis_version": "edge"})}, finding.OK, "Redis edge"},
		{"no version", checkVersion, node{}, "", ""},

		{"no eviction", checkEviction, node{config: facts{"maxmemory-policy": "noeviction"}}, finding.OK, "maxmemory-policy is noeviction"},
		{"eviction of anything", checkEviction, node{config: facts{"maxmemory-policy": "allkeys-lru"}}, finding.Fault, "maxmemory-policy is allkeys-lru"},
		{"eviction, by INFO", checkEviction, node{info: infoOf(facts{"maxmemory_policy": "allkeys-random"})}, finding.Fault, "maxmemory-policy is allkeys-random"},
		{
			"eviction of what expires", checkEviction, node{config: facts{"maxmemory-policy": "volatile-ttl"}},
			finding.OK, "maxmemory-policy is volatile-ttl, which spares keys without a TTL",
		},
		{"unknown eviction", checkEviction, node{}, finding.Unknown, "its maxmemory-policy is unknown: neither CONFIG nor INFO reports it"},

		{
			"an AOF", checkPersistence, node{config: facts{"appendonly": "yes", "appendfsync": "everysec"}},
			finding.OK, "it writes an AOF, appendfsync everysec",
		},
		{
			"an AOF that is never synced", checkPersistence, node{config: facts{"appendonly": "yes", "appendfsync": "no"}},
			finding.Warning, "it writes an AOF, and the operating system decides when that goes to disk (appendfsync no)",
		},
		{"an AOF, by INFO", checkPersistence, node{info: infoOf(nil)}, finding.Note, "it writes an AOF; how often that goes to disk is unknown without CONFIG"},
		{
			"an AOF that fails", checkPersistence, node{info: infoOf(facts{"aof_last_write_status": "err"})},
			finding.Fault, "it could not write its AOF the last time (aof_last_write_status is err)",
		},
		{
			"snapshots", checkPersistence, node{config: facts{"appendonly": "no", "save": "3600 1"}},
			finding.Warning, "it writes snapshots (save 3600 1) and no AOF",
		},
		{
			"snapshots that fail", checkPersistence,
			node{config: facts{"appendonly": "no", "save": "3600 1"}, info: facts{"rdb_last_bgsave_status": "err"}},
			finding.Fault, "it could not write its last snapshot (rdb_last_bgsave_status is err)",
		},
		{
			"no AOF, by INFO", checkPersistence, node{info: infoOf(facts{"aof_enabled": "0"})},
			finding.Warning, "it writes no AOF; whether it writes snapshots is unknown without CONFIG",
		},
		{"nothing kept", checkPersistence, node{config: facts{"appendonly": "no", "save": ""}}, finding.Warning, "it keeps nothing: no AOF, no snapshots"},
		{
			"nothing kept but by replicas", checkPersistence, node{config: facts{"appendonly": "no", "save": ""}, replicas: []replica{well}},
			finding.Warning, "it keeps nothing: no AOF, no snapshots",
		},
		{
			"unknown persistence", checkPersistence, node{},
			finding.Unknown, "whether it keeps its data is unknown: neither CONFIG nor INFO reports it",
		},

		{"no replicas", checkReplicas, node{info: infoOf(nil)}, finding.Note, "it has no replicas, so there is no failover"},
		{"replicas", checkReplicas, node{info: infoOf(nil), replicas: []replica{well, never}}, finding.Note, "it has 2 replicas: r:1, r:2"},
		{"a replica out of step", checkReplicas, node{info: infoOf(nil), replicas: []replica{{addr: "r:3"}}}, finding.Warning, "its replica r:3 is not in sync"},
		{
			"a replica that lags", checkReplicas, node{info: infoOf(nil), replicas: []replica{{addr: "r:3", online: true, lag: time.Minute}}},
			finding.Warning, "its replica r:3 last responded 1m0s ago",
		},
		{
			"a replica that only sentinels know", checkReplicas, node{info: infoOf(nil), watched: []target.Watched{{Addr: "r:4"}}},
			finding.Warning, "its replica r:4, which its sentinels know, does not follow it",
		},
		{"a replica that sentinels know", checkReplicas, node{info: infoOf(nil), replicas: []replica{well}, watched: []target.Watched{{Addr: "r:1"}}}, finding.Note, "it has 1 replica: r:1"},
		{"replicas of a replica", checkReplicas, node{info: facts{"role": "slave"}}, "", ""},

		{"no min-replicas and no replicas", checkMinReplicas, node{info: infoOf(nil), config: facts{"min-replicas-to-write": "0"}}, "", ""},
		{
			"no min-replicas", checkMinReplicas, node{info: infoOf(nil), config: facts{"min-replicas-to-write": "0"}, replicas: []replica{well}},
			finding.Warning, "min-replicas-to-write is 0, and it has 1 replica",
		},
		{
			"no min-replicas, and a replica that only sentinels know", checkMinReplicas,
			node{info: infoOf(nil), config: facts{"min-replicas-to-write": "0"}, watched: []target.Watched{{Addr: "r:4"}}},
			finding.Warning, "min-replicas-to-write is 0, and it has 1 replica",
		},
		{"no min-replicas, by INFO", checkMinReplicas, node{info: infoOf(nil), replicas: []replica{well}}, finding.Warning, "min-replicas-to-write is 0, and it has 1 replica"},
		{
			"min-replicas, by INFO", checkMinReplicas, node{info: infoOf(facts{"min_slaves_good_slaves": "1"}), replicas: []replica{well}},
			finding.OK, "it takes writes only while enough replicas are there",
		},
		{
			"min-replicas", checkMinReplicas, node{info: infoOf(nil), config: facts{"min-replicas-to-write": "1"}, replicas: []replica{well}},
			finding.OK, "min-replicas-to-write is 1",
		},
		{
			"min-replicas that are not there", checkMinReplicas, node{info: infoOf(nil), config: facts{"min-replicas-to-write": "2"}, replicas: []replica{well}},
			finding.Fault, "min-replicas-to-write is 2, and it has 1 replica",
		},

		{"priorities", checkPriorities, node{replicas: []replica{well}}, finding.OK, "each of its replicas may be promoted"},
		{"priority 0 at one", checkPriorities, node{replicas: []replica{well, never}}, finding.Note, "replica-priority is 0 at r:2"},
		{"priority 0 at all", checkPriorities, node{replicas: []replica{never}}, finding.Warning, "replica-priority is 0 at each of its replicas"},
		{
			"a replica that does not answer", checkPriorities, node{replicas: []replica{well, {addr: "r:3"}}},
			finding.Unknown, "the priority of r:3 is unknown: it did not answer",
		},
		{"priorities without replicas", checkPriorities, node{}, "", ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			test.check(&test.node)
			got := test.node.Findings
			if test.level == "" && len(got) > 0 {
				t.Errorf("%+v, want nothing", got)
			}
			seen := test.level == ""
			for _, f := range got {
				seen = seen || f.Level == test.level && f.What == test.what
				clitest.CheckComplete(t, f)
			}
			if !seen {
				t.Errorf("%+v, want %s: %s", got, test.level, test.what)
			}
		})
	}
}

func TestParseReplicaReadsALineOfINFO(t *testing.T) {
	t.Parallel()
	fields := info.Fields("# Replication\r\nrole:master\r\nslave0:ip=::1,port=6380,state=online,offset=42,lag=3,type=replica\r\n\r\nempty:\r\n")
	if fields["role"] != "master" || len(fields) != 3 {
		t.Errorf("%v", fields)
	}
	if got, want := parseReplica(fields["slave0"]), (replica{addr: "[::1]:6380", online: true, lag: 3 * time.Second}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	if got := parseReplica("ip=h,port=1,state=wait_bgsave,offset=0,lag=0"); got.online {
		t.Errorf("%+v", got)
	}
}
