// Package transfer has hilo export and hilo import, which carry all counters of a namespace to another server, and the
// format of the lines between them. It exports its commands and nothing else, and may import the rooms under cli/internal
// and the library.
package transfer

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/urfave/cli/v3"

	"github.com/hilo-id/hilo/allocator"
	"github.com/hilo-id/hilo/cli/internal/base"
	"github.com/hilo-id/hilo/cli/internal/exit"
	"github.com/hilo-id/hilo/cli/internal/target"
	"github.com/hilo-id/hilo/prefix"
)

// exportVersion is that of the format.
const exportVersion = 1

// The lines of an export that are no counter: the first, the second, and the last, without which it broke off.
const (
	lineExport = "export"
	linePrefix = "prefix"
	lineEnd    = "end"
)

// record is one line of an export.
type record struct {
	Kind         string `json:"kind"`                   // export: the first; prefix; hilo, identity, server-side: a counter; end: the last
	Version      int    `json:"version,omitempty"`      // of export: 1
	Namespace    string `json:"namespace,omitempty"`    // of export
	ServerPrefix string `json:"serverPrefix,omitempty"` // of prefix; missing: none
	NodeTag      string `json:"nodeTag,omitempty"`      // of prefix; missing: none
	Identities   bool   `json:"identities,omitempty"`   // of prefix: it is the home of identities
	Collection   string `json:"collection,omitempty"`   // of a counter: the name as first spelt
	Max          *int64 `json:"max,omitempty"`          // of a counter; an identity's value
	Ranges       int64  `json:"ranges,omitempty"`       // of a counter: handed out so far
	Epoch        int64  `json:"epoch,omitempty"`        // of a counter: jumps so far
	Bare         int64  `json:"bare,omitempty"`         // of a collection: the greatest number given without prefix and tag
	Counters     *int   `json:"counters,omitempty"`     // of end: how many there were
}

// export writes all state of a namespace.
type export struct {
	*base.Session
	target target.Target
}

// ExportCommand is hilo export.
func ExportCommand(env base.Env) *cli.Command {
	return &cli.Command{
		Name:      "export",
		Usage:     "write all counters of the namespace as lines, for hilo import",
		UsageText: "hilo export",
		Description: base.Describe(`
Writes the server's prefix and tag, whether it is the home of identities, all counters,
all identities and the server-side counter as JSON, one a line, whatever --output says:
   {"kind":"export","version":1,"namespace":"Raven"}
   {"kind":"prefix","serverPrefix":"NorthServer/"}
   {"kind":"hilo","collection":"orders","max":4000,"ranges":12}
   {"kind":"end","counters":1}
It reads a counter at a time while others work: for a move, keep the fleet from
taking ranges here first, as the README says. If one counter cannot be read, or
could not be imported for its name, nothing is written.`,
			[]string{"hilo export > counters.jsonl", "hilo export --redis $OLD | hilo import --redis $NEW"},
			"1 failed or interrupted", "3 Redis unavailable"),
		Action: base.Action(env, func(r *base.Reader) base.Runner {
			r.Arguments()
			return export{Session: r.Session(), target: r.Target()}
		}),
	}
}

// Run reads everything before it writes the first line.
func (e export) Run(ctx context.Context) error {
	var server prefix.Server
	var states []allocator.State
	err := base.Administer(ctx, e.Session, e.target, func(m *allocator.Admin) (err error) {
		if server, err = m.ServerPrefix(ctx); err != nil {
			return err
		}
		for state, err := range m.States(ctx) {
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
	var content bytes.Buffer
	encoder := json.NewEncoder(&content)
	encoder.SetEscapeHTML(false)
	_ = encoder.Encode(record{Kind: lineExport, Version: exportVersion, Namespace: e.Namespace})
	_ = encoder.Encode(record{Kind: linePrefix, ServerPrefix: server.ServerPrefix, NodeTag: server.NodeTag, Identities: server.Identities})
	for _, s := range states {
		_ = encoder.Encode(record{Kind: string(s.Kind), Collection: s.Name, Max: &s.Max, Ranges: s.Ranges, Epoch: s.Epoch, Bare: s.Bare})
	}
	_ = encoder.Encode(record{Kind: lineEnd, Counters: new(len(states))})
	if _, err := readExport("this export", e.Separator, content.Bytes()); err != nil { // better now than when it is needed
		return fmt.Errorf("%s; hilo import would refuse that, and hilo doctor says which keys are at fault", exit.Plain(err))
	}
	_, err = content.WriteTo(e.Stdout)
	return exit.Written(err)
}
