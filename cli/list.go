package cli

import (
	"strconv"

	"github.com/urfave/cli/v2"

	"github.com/hilo-id/hilo/allocator"
)

// list shows all counters of a namespace.
type list struct{ listing }

type listed struct {
	Collection string     `json:"collection"`
	Max        int64      `json:"max"`
	Ranges     int64      `json:"ranges"`
	Epoch      int64      `json:"epoch"`
	Rate       *float64   `json:"perSecond,omitempty"` // with --rate-over; missing for a counter that was not there at the first look
	Headroom   []headroom `json:"headroom"`
}

func newListCommand(env Env) *cli.Command {
	return command(&cli.Command{
		Name:      "list",
		Usage:     "show all counters of the namespace",
		UsageText: "hilo list [--filter GLOB] [--sort KEY] [--rate-over DURATION]",
		Description: describe(`
Shows each collection's Max, the greatest number given so far; how many ranges
were handed out; the epoch, which counts the jumps after lost writes; and how much
is used of what 32-bit integers hold (2^31-1), of what JavaScript's numbers hold
exactly (2^53-1), and of the limit. It scans, which blocks the server for no one.

With --rate-over it looks twice and shows the numbers a second between the looks,
and the time left to each bound at that rate. Max grows a range at a time, so that
a short while shows a busy counter as too busy or as idle: a minute is fair.

Names are sorted from a on, headroom from the least, all else from the greatest.`,
			[]string{
				"hilo list", "hilo list --filter 'ord*' --sort max",
				"hilo list --rate-over 1m --sort headroom", "hilo list --namespace Raven --output json",
			},
			"1 failed or interrupted", "3 Redis unavailable"),
		Flags: listFlags("name, max, ranges, epoch, headroom or rate"),
		Action: func(c *cli.Context) error {
			l, err := readListing(c, env, "name", "max", "ranges", "epoch")
			if err != nil {
				return err
			}
			l.all = (*allocator.Admin).Counters
			return l.Run(c.Context, list{l}.print)
		},
	})
}

func (l list) print(counters []looked) error {
	if l.JSON {
		rows := make([]listed, 0, len(counters))
		for _, c := range counters {
			rows = append(rows, listed{c.Name, c.Max, c.Ranges, c.Epoch, c.rate, c.room})
		}
		return l.writeJSON(rows)
	}
	t := l.withRoom(table{head: []string{"COLLECTION", "MAX", "RANGES", "EPOCH"}, right: []bool{false, true, true, true}})
	for _, c := range counters {
		cells := []string{c.Name, strconv.FormatInt(c.Max, 10), strconv.FormatInt(c.Ranges, 10), strconv.FormatInt(c.Epoch, 10)}
		t.add(append(cells, l.cells(c)...)...)
	}
	return l.writeTable(t)
}
