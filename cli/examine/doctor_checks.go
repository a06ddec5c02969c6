package examine

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/hilo-id/hilo/cli/internal/finding"
	"github.com/hilo-id/hilo/cli/internal/term"
)

// nodeChecks add their findings to the sheet of the node.
var nodeChecks = []func(*node, wanted){
	checkRole, checkVersion, checkEviction, checkPersistence, checkReplicas, checkMinReplicas, checkPriorities,
}

const grantInfo = "Grant it to this user: ACL SETUSER … +info."

func checkRole(n *node, _ wanted) {
	const check = "role"
	switch n.info["role"] {
	case "master":
		n.Add(check, finding.OK, "it is a primary")
	case "":
		n.Add(check, finding.Unknown, "INFO does not report its role, its version and its replicas").
			Because("A replica takes no writes, and the replicas decide what a failover can lose.").Remedy(grantInfo)
	default:
		n.Add(check, finding.Fault, "it is a replica, of %s:%s", n.info["master_host"], n.info["master_port"]).
			Because("It takes no writes, so it issues no identifiers.").
			Remedy("Name its primary with --redis, or its sentinels or cluster.")
	}
}

func checkVersion(n *node, _ wanted) {
	const check, upgrade = "version", "Upgrade to Redis 7 or later, or to Valkey."
	switch kind, version := n.facts().Version(); {
	case version == "": // checkRole reports this
	case n.olderThan(5, 0):
		n.Add(check, finding.Fault, "Redis %s", version).Because("Before Redis 5 a script that reads the clock may not write.").Remedy(upgrade)
	case n.olderThan(7, 0):
		n.Add(check, finding.Warning, "Redis %s", version).Because("hilo is tested on Redis 7 and 8 and on Valkey 8.").Remedy(upgrade)
	default:
		n.Add(check, finding.OK, "%s %s", kind, version)
	}
}

// olderThan reports whether the node is a Redis older than a version. It returns false if the version is unknown.
func (n *node) olderThan(major, minor int) bool {
	kind, version := n.facts().Version()
	var isMajor, isMinor int
	read, _ := fmt.Sscanf(version, "%d.%d", &isMajor, &isMinor)
	return kind == "Redis" && read > 0 && (isMajor < major || isMajor == major && isMinor < minor)
}

func checkEviction(n *node, _ wanted) {
	const check = "eviction"
	switch policy := n.facts().MemoryPolicy(); {
	case policy == "":
		n.Add(check, finding.Unknown, "its maxmemory-policy is unknown: neither CONFIG nor INFO reports it").
			Because("If it evicts a counter, its numbers are issued again.").Remedy("Make sure that it is noeviction.")
	case strings.HasPrefix(policy, "allkeys-"):
		n.Add(check, finding.Fault, "maxmemory-policy is %s", policy).
			Because("When memory is full it evicts counters, and their numbers are issued again.").
			Remedy("CONFIG SET maxmemory-policy noeviction, also in its configuration file.")
	case policy != "noeviction":
		n.Add(check, finding.OK, "maxmemory-policy is %s, which spares keys without a TTL", policy)
	default:
		n.Add(check, finding.OK, "maxmemory-policy is noeviction")
	}
}

const (
	checkPersistent = "persistence"
	checkFsync      = "fsync"
)

// maxFsyncDelay is how long a write may wait for appendfsync everysec: two seconds, and a margin for a busy disk.
const maxFsyncDelay = 3 * time.Second

const turnOnAOF = "Turn it on: CONFIG SET appendonly yes, also in its configuration file."

func checkPersistence(n *node, want wanted) {
	switch n.facts().AppendOnly() {
	case "":
		n.Add(checkPersistent, finding.Unknown, "whether it keeps its data is unknown: neither CONFIG nor INFO reports it").
			Because("A server that comes back empty issues all numbers again, to workers that were restarted too.").
			Remedy("Make sure that appendonly is yes.")
	case "yes":
		n.checkAOF()
		n.checkWaitAOF(want)
	default:
		n.checkSnapshots(want)
		if want.Durability.Fsync {
			n.Add(checkFsync, finding.Fault, "--fsync waits for an AOF, and there is none").
				Because("No range would ever be confirmed.").Remedy(turnOnAOF)
		}
	}
}

