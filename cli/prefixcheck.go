package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/urfave/cli/v2"

	"github.com/hilo-id/hilo/allocator"
	"github.com/hilo-id/hilo/prefix"
)

// prefixCheck compares what several servers add to identifiers.
type prefixCheck struct {
	globals
	targets []target
}

// comparison is what it found.
type comparison struct {
	Servers []comparedServer `json:"servers"`
	findings
}

type comparedServer struct {
	Server string `json:"server,omitempty"`
	shownPrefix
}

func newPrefixCheckCommand(env Env) *cli.Command {
	return command(&cli.Command{
		Name:      "check",
		Usage:     "compare the prefixes of several servers",
		UsageText: "hilo prefix check --redis NAME=URL --redis NAME=URL",
		Description: describe(`
Shows what each server adds to identifiers, and whether two of them could give the same:
each needs a prefix or tag of its own, and letter case makes no difference.

--output json: servers [{server, prefix, tag, example}]; `+aboutFindings,
			[]string{"hilo prefix check --redis north=redis://n:6379 --redis south=redis://s:6379"},
			"1 failed or interrupted", "3 a Redis unavailable", "5 two servers could give the same identifier"),
		Action: func(c *cli.Context) error {
			if _, err := takeArguments(c); err != nil {
				return err
			}
			p := prefixCheck{}
			var err error
			if p.globals, err = readGlobals(c, env); err != nil {
				return err
			}
			if p.targets, err = readTargets(c, env); err != nil {
				return err
			}
			return p.Run(c.Context)
		},
	})
}

func (p prefixCheck) Run(ctx context.Context) error {
	shown := comparison{Servers: []comparedServer{}}
	var adds []serverAdds
	for _, t := range p.targets {
		var s prefix.Server
		err := p.administer(ctx, t, func(m *allocator.Admin) (err error) {
			s, err = m.ServerPrefix(ctx)
			return err
		})
		if err != nil && !errors.Is(err, allocator.ErrCorrupt) {
			return err
		}
		adds = append(adds, serverAdds{t.name, s, err})
		if err == nil {
			shown.Servers = append(shown.Servers, comparedServer{t.name, p.shown(s)})
		}
	}
	shown.findings = judged(comparePrefixes(adds))
	if err := p.show(shown); err != nil {
		return err
	}
	return shown.verdict()
}

func (p prefixCheck) show(shown comparison) error {
	if p.JSON {
		return p.writeJSON(shown)
	}
	t := table{head: []string{"SERVER", "PREFIX", "TAG", "IDENTIFIERS"}, cut: []int{1, 3}, right: make([]bool, 4)}
	for _, s := range shown.Servers {
		t.add(orNone(s.Server), orNone(s.Prefix), orNone(s.Tag), s.Example)
	}
	if err := p.writeTable(t); err != nil {
		return err
	}
	fmt.Fprintln(p.Stdout)
	return shown.print(p.Stdout)
}

// serverAdds is what a server adds to identifiers.
type serverAdds struct {
	name string
	adds prefix.Server
	err  error // why that is not known; ErrCorrupt: what stands there is of no use
}

const checkPrefix = "prefix"

// comparePrefixes finds the servers that could give an identifier of another one's.
func comparePrefixes(servers []serverAdds) []finding {
	const (
		why = "They could give the same identifier."
		do  = "Give each one of its own: hilo prefix set NAME/ --redis URL."
	)
	var all []finding
	for i, s := range servers {
		var f finding
		switch {
		case errors.Is(s.err, allocator.ErrCorrupt):
			f = found(checkPrefix, levelFault, "%s", plain(s.err)).
				because("No identifier is given while it is like this.").remedy("Set another: hilo prefix set NAME/ --redis URL.")
		case s.err != nil:
			continue
		case s.adds.IsZero() && len(servers) > 1:
			f = found(checkPrefix, levelFault, "it has neither prefix nor tag").
				because("Its identifiers could be those of any other server without.").remedy(do)
		case s.adds.IsZero():
			f = found(checkPrefix, levelOK, "it has neither prefix nor tag, and needs none while it is the only one")
		default:
			f = found(checkPrefix, levelOK, "prefix %s, tag %s", orNone(s.adds.ServerPrefix), orNone(s.adds.NodeTag))
		}
		all = append(all, on(s.name, []finding{f})...)
		for _, other := range servers[:i] {
			if s.err != nil || other.err != nil || s.adds.IsZero() || fold(s.adds) != fold(other.adds) {
				continue
			}
			f := found(checkPrefix, levelFault, "%s and %s have the same prefix %s and tag %s",
				other.name, s.name, orNone(s.adds.ServerPrefix), orNone(s.adds.NodeTag)).because(why)
			if s.adds != other.adds {
				f = found(checkPrefix, levelFault, "%s and %s have the same prefix and tag but for letter case: %s and %s", other.name, s.name,
					around(other.adds), around(s.adds)).because(why + " Many stores compare identifiers without letter case.")
			}
			all = append(all, f.remedy(do))
		}
	}
	return all
}

// fold is what a server adds, without letter case.
func fold(s prefix.Server) prefix.Server {
	return prefix.Server{ServerPrefix: prefix.Fold(s.ServerPrefix), NodeTag: prefix.Fold(s.NodeTag)}
}

// around is what a server adds, as it stands around a number.
func around(s prefix.Server) string {
	return fmt.Sprintf("%q and tag %q", s.ServerPrefix, s.NodeTag)
}
