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
var nodeChecks = []func(*node){
	checkAddress, checkRole, checkVersion, checkEviction, checkPersistence, checkReplicas, checkMinReplicas, checkPriorities,
}

const grantInfo = "Grant it to this user: ACL SETUSER … +info."

func checkAddress(n *node) { n.CompareConnections(n.spread) }

func checkRole(n *node) {
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

func checkVersion(n *node) {
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

func checkEviction(n *node) {
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

const checkPersistent = "persistence"

const turnOnAOF = "Turn on the append-only file: CONFIG SET appendonly yes, also in its configuration file."

func checkPersistence(n *node) {
	switch n.facts().AppendOnly() {
	case "":
		n.Add(checkPersistent, finding.Unknown, "whether it keeps its data is unknown: neither CONFIG nor INFO reports it").
			Because("A server that comes back empty issues nothing until it is seeded again.").
			Remedy("Make sure that appendonly is yes.")
	case "yes":
		n.checkAOF()
	default:
		n.checkSnapshots()
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
			Because("A crash of the machine can lose half a minute of writes, and a burst in it can be more than the jump that follows covers.").
			Remedy("CONFIG SET appendfsync everysec, or always.")
	default:
		n.Add(checkPersistent, finding.OK, "it writes an AOF, appendfsync %s", sync)
	}
}

// checkSnapshots checks a node that writes no AOF.
func (n *node) checkSnapshots() {
	points, known := n.config["save"]
	switch {
	case n.info["rdb_last_bgsave_status"] == "err" && points != "":
		n.Add(checkPersistent, finding.Fault, "it could not write its last snapshot (rdb_last_bgsave_status is err)").
			Because("By default it refuses writes until a snapshot succeeds, and a restart loses all writes since the last one.").
			Remedy("Check its disk and its log.")
	case !known:
		n.Add(checkPersistent, finding.Warning, "it writes no AOF; whether it writes snapshots is unknown without CONFIG").
			Because("A restart loses at least all writes since the last snapshot. " + snapshotJump).Remedy(turnOnAOF)
	case points != "":
		n.Add(checkPersistent, finding.Warning, "it writes snapshots (save %s) and no AOF", points).
			Because("A restart loses all writes since the last one. " + snapshotJump).Remedy(turnOnAOF)
	default:
		why := "A restart empties it, and it then issues nothing until it is initialised and seeded again (hilo help recover)."
		if len(n.replicas) > 0 {
			why = "A primary that restarts before it is failed over empties its replicas too, and issues nothing until it is seeded again."
		}
		n.Add(checkPersistent, finding.Warning, "it keeps nothing: no AOF, no snapshots").Because(why).Remedy(turnOnAOF)
	}
}

const snapshotJump = "Each counter then skips 1.0 to 5.2 million numbers, which covers an hour at a steady rate and no more."

// maxLag bounds the time since the last acknowledgement of a healthy replica, which sends one every second.
const maxLag = 10 * time.Second

// checkReplicas checks what a failover would promote. A tool that copies the data as a replica does is in the list too.
func checkReplicas(n *node) {
	const check = "replicas"
	if n.info["role"] != "master" {
		return
	}
	var addrs []string
	for _, r := range n.replicas {
		addrs = append(addrs, r.addr)
		switch {
		case !r.online:
			n.Add(check, finding.Warning, "its replica %s is not in sync", r.addr).
				Because("What it lacks is lost if it is promoted.").Remedy("Check that replica and its log.")
		case r.lag > maxLag:
			n.Add(check, finding.Warning, "its replica %s last responded %v ago", r.addr, r.lag).
				Because("What it lacks is lost if it is promoted.").Remedy("Check that replica and the network.")
		}
	}
	for _, addr := range n.absent() {
		n.Add(check, finding.Warning, "its replica %s, which its sentinels know, does not follow it", addr).
			Because("What it lacks is lost if it is promoted.").Remedy("Check that replica and its log, or make the sentinels forget it: SENTINEL RESET.")
	}
	if len(addrs) == 0 {
		if len(n.watched) == 0 {
			n.Add(check, finding.Note, "it has no replicas, so there is no failover")
		}
		return
	}
	n.Add(check, finding.Note, "it has %s: %s", term.Plural(len(addrs), "replica"), strings.Join(addrs, ", ")).
		Because("A failover can lose the newest writes. Each counter then skips 65,536 to 4.3 million numbers, which covers four minutes at a steady rate. " +
			"A tool that follows as a replica, such as RedisShake, counts as one.").
		Remedy("For high availability without jumps use several masters, each Durable and without replicas.")
}

func checkMinReplicas(n *node) {
	const check = "min-replicas"
	has, known := len(n.replicas), len(n.replicas)+len(n.absent())
	least, _ := strconv.Atoi(n.config["min-replicas-to-write"]) // 0 if CONFIG is not permitted
	_, set := n.info["min_slaves_good_slaves"]                  // reported only with min-replicas-to-write
	switch {
	case least > has:
		n.Add(check, finding.Fault, "min-replicas-to-write is %d, and it has %s", least, term.Plural(has, "replica")).
			Because("It takes no writes, so it issues no identifiers.").Remedy("Add replicas, or lower min-replicas-to-write.")
	case least > 0:
		n.Add(check, finding.OK, "min-replicas-to-write is %d", least)
	case known > 0 && set:
		n.Add(check, finding.OK, "it takes writes only while enough replicas are there")
	case known > 0:
		n.Add(check, finding.Warning, "min-replicas-to-write is 0, and it has %s", term.Plural(known, "replica")).
			Because("An old primary that returns after a failover keeps issuing numbers that its successor issues too.").
			Remedy("CONFIG SET min-replicas-to-write 1, also in its configuration file.")
	}
}

func checkPriorities(n *node) {
	const check = "replica-priority"
	at := make(map[string][]string) // replicas by their priority
	for _, r := range n.replicas {
		at[r.priority] = append(at[r.priority], r.addr)
	}
	never, unknown := at["0"], at[""]
	if len(unknown) > 0 {
		n.Add(check, finding.Unknown, "the priority of %s is unknown: it did not answer", strings.Join(unknown, ", ")).
			Because("A replica with replica-priority 0 is never promoted. One that does not answer may be a tool, such as RedisShake.")
	}
	switch {
	case len(n.replicas) == 0:
	case len(never) == len(n.replicas):
		n.Add(check, finding.Warning, "replica-priority is 0 at each of its replicas").
			Because("None can be promoted, so there is no failover.").Remedy("CONFIG SET replica-priority 100 at one that may become the primary.")
	case len(never) > 0:
		n.Add(check, finding.Note, "replica-priority is 0 at %s", strings.Join(never, ", ")).
			Because("It is never promoted.")
	case len(unknown) == 0:
		n.Add(check, finding.OK, "each of its replicas may be promoted")
	}
}
