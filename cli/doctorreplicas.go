package cli

import (
	"strconv"
	"strings"
	"time"
)

// longestLag is how long a replica that is well may go unheard: it speaks every second.
const longestLag = 10 * time.Second

// checkReplicas compares what there is with what is to be waited for.
func checkReplicas(n node, want wanted) []finding {
	const check = "replicas"
	if n.info["role"] != "master" {
		return nil
	}
	online := 0
	var all []finding
	for _, r := range n.replicas {
		switch {
		case !r.online:
			all = append(all, found(check, levelWarning, "its replica %s is not in step yet, or no more", r.addr).
				because("It confirms nothing, and what it lacks is lost if it is promoted.").remedy("See to that replica and its log."))
			continue
		case r.lag > longestLag:
			all = append(all, found(check, levelWarning, "its replica %s was last heard %v ago", r.addr, r.lag).
				because("It confirms nothing meanwhile, and what it lacks is lost if it is promoted.").remedy("See to that replica and the network."))
		}
		online++
	}
	asked, total := want.durability.Replicas, len(n.replicas)
	switch {
	case asked > online:
		all = append(all, found(check, levelFault, "--replicas %d, and it has %d that can confirm", asked, online).
			because("No range would ever be used.").remedy("Add replicas, or ask for fewer."))
	case total == 0:
		all = append(all, found(check, levelNote, "it has no replicas, so there is no failover"))
	case asked == 0:
		all = append(all, found(check, levelNote, "it has %s, and nothing waits for them", plural(total, "replica")).
			because("A failover can lose the newest ranges: counters jump ahead then, past what was given in two minutes.").
			remedy("Where that is not enough, wait for all of them: --replicas %d.", total))
	case asked < total:
		all = append(all, found(check, levelWarning, "--replicas %d, and it has %d", asked, total).
			because("One that did not confirm may be promoted.").remedy("Wait for all: --replicas %d.", total))
	default:
		all = append(all, found(check, levelOK, "--replicas %d, which is all of them", asked))
	}
	return all
}

func checkMinReplicas(n node, _ wanted) []finding {
	const check = "min-replicas"
	if len(n.replicas) == 0 && n.config["min-replicas-to-write"] == "" {
		return nil
	}
	text, known := n.config["min-replicas-to-write"]
	if !known {
		if _, set := n.info["min_slaves_good_slaves"]; set { // it is there only where min-replicas-to-write is
			return []finding{found(check, levelOK, "it takes writes only while enough replicas are there")}
		}
		text = "0"
	}
	least, err := strconv.Atoi(text)
	switch {
	case err != nil:
		return nil
	case least > len(n.replicas):
		return []finding{found(check, levelFault, "min-replicas-to-write is %d, and it has %s", least, plural(len(n.replicas), "replica")).
			because("It takes no writes, so no identifier can be given from it.").remedy("Add replicas, or lower min-replicas-to-write.")}
	case least == 0 && len(n.replicas) > 0:
		return []finding{found(check, levelWarning, "min-replicas-to-write is 0, and it has %s", plural(len(n.replicas), "replica")).
			because("An old primary that wakes up after a failover goes on giving numbers that its successor gives too.").
			remedy("CONFIG SET min-replicas-to-write 1, also in its configuration file.")}
	case least == 0:
		return nil
	}
	return []finding{found(check, levelOK, "min-replicas-to-write is %d", least)}
}

func checkPriorities(n node, _ wanted) []finding {
	const check = "replica-priority"
	if len(n.replicas) == 0 {
		return nil
	}
	var never, unknown []string
	for _, r := range n.replicas {
		switch r.priority {
		case "":
			unknown = append(unknown, r.addr)
		case "0":
			never = append(never, r.addr)
		}
	}
	var all []finding
	if len(unknown) > 0 {
		all = append(all, found(check, levelUnknown, "the priority of %s is not known: no answer from there", strings.Join(unknown, ", ")).
			because("A replica with replica-priority 0 is never promoted."))
	}
	switch {
	case len(never) == len(n.replicas):
		all = append(all, found(check, levelWarning, "replica-priority is 0 at each of its replicas").
			because("None can be promoted, so there is no failover.").remedy("CONFIG SET replica-priority 100 at one that may become the primary."))
	case len(never) > 0:
		all = append(all, found(check, levelNote, "replica-priority is 0 at %s", strings.Join(never, ", ")).
			because("It is never promoted, but counts among those that --replicas waits for."))
	case len(unknown) == 0:
		all = append(all, found(check, levelOK, "each of its replicas may be promoted"))
	}
	return all
}
