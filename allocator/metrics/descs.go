package metrics

import "github.com/prometheus/client_golang/prometheus"

// The metrics. README.md has what to do about each.
var (
	issued   = desc("hilo_ids_issued_total", "Numbers issued to callers.", "collection")
	reserved = desc("hilo_ids_reserved_total", "Numbers in the ranges received from servers.", "collection")
	returned = desc("hilo_ids_returned_total", "Numbers returned to a server by Close.", "collection")
	burnt    = desc("hilo_ids_burnt_total", "Numbers reserved that were not issued and never will be: gaps.", "collection")
	held     = desc("hilo_ids_held", "Numbers in hand, which are gaps if the process is killed now.", "collection")
	ranges   = desc("hilo_ranges_total", "Ranges received from servers.", "collection")
	waits    = desc("hilo_waits_total", "Calls that found no number in hand and had to wait for a server.", "collection")
	runway   = desc("hilo_runway_seconds", "How long the numbers in hand last at the current rate; +Inf if none are taken.", "collection")
	greatest = desc("hilo_greatest_number", "The greatest number issued by a server.", "collection")
	headroom = desc("hilo_headroom_ratio", "Share of the numbers up to the limit, or the greatest MaxValue, that is left, 1 to 0.", "collection")

	collectionsUsed = desc("hilo_collections", "Collections that were used, also those without series of their own.")

	up               = desc("hilo_server_up", "1 if the latest request was answered, or none was sent yet, else 0; every server is asked every 10 s.", "server")
	retry            = desc("hilo_server_retry_seconds", "How long until a server that failed is asked again.", "server")
	info             = desc("hilo_server_info", "The settings of a server: what it adds to identifiers, whether it is the home of identities, its interval, and Durable; always 1.", "server", "prefix", "tag", "identities", "min_value", "max_value", "durable")
	answerAge        = desc("hilo_server_answer_age_seconds", "Time since the latest answer of a server; absent until the first.", "server")
	ceilingBlocked   = desc("hilo_server_ceiling_blocked", "1 while the ceilings of a durable server's counters cannot be raised, else 0.", "server")
	ceilingSeconds   = desc("hilo_server_ceiling_seconds", "While ceilings cannot be raised: how long the numbers of the counter that runs out first last; absent where that is unknown.", "server")
	jumps            = desc("hilo_epoch_jumps_total", "Times that a counter jumped ahead because a server may have lost writes.", "server", "evidence")
	refills          = desc("hilo_refill_seconds", "How long attempts to get a range took, failed or not.", "server")
	refillFailures   = desc("hilo_refill_failures_total", "Attempts to get a range that failed.", "server", "kind")
	identities       = desc("hilo_identity_seconds", "How long requests for identities and server-side identifiers took, failed or not.", "server")
	identityFailures = desc("hilo_identity_failures_total", "Requests for identities and server-side identifiers that failed.", "server", "kind")
)

var allDescs = []*prometheus.Desc{
	issued, reserved, returned, burnt, held, ranges, waits, runway, greatest, headroom, collectionsUsed,
	up, retry, info, answerAge, ceilingBlocked, ceilingSeconds, jumps, refills, refillFailures, identities, identityFailures,
}

func desc(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc(name, help, labels, nil)
}
