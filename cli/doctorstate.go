package cli

import (
	"strconv"
	"strings"
)

// nodeCheck looks at one node.
type nodeCheck func(node, wanted) []finding

func nodeChecks() []nodeCheck {
	return []nodeCheck{checkRole, checkVersion, checkEviction, checkPersistence, checkReplicas, checkMinReplicas, checkPriorities}
}

const grantInfo = "Grant it to this user: ACL SETUSER … +info."

func checkRole(n node, _ wanted) []finding {
	const check = "role"
	switch role := n.info["role"]; role {
	case "master":
		return []finding{found(check, levelOK, "it is a primary")}
	case "":
		return []finding{found(check, levelUnknown, "INFO does not tell its role, its version and its replicas").
			because("A replica takes no writes, and what there is of replicas decides what a failover can lose.").remedy(grantInfo)}
	default:
		primary := n.info["master_host"] + ":" + n.info["master_port"]
		return []finding{found(check, levelFault, "it is a replica, of %s", primary).
			because("It takes no writes, so no identifier can be given from it.").
			remedy("Name its primary with --redis, or the sentinels or the cluster that know it.")}
	}
}

func checkVersion(n node, _ wanted) []finding {
	const check = "version"
	kind, version := n.version()
	switch {
	case version == "":
		return nil // the role says that nothing is known
	case kind == "Redis" && older(version, 5, 0):
		return []finding{found(check, levelFault, "Redis %s", version).
			because("Before Redis 5 a script that reads the clock may not write.").remedy("Upgrade to Redis 7 or later, or to Valkey.")}
	case kind == "Redis" && older(version, 7, 0):
		return []finding{found(check, levelWarning, "Redis %s", version).
			because("hilo is tested on Redis 7 and 8 and on Valkey 8.").remedy("Upgrade to Redis 7 or later, or to Valkey.")}
	}
	return []finding{found(check, levelOK, "%s %s", kind, version)}
}

// version is what the node says that it is; "": it does not say.
func (n node) version() (kind, version string) {
	if version = n.info["valkey_version"]; version != "" {
		return "Valkey", version
	}
	return "Redis", n.info["redis_version"]
}

// hasWaitAOF tells whether it knows the command; a node that does not say its version may.
func (n node) hasWaitAOF() bool {
	kind, version := n.version()
	return kind == "Valkey" || version == "" || !older(version, 7, 2)
}

// older compares the first two numbers of a version.
func older(version string, major, minor int) bool {
	parts := strings.SplitN(version+".0", ".", 3)
	is, err := strconv.Atoi(parts[0])
	if err != nil || is != major {
		return err == nil && is < major
	}
	is, err = strconv.Atoi(parts[1])
	return err == nil && is < minor
}

func checkEviction(n node, _ wanted) []finding {
	const check = "eviction"
	policy, known := n.setting("maxmemory-policy", "maxmemory_policy")
	switch {
	case !known:
		return []finding{found(check, levelUnknown, "its maxmemory-policy is not known: neither CONFIG nor INFO tells").
			because("A policy that evicts counters has their numbers given again.").remedy("See to it that it is noeviction.")}
	case strings.HasPrefix(policy, "allkeys-"):
		return []finding{found(check, levelFault, "maxmemory-policy is %s", policy).
			because("When memory is full it evicts counters, and their numbers are given again.").
			remedy("CONFIG SET maxmemory-policy noeviction, also in its configuration file.")}
	case policy != "noeviction":
		return []finding{found(check, levelOK, "maxmemory-policy is %s, which spares keys without a TTL", policy)}
	}
	return []finding{found(check, levelOK, "maxmemory-policy is noeviction")}
}