// checkAOF checks a node that writes an AOF.
func (n *node) checkAOF() {
	status, reported := n.info["aof_last_write_status"]
	sync, known := n.config["appendfsync"]
	switch {
	case reported && status != "ok":
		n.Add(checkPersistent, finding.Fault, "it could not write its AOF the last time (aof_last_write_status is %s)", status).
			Because("It refuses writes, and a crash loses what is not on disk.").Remedy("Check its disk and its log.")
	case !known:
		n.Add(checkPersistent, finding.Note, "it writes an AOF; how often that goes to disk is unknown without CONFIG")
	case sync == "no":
		n.Add(checkPersistent, finding.Warning, "it writes an AOF, and the operating system decides when that goes to disk (appendfsync no)").
			Because("A crash of the machine can lose half a minute of writes, more than the jump that follows may cover.").
			Remedy("CONFIG SET appendfsync everysec, or always.")
	default:
		n.Add(checkPersistent, finding.OK, "it writes an AOF, appendfsync %s", sync)
	}
}

// checkWaitAOF checks whether waiting for the AOF can succeed. It assumes that a node of unknown version supports WAITAOF.
func (n *node) checkWaitAOF(want wanted) {
	const never = "No range would ever be confirmed."
	switch sync := n.config["appendfsync"]; {
	case !want.Durability.Fsync:
	case n.olderThan(7, 2):
		n.Add(checkFsync, finding.Fault, "--fsync needs WAITAOF, which Redis %s does not have", n.info["redis_version"]).
			Because(never).Remedy("Upgrade to Redis 7.2 or later, or to Valkey; or set appendfsync always and leave --fsync out.")
	case sync == "no":
		n.Add(checkFsync, finding.Fault, "--fsync waits for the disk, and appendfsync no never confirms it").
			Because(never).Remedy("CONFIG SET appendfsync everysec, or always.")
	case sync == "everysec" && want.Durability.Timeout < maxFsyncDelay:
		n.Add(checkFsync, finding.Warning, "--fsync waits at most %v, and with appendfsync everysec it can take longer", want.Durability.Timeout).
			Because("A range that is not confirmed in time is discarded, and nothing is issued meanwhile.").
			Remedy("Use --durable-timeout %v, or CONFIG SET appendfsync always.", maxFsyncDelay)
	default:
		n.Add(checkFsync, finding.OK, "--fsync can be confirmed")
	}
}

// checkSnapshots checks a node that writes no AOF.
func (n *node) checkSnapshots(want wanted) {
	points, known := n.config["save"]
	switch {
	case n.info["rdb_last_bgsave_status"] == "err" && points != "":
		n.Add(checkPersistent, finding.Fault, "it could not write its last snapshot (rdb_last_bgsave_status is err)").
			Because("By default it refuses writes until a snapshot succeeds, and a restart loses all writes since the last one.").
			Remedy("Check its disk and its log.")
	case !known:
		n.Add(checkPersistent, finding.Warning, "it writes no AOF; whether it writes snapshots is unknown without CONFIG").
			Because("A restart loses at least all writes since the last snapshot, more than the jump that follows may cover.").Remedy(turnOnAOF)
	case points != "":
		n.Add(checkPersistent, finding.Warning, "it writes snapshots (save %s) and no AOF", points).
			Because("A restart loses all writes since the last one, more than the jump that follows may cover.").Remedy(turnOnAOF)
	default:
		level, why := finding.Fault, "After a restart counters begin at 1 again for workers that were restarted too."
		if want.RequireSeeded {
			level, why = finding.Warning, "After a restart nothing is issued until the counters are seeded again (--require-seeded)."
		} else if len(n.replicas) > 0 {
			level, why = finding.Warning, "It has replicas, so only the loss of all of them at once loses everything; but a primary that "+
				"restarts before it is failed over empties them too."
		}
		n.Add(checkPersistent, level, "it keeps nothing: no AOF, no snapshots").Because(why).Remedy(turnOnAOF)
		if !want.reported.Bare() && !want.RequirePrefix {
			n.Add(checkPersistent, finding.Warning, "its settings are not kept either, and workers use it without them").
				Because("A master that comes back empty has no prefix, tag or interval, and would issue bare numbers from 1 on to a worker that uses it alone.").
				Remedy("Give workers --require-prefix, or HILO_REQUIRE_PREFIX=true, and the doctor as well.")
		}
	}
}

