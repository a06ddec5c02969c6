package cli

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"iter"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/hilo-id/hilo/allocator"
	"github.com/hilo-id/hilo/prefix"
)

// exportVersion is that of the lines below.
const exportVersion = 1

// The lines of an export that are no counter: the first, the second, and the last, without which it broke off.
const (
	lineExport = "export"
	linePrefix = "prefix"
	lineEnd    = "end"
)

// exportLine is one line of an export.
type exportLine struct {
	Kind         string `json:"kind"`                   // export: the first; prefix; hilo, identity, server-side: a counter; end: the last
	Version      int    `json:"version,omitempty"`      // of export: 1
	Namespace    string `json:"namespace,omitempty"`    // of export
	ServerPrefix string `json:"serverPrefix,omitempty"` // of prefix; missing: none
	NodeTag      string `json:"nodeTag,omitempty"`      // of prefix; missing: none
	Collection   string `json:"collection,omitempty"`   // of a counter: the name as first spelt
	Max          *int64 `json:"max,omitempty"`          // of a counter; an identity's value
	Ranges       int64  `json:"ranges,omitempty"`       // of a counter: handed out so far
	Epoch        int64  `json:"epoch,omitempty"`        // of a counter: jumps so far
	Counters     *int   `json:"counters,omitempty"`     // of end: how many there were
}

// export writes all state of a namespace.
type export struct {
	globals
	target target
}

func newExportCommand(env Env) *cli.Command {
	return command(&cli.Command{
		Name:      "export",
		Usage:     "write all counters of the namespace as lines, for hilo import",
		UsageText: "hilo export",
		Description: describe(`
Writes the server's prefix and tag, all counters, all identities and the server-side
counter as JSON, one a line, whatever --output says:
   {"kind":"export","version":1,"namespace":"Raven"}
   {"kind":"prefix","serverPrefix":"NorthServer/"}
   {"kind":"hilo","collection":"orders","max":4000,"ranges":12}
   {"kind":"end","counters":1}
It reads a counter at a time while others work: for a move, keep the fleet from
taking ranges here first, as the README says. If one counter cannot be read, nothing
is written.`,
			[]string{"hilo export > counters.jsonl", "hilo export --redis $OLD | hilo import --redis $NEW"},
			"1 failed or interrupted", "3 Redis unavailable"),
		Action: func(c *cli.Context) error {
			e := export{}
			var err error
			if _, err = takeArguments(c); err != nil {
				return err
			}
			if e.globals, e.target, err = readServer(c, env); err != nil {
				return err
			}
			return e.Run(c.Context)
		},
	})
}

// Run reads everything before it writes the first line.
func (e export) Run(ctx context.Context) error {
	var server prefix.Server
	var states []allocator.State
	err := e.administer(ctx, e.target, func(m *allocator.Admin) (err error) {
		if server, err = m.ServerPrefix(ctx); err != nil {
			return err
		}
		for state, err := range everyState(ctx, m) {
			if err != nil {
				return err
			}
			states = append(states, state)
		}
		return nil
	})
	if err != nil {
		return err
	}
	slices.SortFunc(states, func(a, b allocator.State) int {
		return cmp.Or(strings.Compare(string(a.Kind), string(b.Kind)), strings.Compare(prefix.Fold(a.Name), prefix.Fold(b.Name)))
	})
	w := bufio.NewWriter(e.Stdout)
	lines := json.NewEncoder(w)
	lines.SetEscapeHTML(false)
	for line := range exportLines(e.Namespace, server, states) {
		if err := lines.Encode(line); err != nil {
			return written(err)
		}
	}
	return written(w.Flush())
}

func exportLines(namespace string, server prefix.Server, states []allocator.State) iter.Seq[exportLine] {
	return func(yield func(exportLine) bool) {
		counters := len(states)
		if !yield(exportLine{Kind: lineExport, Version: exportVersion, Namespace: namespace}) ||
			!yield(exportLine{Kind: linePrefix, ServerPrefix: server.ServerPrefix, NodeTag: server.NodeTag}) {
			return
		}
		for _, s := range states {
			if !yield(exportLine{Kind: string(s.Kind), Collection: s.Name, Max: &s.Max, Ranges: s.Ranges, Epoch: s.Epoch}) {
				return
			}
		}
		yield(exportLine{Kind: lineEnd, Counters: &counters})
	}
}

// everyState gives all counters of a namespace, of all kinds.
func everyState(ctx context.Context, m *allocator.Admin) iter.Seq2[allocator.State, error] {
	return func(yield func(allocator.State, error) bool) {
		for counter, err := range m.Counters(ctx) {
			if !yield(allocator.State{Kind: allocator.KindHiLo, Counter: counter}, err) {
				return
			}
		}
		for counter, err := range m.Identities(ctx) {
			if !yield(allocator.State{Kind: allocator.KindIdentity, Counter: counter}, err) {
				return
			}
		}
		counter, err := m.ServerSide(ctx)
		if !errors.Is(err, allocator.ErrNotSeeded) {
			yield(allocator.State{Kind: allocator.KindServerSide, Counter: counter}, err)
		}
	}
}
