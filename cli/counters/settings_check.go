package counters

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/urfave/cli/v2"

	"github.com/hilo-id/hilo/allocator/admin"
	"github.com/hilo-id/hilo/cli/internal/base"
	"github.com/hilo-id/hilo/cli/internal/exit"
	"github.com/hilo-id/hilo/cli/internal/finding"
	"github.com/hilo-id/hilo/cli/internal/target"
	"github.com/hilo-id/hilo/cli/internal/term"
)

// settingsCheck is the command that compares the settings of several servers.
type settingsCheck struct{ servers }

// comparison is its JSON output.
type comparison struct {
	Servers []comparedServer `json:"servers"`
	finding.All
}

type comparedServer struct {
	Server string `json:"server,omitempty"`
	shownSettings
}

func checkCommand(env base.Env) *cli.Command {
	return &cli.Command{
		Name:      "check",
		Usage:     "compare the settings of several servers",
		UsageText: "hilo settings check --redis NAME=URL --redis NAME=URL",
		Description: base.Describe(`
Shows what each server adds to identifiers, and whether two of them could issue the same:
each needs a prefix, a tag or an interval of its own, and letter case makes no
difference. One of several is to be the home of identities. Servers that do not answer
are named, and the others compared. Two names of one server are a fault, and so are a
server that replicates from another, and an address that leads to several servers.`,
			[]string{"hilo settings check --redis north=redis://n:6379 --redis south=redis://s:6379"},
			"3 a Redis unavailable", "5 two servers could issue the same identifier or identity"),
		Action: base.Action(env, func(r *base.Reader) base.Runner {
			r.Arguments()
			return settingsCheck{readServers(r)}
		}),
	}
}

func (c settingsCheck) Run(ctx context.Context) error {
	shown := comparison{Servers: []comparedServer{}}
	t := term.Table{Head: []string{"SERVER", "PREFIX", "TAG", "IDENTITIES", "DURABLE", "NUMBERS", "IDENTIFIERS"}, Cut: []int{1, 6}}
	found := make([]finding.Server, len(c.targets))
	nodes := make([][]map[string]string, len(c.targets))     // INFO of the nodes of each server
	reached := make([][][]map[string]string, len(c.targets)) // INFO of connections to each of the nodes
	initialized := make([]bool, len(c.targets))
	errs := c.each(ctx, func(i int, client *target.Client, m *admin.Admin) (err error) {
		if initialized[i], err = m.Initialized(ctx); fatal(err) {
			return err
		}
		if found[i].Settings, err = m.ServerPrefix(ctx); fatal(err) {
			return err
		}
		primaries, _ := client.Primaries(ctx) // without them, or INFO, the settings are compared all the same
		for _, node := range primaries {
			fields, _ := node.Info(ctx)
			nodes[i] = append(nodes[i], fields)
			reached[i] = append(reached[i], node.Spread(ctx, c.Timeout))
		}
		return err
	})
	var sheet finding.Sheet
	for i, err := range errs {
		name, s := c.targets[i].Name, found[i].Settings
		sheet.Server = name
		for _, connections := range reached[i] {
			sheet.CompareConnections(connections)
		}
		found[i].Name, found[i].Err = name, err
		switch {
		case err == nil:
			one := showSettings(c.Session, s)
			one.Initialized = initialized[i]
			shown.Servers = append(shown.Servers, comparedServer{name, one})
			t.Add(cmp.Or(name, "none"), cmp.Or(one.Prefix, "none"), cmp.Or(one.Tag, "none"), homes[one.Identities],
				cmp.Or(one.Durable, "-"), interval(c.Session, s), one.Example)
		case fatal(err):
			sheet.Add("reach", finding.Unknown, "%s", exit.Sentence(err)).Because("It was not compared with the others.")
		default: // a finding
			errs[i] = nil
		}
	}
	failure := c.failure(errs)
	if !slices.Contains(errs, nil) || errors.Is(failure, context.Canceled) {
		return failure
	}
	sheet.Server = ""
	var apart []finding.Server // each server once
	for i, one := range found {
		again := false
		for j, other := range found[:i] {
			again = again || sheet.CompareNodes(other.Name, one.Name, nodes[j], nodes[i])
		}
		if again {
			continue
		}
		apart = append(apart, one)
		if one.Err == nil && !initialized[i] {
			sheet.Server = one.Name
			sheet.Add("settings", finding.Fault, "it has no settings: it is new, or it lost its data").Because("It makes no counters.").
				Remedy("If it is new: hilo init --redis URL. If it lost its data: hilo help recover.")
			sheet.Server = ""
		}
	}
	shown.All = finding.Of(append(finding.ComparePrefixes(apart), sheet.Findings...))
	err := c.Show(shown, func() error {
		if err := c.WriteTable(t); err != nil {
			return err
		}
		fmt.Fprintln(c.Stdout)
		return shown.Print(c.Stdout, c.Style(c.Stdout))
	})
	return cmp.Or(err, shown.Verdict(), failure)
}

// homes has the texts of the column with the home of identities.
var homes = map[bool]string{true: "here", false: "-"}