// maxLag bounds the time since the last acknowledgement of a healthy replica, which sends one every second.
const maxLag = 10 * time.Second

// checkReplicas compares the replicas with those that workers wait for.
func checkReplicas(n *node, want wanted) {
	const check = "replicas"
	if n.info["role"] != "master" {
		return
	}
	for _, r := range n.replicas {
		switch {
		case !r.online:
			n.Add(check, finding.Warning, "its replica %s is not in sync", r.addr).
				Because("It confirms nothing, and what it lacks is lost if it is promoted.").Remedy("Check that replica and its log.")
		case r.lag > maxLag:
			n.Add(check, finding.Warning, "its replica %s last responded %v ago", r.addr, r.lag).
				Because("It confirms nothing meanwhile, and what it lacks is lost if it is promoted.").Remedy("Check that replica and the network.")
		}
	}
	stated := want.reported.Settings.Replicas()
	switch required, total, online := want.Durability.Replicas, len(n.replicas), n.online(); {
	case required > online:
		n.Add(check, finding.Fault, "--replicas %d, and it has %d that can confirm", required, online).
			Because("No range would ever be used.").Remedy("Add replicas, or require fewer.")
	case total == 0:
		n.Add(check, finding.Note, "it has no replicas, so there is no failover")
	case stated >= required && stated > 0: // checkStated reports this
	case required == 0:
		n.Add(check, finding.Note, "it has %s, and nothing waits for them", term.Plural(total, "replica")).
			Because("A failover can lose the newest ranges: counters then jump past twice what was issued in two minutes.").
			Remedy("Where that is not enough: hilo prefix set --durable replicas:%d, for all clients, or --replicas %[1]d for one.", total)
	case required < total:
		n.Add(check, finding.Warning, "--replicas %d, and it has %d", required, total).
			Because("One that did not confirm may be promoted.").Remedy("Wait for all: --replicas %d.", total)
	default:
		n.Add(check, finding.OK, "--replicas %d, which is all of them", required)
	}
}

func checkMinReplicas(n *node, want wanted) {
	const check = "min-replicas"
	has := len(n.replicas)
	least, _ := strconv.Atoi(n.config["min-replicas-to-write"]) // 0 if CONFIG is not permitted
	_, set := n.info["min_slaves_good_slaves"]                  // reported only with min-replicas-to-write
	switch {
	case least > has:
		n.Add(check, finding.Fault, "min-replicas-to-write is %d, and it has %s", least, term.Plural(has, "replica")).
			Because("It takes no writes, so it issues no identifiers.").Remedy("Add replicas, or lower min-replicas-to-write.")
	case least > 0:
		n.Add(check, finding.OK, "min-replicas-to-write is %d", least)
	case has > 0 && set:
		n.Add(check, finding.OK, "it takes writes only while enough replicas are there")
	case has > 0 && want.reported.Settings.Replicas() == 0: // otherwise an old primary lacks the acknowledgements
		n.Add(check, finding.Warning, "min-replicas-to-write is 0, and it has %s", term.Plural(has, "replica")).
			Because("An old primary that returns after a failover keeps issuing numbers that its successor issues too.").
			Remedy("CONFIG SET min-replicas-to-write 1, also in its configuration file.")
	}
}

func checkPriorities(n *node, _ wanted) {
	const check = "replica-priority"
	at := make(map[string][]string) // replicas by their priority
	for _, r := range n.replicas {
		at[r.priority] = append(at[r.priority], r.addr)
	}
	never, unknown := at["0"], at[""]
	if len(unknown) > 0 {
		n.Add(check, finding.Unknown, "the priority of %s is unknown: it did not answer", strings.Join(unknown, ", ")).
			Because("A replica with replica-priority 0 is never promoted.")
	}
	switch {
	case len(n.replicas) == 0:
	case len(never) == len(n.replicas):
		n.Add(check, finding.Warning, "replica-priority is 0 at each of its replicas").
			Because("None can be promoted, so there is no failover.").Remedy("CONFIG SET replica-priority 100 at one that may become the primary.")
	case len(never) > 0:
		n.Add(check, finding.Note, "replica-priority is 0 at %s", strings.Join(never, ", ")).
			Because("It is never promoted, but counts among those that --replicas waits for.")
	case len(unknown) == 0:
		n.Add(check, finding.OK, "each of its replicas may be promoted")
	}
}
