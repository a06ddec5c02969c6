// Package counters has the commands that read and change the state in Redis: next, id and identity next print new
// identifiers, seed, identity seed and import raise counters, list, identity list, inspect and export show them, and init and settings
// make and change the server's settings. It exports its commands and nothing else.
package counters

import (
	"github.com/urfave/cli/v2"

	"github.com/hilo-id/hilo/allocator/admin"
	"github.com/hilo-id/hilo/allocator/headroom"
	"github.com/hilo-id/hilo/cli/internal/base"
	"github.com/hilo-id/hilo/cli/internal/term"
)

type listed struct {
	Server     string              `json:"server,omitempty"` // of several, its name
	Collection string              `json:"collection"`
	Max        int64               `json:"max"`
	Ceiling    int64               `json:"ceiling"` // reserved ahead: nothing above it is in use
	Ranges     int64               `json:"ranges"`
	Jumps      int64               `json:"jumps"`
	Born       string              `json:"born,omitempty"` // time of the first range, missing if none
	Headroom   []headroom.Headroom `json:"headroom"`
}

// ListCommand returns hilo list.
func ListCommand(env base.Env) *cli.Command {
	return listing{
		things: "counters",
		all:    (*admin.Admin).Counters,
		head:   []string{"COLLECTION", "MAX", "RANGES", "JUMPS"},
		keys:   []string{"name", "max", "ranges", "jumps", "headroom"},
		row: func(server string, c *observed) (any, []any) {
			return listed{server, c.Name, c.Max, reserved(&c.Counter), c.Ranges, c.Jumps, born(&c.Counter), c.room},
				[]any{term.Visible(c.Name), c.Max, c.Ranges, c.Jumps}
		},
	}.command(env, &cli.Command{
		Name:      "list",
		Aliases:   []string{"ls"},
		Usage:     "list the counters of the namespace",
		UsageText: "hilo list [--filter GLOB] [--sort KEY]",
		Description: base.Describe(`
Lists each collection with Max, the greatest number issued; the number of ranges
issued; the number of jumps on evidence of lost writes; and the used share of what 32-bit integers hold (2^31-1), of what JavaScript's numbers hold exactly
(2^53-1), and of the limit. It uses SCAN, which does not block the server. hilo top
shows the rates and the time left.

Names are sorted from a on, headroom from the least, all else from the greatest.

With several --redis NAME=URL it lists the counters of all of them. A server that does
not answer is named, the others are listed, and the exit code is 3.`,
			[]string{"hilo list", "hilo list --filter 'ord*' --sort max", "hilo list --namespace Raven --output json"}),
	})
}

type listedIdentity struct {
	Server   string              `json:"server,omitempty"` // of several, its name
	Name     string              `json:"name"`
	Value    int64               `json:"value"`
	Ceiling  int64               `json:"ceiling"` // reserved ahead: nothing above it is in use
	Jumps    int64               `json:"jumps"`
	Born     string              `json:"born,omitempty"` // time of the first value, missing if none
	Headroom []headroom.Headroom `json:"headroom"`
}

// IdentityListCommand returns hilo identity list.
func IdentityListCommand(env base.Env) *cli.Command {
	return listing{
		things: "identities",
		all:    (*admin.Admin).Identities,
		head:   []string{"NAME", "VALUE", "JUMPS"},
		keys:   []string{"name", "value", "jumps", "headroom"},
		row: func(server string, c *observed) (any, []any) {
			return listedIdentity{server, c.Name, c.Max, reserved(&c.Counter), c.Jumps, born(&c.Counter), c.room},
				[]any{term.Visible(c.Name), c.Max, c.Jumps}
		},
	}.command(env, &cli.Command{
		Name:      "list",
		Aliases:   []string{"ls"},
		Usage:     "list the identities of the namespace",
		UsageText: "hilo identity list [--filter GLOB] [--sort KEY]",
		Description: base.Describe(`
Lists each identity with its value, which is the greatest one that was issued, as the
server has it, whether or not it is the home of identities; the number of jumps; and the
used share of the bounds. hilo list --help explains them. With several servers it lists the identities of all of them.`,
			[]string{"hilo identity list", "hilo identity list --sort value --output json"}),
	})
}
