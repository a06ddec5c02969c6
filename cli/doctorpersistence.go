package cli

import "time"

const (
	checkPersistent = "persistence"
	checkFsync      = "fsync"
)

// slowestFsync is how long a write waits at worst for appendfsync everysec.
const slowestFsync = 2 * time.Second

const turnOnAOF = "Turn it on: CONFIG SET appendonly yes, also in its configuration file."

func checkPersistence(n node, want wanted) []finding {
	aof, known := n.aof()
	if !known {
		return []finding{found(checkPersistent, levelUnknown, "it is not known whether it keeps its data: neither CONFIG nor INFO tells").
			because("A server that comes back empty gives all numbers again, to workers that do not know better.").
			remedy("See to it that appendonly is yes.")}
	}
	if aof {
		return append(n.appending(), n.fsync(want)...)
	}
	all := n.snapshots(want)
	if want.durability.Fsync {
		all = append(all, found(checkFsync, levelFault, "--fsync waits for an AOF, and there is none").
			because("No range would ever be confirmed.").remedy(turnOnAOF))
	}
	return all
}

func (n node) aof() (on, known bool) {
	if text, ok := n.config["appendonly"]; ok {
		return text == "yes", true
	}
	text, ok := n.info["aof_enabled"]
	return text == "1", ok
}

// appending is about a node that writes an AOF.
func (n node) appending() []finding {
	if status, ok := n.info["aof_last_write_status"]; ok && status != "ok" {
		return []finding{found(checkPersistent, levelFault, "it could not write its AOF the last time (aof_last_write_status is %s)", status).
			because("It refuses writes, and a crash loses what is not on disk.").remedy("See to its disk and its log.")}
	}
	switch sync, known := n.config["appendfsync"]; {
	case !known:
		return []finding{found(checkPersistent, levelNote, "it writes an AOF; how often it goes to disk is not known, without CONFIG")}
	case sync == "no":
		return []finding{found(checkPersistent, levelWarning, "it writes an AOF, and leaves it to the system when that goes to disk (appendfsync no)").
			because("A crash of the machine can lose half a minute, more than the jump that follows may cover.").
			remedy("CONFIG SET appendfsync everysec, or always.")}
	default:
		return []finding{found(checkPersistent, levelOK, "it writes an AOF, appendfsync %s", sync)}
	}
}

// fsync is about waiting for the AOF.
func (n node) fsync(want wanted) []finding {
	if !want.durability.Fsync {
		return nil
	}
	kind, version := n.version()
	switch sync := n.config["appendfsync"]; {
	case !n.hasWaitAOF():
		return []finding{found(checkFsync, levelFault, "--fsync takes WAITAOF, and %s %s does not know it", kind, version).
			because("No range would ever be confirmed.").remedy("Upgrade to Redis 7.2 or later, or to Valkey; or set appendfsync always and leave --fsync out.")}
	case sync == "no":
		return []finding{found(checkFsync, levelFault, "--fsync waits for the disk, and appendfsync no never says when that is").
			because("No range would ever be confirmed.").remedy("CONFIG SET appendfsync everysec, or always.")}
	case sync == "everysec" && want.durability.Timeout < slowestFsync:
		return []finding{found(checkFsync, levelWarning, "--fsync waits at most %v, and with appendfsync everysec it can take longer", want.durability.Timeout).
			because("A range that is not confirmed in time is discarded, and nothing is given meanwhile.").
			remedy("Use --durable-timeout %v, or CONFIG SET appendfsync always.", slowestFsync)}
	}
	return []finding{found(checkFsync, levelOK, "--fsync can be confirmed")}
}

// snapshots is about a node without AOF.
func (n node) snapshots(want wanted) []finding {
	points, known := n.config["save"]
	switch {
	case n.info["rdb_last_bgsave_status"] == "err" && points != "":
		return []finding{found(checkPersistent, levelFault, "it could not write its last snapshot (rdb_last_bgsave_status is err)").
			because("It refuses writes while that is so, unless told otherwise, and a restart loses all since the one before.").
			remedy("See to its disk and its log.")}
	case !known:
		return []finding{found(checkPersistent, levelWarning, "it writes no AOF; whether it writes snapshots is not known, without CONFIG").
			because("A restart loses at least all since the last snapshot, more than the jump that follows may cover.").remedy(turnOnAOF)}
	case points != "":
		return []finding{found(checkPersistent, levelWarning, "it writes snapshots (save %s) and no AOF", points).
			because("A restart loses all since the last one, more than the jump that follows may cover.").remedy(turnOnAOF)}
	}
	f := found(checkPersistent, levelFault, "it keeps nothing: no AOF, no snapshots").
		because("After a restart counters begin at 1 again for workers that were restarted too.").remedy(turnOnAOF)
	switch {
	case want.requireSeeded:
		f.Level, f.Why = levelWarning, "After a restart nothing is given until the counters are seeded again (--require-seeded)."
	case len(n.replicas) > 0:
		f.Level, f.Why = levelWarning, "It has replicas, so it takes the loss of all of them at once; and a primary that "+
			"restarts before it is failed over empties them too."
	}
	return []finding{f}
}
