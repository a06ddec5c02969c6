package doctor

import (
	"strconv"
	"strings"
	"time"

	"github.com/hilo-id/hilo/cli/internal/finding"
	"github.com/hilo-id/hilo/cli/internal/term"
)

// longestLag is how long a replica that is well may go unheard: it speaks every second.
const longestLag = 10 * time.Second

// checkReplicas compares what there is with what is to be waited for.
func checkReplicas(n node, want wanted, s *finding.Sheet) {
	const check = "replicas"
	if n.info["role"] != "master" {
		return
	}
	online := 0
	for _, r := range n.replicas {
		if !r.online {
			s.Add(check, finding.Warning, "its replica %s is not in step yet, or no more", r.addr).
				Because("It confirms nothing, and what it lacks is lost if it is promoted.").Remedy("See to that replica and its log.")
			continue
		}
		online++
		if r.lag > longestLag {
			s.Add(check, finding.Warning, "its replica %s was last heard %v ago", r.addr, r.lag).
				Because("It confirms nothing meanwhile, and what it lacks is lost if it is promoted.").Remedy("See to that replica and the network.")
		}
	}
	switch asked, total := want.Durability.Replicas, len(n.replicas); {
	case asked > online:
		s.Add(check, finding.Fault, "--replicas %d, and it has %d that can confirm", asked, online).
			Because("No range would ever be used.").Remedy("Add replicas, or ask for fewer.")
	case total == 0:
		s.Add(check, finding.Note, "it has no replicas, so there is no failover")
	case asked == 0:
		s.Add(check, finding.Note, "it has %s, and nothing waits for them", term.Plural(total, "replica")).
			Because("A failover can lose the newest ranges: counters jump ahead then, past what was given in two minutes.").
			Remedy("Where that is not enough, wait for all of them: --replicas %d.", total)
	case asked < total:
		s.Add(check, finding.Warning, "--replicas %d, and it has %d", asked, total).
			Because("One that did not confirm may be promoted.").Remedy("Wait for all: --replicas %d.", total)
	default:
		s.Add(check, finding.OK, "--replicas %d, which is all of them", asked)
	}
}

func checkMinReplicas(n node, _ wanted, s *finding.Sheet) {
	const check = "min-replicas"
	has := len(n.replicas)
	least, _ := strconv.Atoi(n.config["min-replicas-to-write"]) // 0, too, where CONFIG is not permitted
	_, set := n.info["min_slaves_good_slaves"]                  // it is there only where min-replicas-to-write is
	switch {
	case least > has:
		s.Add(check, finding.Fault, "min-replicas-to-write is %d, and it has %s", least, term.Plural(has, "replica")).
			Because("It takes no writes, so no identifier can be given from it.").Remedy("Add replicas, or lower min-replicas-to-write.")
	case least > 0:
		s.Add(check, finding.OK, "min-replicas-to-write is %d", least)
	case has > 0 && set:
		s.Add(check, finding.OK, "it takes writes only while enough replicas are there")
	case has > 0:
		s.Add(check, finding.Warning, "min-replicas-to-write is 0, and it has %s", term.Plural(has, "replica")).
			Because("An old primary that wakes up after a failover goes on giving numbers that its successor gives too.").
			Remedy("CONFIG SET min-replicas-to-write 1, also in its configuration file.")
	}
}

func checkPriorities(n node, _ wanted, s *finding.Sheet) {
	const check = "replica-priority"
	at := make(map[string][]string) // replicas by their priority
	for _, r := range n.replicas {
		at[r.priority] = append(at[r.priority], r.addr)
	}
	never, unknown := at["0"], at[""]
	if len(unknown) > 0 {
		s.Add(check, finding.Unknown, "the priority of %s is not known: no answer from there", strings.Join(unknown, ", ")).
			Because("A replica with replica-priority 0 is never promoted.")
	}
	switch {
	case len(n.replicas) == 0:
	case len(never) == len(n.replicas):
		s.Add(check, finding.Warning, "replica-priority is 0 at each of its replicas").
			Because("None can be promoted, so there is no failover.").Remedy("CONFIG SET replica-priority 100 at one that may become the primary.")
	case len(never) > 0:
		s.Add(check, finding.Note, "replica-priority is 0 at %s", strings.Join(never, ", ")).
			Because("It is never promoted, but counts among those that --replicas waits for.")
	case len(unknown) == 0:
		s.Add(check, finding.OK, "each of its replicas may be promoted")
	}
}
