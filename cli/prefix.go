package cli

import (
	"context"
	"fmt"
	"text/tabwriter"

	"github.com/urfave/cli/v2"

	"github.com/hilo-id/hilo/allocator"
	"github.com/hilo-id/hilo/prefix"
)

// serverPrefix shows, sets or clears what the server adds to each identifier.
type serverPrefix struct {
	globals
	target    target
	setPrefix *string // nil: stays
	setTag    *string
}

type shownPrefix struct {
	Prefix  string `json:"prefix"`
	Tag     string `json:"tag"`
	Example string `json:"example"`
}

func newPrefixCommand(env Env) *cli.Command {
	return command(&cli.Command{
		Name:      "prefix",
		Usage:     "show or set what the server adds to each identifier",
		UsageText: "hilo prefix get | set [PREFIX] [--tag TAG] | clear | check",
		Description: describe(`
A server may add a prefix before the number (orders/NorthServer/1) and a node tag
behind it (orders/1-A), so that no two servers ever give the same identifier.
A change holds for ranges that are taken from then on.`,
			[]string{"hilo prefix set NorthServer/ --tag A", "hilo prefix get"},
			"1 failed or interrupted", "3 Redis unavailable", "4 refused by a rule", "5 a check found a fault"),
		Action: showGroup,
		Subcommands: []*cli.Command{
			newPrefixGetCommand(env),
			newPrefixSetCommand(env),
			newPrefixClearCommand(env),
			newPrefixCheckCommand(env),
			newHelpCommand("prefix"),
		},
	})
}

func newPrefixGetCommand(env Env) *cli.Command {
	return command(&cli.Command{
		Name:        "get",
		Usage:       "show prefix and tag",
		UsageText:   "hilo prefix get",
		Description: describe("Shows the server's prefix and node tag.", []string{"hilo prefix get --output json"}, "1 failed or interrupted", "3 Redis unavailable"),
		Action: func(c *cli.Context) error {
			if _, err := takeArguments(c); err != nil {
				return err
			}
			g, t, err := readServer(c, env)
			if err != nil {
				return err
			}
			return serverPrefix{globals: g, target: t}.Run(c.Context)
		},
	})
}

func newPrefixSetCommand(env Env) *cli.Command {
	return command(&cli.Command{
		Name:      "set",
		Usage:     "set prefix, tag, or both",
		UsageText: "hilo prefix set [PREFIX] [--tag TAG]",
		Description: describe(`
Sets what is named and keeps what is not. An empty PREFIX or TAG takes it away.
The prefix carries its own slash: nothing is put between it and the number.`,
			[]string{"hilo prefix set NorthServer/", "hilo prefix set --tag A", `hilo prefix set SouthServer/ --tag ""`},
			"1 failed or interrupted", "3 Redis unavailable", "4 refused by a rule"),
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "tag", Usage: "node `TAG`, 1 to 8 letters and digits, a letter first"},
		},
		Action: func(c *cli.Context) error {
			g, t, err := readServer(c, env)
			if err != nil {
				return err
			}
			s := serverPrefix{globals: g, target: t}
			var named prefix.Server
			if c.Args().Present() {
				given, err := takeArguments(c, "PREFIX")
				if err != nil {
					return err
				}
				named.ServerPrefix, s.setPrefix = given[0], &given[0]
			}
			if c.IsSet("tag") {
				tag := c.String("tag")
				named.NodeTag, s.setTag = tag, &tag
			}
			if s.setPrefix == nil && s.setTag == nil {
				return usagef("%s needs a PREFIX, a --tag, or both: %s", c.Command.HelpName, c.Command.UsageText)
			}
			if err := named.Validate(); err != nil {
				return invalid(err, "a prefix such as NorthServer/ and a tag such as A will do")
			}
			return s.Run(c.Context)
		},
	})
}

func newPrefixClearCommand(env Env) *cli.Command {
	return command(&cli.Command{
		Name:        "clear",
		Usage:       "take prefix and tag away",
		UsageText:   "hilo prefix clear",
		Description: describe("Takes away the server's prefix and its node tag.", []string{"hilo prefix clear"}, "1 failed or interrupted", "3 Redis unavailable", "4 refused by a rule"),
		Action: func(c *cli.Context) error {
			if _, err := takeArguments(c); err != nil {
				return err
			}
			g, t, err := readServer(c, env)
			if err != nil {
				return err
			}
			none := ""
			return serverPrefix{globals: g, target: t, setPrefix: &none, setTag: &none}.Run(c.Context)
		},
	})
}

// Run sets what is to be set, and shows what stands then.
func (s serverPrefix) Run(ctx context.Context) error {
	var now prefix.Server
	err := s.administer(ctx, s.target, func(m *allocator.Admin) (err error) {
		if s.setPrefix == nil || s.setTag == nil { // something stays: what is it?
			if now, err = m.ServerPrefix(ctx); err != nil {
				return err
			}
		}
		if s.setPrefix == nil && s.setTag == nil {
			return nil
		}
		if s.setPrefix != nil {
			now.ServerPrefix = *s.setPrefix
		}
		if s.setTag != nil {
			now.NodeTag = *s.setTag
		}
		return m.SetServerPrefix(ctx, now)
	})
	if err != nil {
		return err
	}
	shown := s.shown(now)
	if s.JSON {
		return s.writeJSON(shown)
	}
	w := tabwriter.NewWriter(s.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "prefix:\t%s\n", orNone(shown.Prefix))
	fmt.Fprintf(w, "tag:\t%s\n", orNone(shown.Tag))
	fmt.Fprintf(w, "identifiers:\t%s\n", shown.Example)
	return written(w.Flush())
}

// shown is what a server adds to identifiers, with one of those.
func (g globals) shown(s prefix.Server) shownPrefix {
	example := prefix.ID{Collection: "orders", ServerPrefix: s.ServerPrefix, Number: 1, NodeTag: s.NodeTag}
	return shownPrefix{s.ServerPrefix, s.NodeTag, string(example.Append(nil, g.Separator))}
}

func orNone(text string) string {
	if text == "" {
		return "none"
	}
	return text
}
