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
	"github.com/hilo-id/hilo/cli/internal/finding"
	"github.com/hilo-id/hilo/cli/internal/term"
)

// prefixCheck is the command that compares the settings of several servers.
type prefixCheck struct{ servers }

// comparison is its JSON output.
type comparison struct {
	Servers []comparedServer `json:"servers"`
	finding.All
}

type comparedServer struct {
	Server string `json:"server,omitempty"`
	shownPrefix
}

func checkCommand(env base.Env) *cli.Command {
	return &cli.Command{
		Name:      "check",
		Usage:     "compare the prefixes of several servers",
		UsageText: "hilo prefix check --redis NAME=URL --redis NAME=URL",
		Description: base.Describe(`
Shows what each server adds to identifiers, and whether two of them could issue the same:
each needs a prefix, a tag or an interval of its own, and letter case makes no difference. One of several
is to be the home of identities. Servers that do not answer are named, and the others
compared.`,
			[]string{"hilo prefix check --redis north=redis://n:6379 --redis south=redis://s:6379"},
			"1 failed or interrupted", "3 a Redis unavailable", "5 two servers could issue the same identifier or identity"),
		Action: base.Action(env, func(r *base.Reader) base.Runner {
			r.Arguments()
			return prefixCheck{servers{r.Session(), r.Targets()}}
		}),
	}
}

func (p prefixCheck) Run(ctx context.Context) error {
	shown := comparison{Servers: []comparedServer{}}
	t := term.Table{Head: []string{"SERVER", "PREFIX", "TAG", "IDENTITIES", "DURABLE", "NUMBERS", "IDENTIFIERS"}, Cut: []int{1, 6}}
	found := make([]finding.Server, len(p.targets))
	errs := p.each(ctx, func(i int, m *admin.Admin) (err error) {
		found[i].Settings, err = m.ServerPrefix(ctx)
		return err
	})
	for i, err := range errs {
		name, s := p.targets[i].Name, found[i].Settings
		found[i].Name, found[i].Err = name, err
		if err == nil {
			one := showPrefix(p.Session, s)
			shown.Servers = append(shown.Servers, comparedServer{name, one})
			t.Add(cmp.Or(name, "none"), cmp.Or(one.Prefix, "none"), cmp.Or(one.Tag, "none"), homes[one.Identities],
				cmp.Or(one.Durable, "-"), interval(p.Session, s), one.Example)
		} else if !fatal(err) { // a finding
			errs[i] = nil
		}
	}
	failure := p.failure(errs)
	if !slices.Contains(errs, nil) || errors.Is(failure, context.Canceled) {
		return failure
	}
	shown.All = finding.Of(finding.ComparePrefixes(found))
	err := p.Show(shown, func() error {
		if err := p.WriteTable(t); err != nil {
			return err
		}
		fmt.Fprintln(p.Stdout)
		return shown.Print(p.Stdout, p.Style(p.Stdout))
	})
	return cmp.Or(err, shown.Verdict(), failure)
}

// homes has the texts of the column with the home of identities.
var homes = map[bool]string{true: "here", false: "-"}
