package peerbench_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"
)

// commandStat is what a server counts of one command, including calls by scripts.
type commandStat struct {
	calls        int64
	microseconds float64
}

// commandStats returns INFO commandstats by command, such as "evalsha" or "client|setinfo".
func commandStats(ctx context.Context, tb testing.TB, client *redis.Client) map[string]commandStat {
	tb.Helper()
	info, err := client.Info(ctx, "commandstats").Result()
	if err != nil {
		tb.Fatal(err)
	}
	stats := make(map[string]commandStat)
	for line := range strings.Lines(info) {
		name, figures, ok := strings.Cut(strings.TrimPrefix(line, "cmdstat_"), ":")
		if !ok {
			continue
		}
		var stat commandStat
		if _, err := fmt.Sscanf(figures, "calls=%d,usec=%f", &stat.calls, &stat.microseconds); err != nil {
			tb.Fatalf("INFO commandstats says %q: %v", line, err)
		}
		stats[name] = stat
	}
	return stats
}
