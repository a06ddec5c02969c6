package counters

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/hilo-id/hilo/allocator"
	"github.com/hilo-id/hilo/allocator/admin"
	"github.com/hilo-id/hilo/cli/internal/base"
	"github.com/hilo-id/hilo/cli/internal/exit"
	"github.com/hilo-id/hilo/cli/internal/finding"
	"github.com/hilo-id/hilo/cli/internal/target"
	"github.com/hilo-id/hilo/cli/internal/term"
	"github.com/hilo-id/hilo/prefix"
)

// prefixCheck is the command that compares the settings of several servers.
type prefixCheck struct {
	*base.Session
	targets []target.Target
}

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
			return prefixCheck{Session: r.Session(), targets: r.Targets()}
		}),
	}
}

func (p prefixCheck) Run(ctx context.Context) error {
	shown := comparison{Servers: []comparedServer{}}
	var servers []finding.Server
	var down []string
	for _, t := range p.targets {
		var s prefix.Server
		err := base.Administer(ctx, p.Session, t, func(m *admin.Admin) (err error) {
			s, err = m.ServerPrefix(ctx)
			return err
		})
		switch {
		case err == nil || errors.Is(err, allocator.ErrCorrupt):
		case ctx.Err() != nil || exit.Code(err) != exit.Unavailable || len(p.targets) == 1:
			return err
		default:
			down = append(down, t.Name+": "+exit.Plain(err))
		}
		servers = append(servers, finding.Server{Name: t.Name, Settings: s, Err: err})
		if err == nil {
			shown.Servers = append(shown.Servers, comparedServer{t.Name, showPrefix(p.Session, s)})
		}
	}
	var unavailable error
	if len(down) > 0 {
		unavailable = &exit.Error{Code: exit.Unavailable, Text: strings.Join(down, "; ")}
	}
	if len(down) == len(p.targets) {
		return unavailable
	}
	shown.All = finding.Of(finding.ComparePrefixes(servers))
	err := p.Show(shown, func() error {
		t := term.Table{Head: []string{"SERVER", "PREFIX", "TAG", "IDENTITIES", "DURABLE", "NUMBERS", "IDENTIFIERS"}, Cut: []int{1, 6}}
		for _, s := range shown.Servers {
			t.Add(cmp.Or(s.Server, "none"), cmp.Or(s.Prefix, "none"), cmp.Or(s.Tag, "none"), homes[s.Identities], cmp.Or(s.Durable, "-"), interval(p.Session, prefix.Server{MinValue: s.MinValue, MaxValue: s.MaxValue}), s.Example)
		}
		if err := p.WriteTable(t); err != nil {
			return err
		}
		fmt.Fprintln(p.Stdout)
		return shown.Print(p.Stdout, p.Style(p.Stdout))
	})
	return cmp.Or(err, shown.Verdict(), unavailable)
}

// homes has the texts of the column with the home of identities.
var homes = map[bool]string{true: "here", false: "-"}
