package cli

import (
	"strconv"

	"github.com/urfave/cli/v2"

	"github.com/hilo-id/hilo/allocator"
)

// identityList shows all identities of a namespace.
type identityList struct{ listing }

type listedIdentity struct {
	Name     string     `json:"name"`
	Value    int64      `json:"value"`
	Epoch    int64      `json:"epoch"`
	Rate     *float64   `json:"perSecond,omitempty"` // with --rate-over; missing for one that was not there at the first look
	Headroom []headroom `json:"headroom"`
}

func newIdentityListCommand(env Env) *cli.Command {
	return command(&cli.Command{
		Name:      "list",
		Usage:     "show all identities of the namespace",
		UsageText: "hilo identity list [--filter GLOB] [--sort KEY] [--rate-over DURATION]",
		Description: describe(`
Shows each identity's value, the greatest given so far; the epoch, which counts the
jumps after lost writes; and how much is used of what integers hold, or with
--rate-over the rate and the time left, as hilo list --help explains.`,
			[]string{"hilo identity list", "hilo identity list --sort value --output json"},
			"1 failed or interrupted", "3 Redis unavailable"),
		Flags: listFlags("name, value, epoch, headroom or rate"),
		Action: func(c *cli.Context) error {
			l, err := readListing(c, env, "name", "value", "epoch")
			if err != nil {
				return err
			}
			l.all = (*allocator.Admin).Identities
			return l.Run(c.Context, identityList{l}.print)
		},
	})
}

func (i identityList) print(identities []looked) error {
	if i.JSON {
		rows := make([]listedIdentity, 0, len(identities))
		for _, c := range identities {
			rows = append(rows, listedIdentity{c.Name, c.Max, c.Epoch, c.rate, c.room})
		}
		return i.writeJSON(rows)
	}
	t := i.withRoom(table{head: []string{"NAME", "VALUE", "EPOCH"}, right: []bool{false, true, true}})
	for _, c := range identities {
		t.add(append([]string{c.Name, strconv.FormatInt(c.Max, 10), strconv.FormatInt(c.Epoch, 10)}, i.cells(c)...)...)
	}
	return i.writeTable(t)
}
