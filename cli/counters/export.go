package counters

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/hilo-id/hilo/allocator/admin"
	"github.com/hilo-id/hilo/cli/internal/base"
	"github.com/hilo-id/hilo/cli/internal/exit"
	"github.com/hilo-id/hilo/cli/internal/target"
	"github.com/hilo-id/hilo/prefix"
)

// exportVersion is the version of the format. Versions 1 and 2 are of hilo 0.1. They had epoch, top, issued, guardGap, forced and
// lost, written in microseconds, and bare as a number.
const exportVersion = 3

// The kinds of lines that are not counters: the first, the second and the last. An export without the last is incomplete.
const (
	lineExport = "export"
	linePrefix = "prefix"
	lineEnd    = "end"
)

// record is one line of an export.
type record struct {
	Kind         string `json:"kind"`                   // export, prefix, hilo, identity, server-side, or end
	Version      int    `json:"version,omitempty"`      // of export: 3
	Namespace    string `json:"namespace,omitempty"`    // of export
	Replication  string `json:"replication,omitempty"`  // of export: the server's replication id, missing if unknown
	ServerPrefix string `json:"serverPrefix,omitempty"` // of prefix; missing if none
	NodeTag      string `json:"nodeTag,omitempty"`      // of prefix; missing if none
	Identities   bool   `json:"identities,omitempty"`   // of prefix: the server is the home of identities
	Durable      string `json:"durable,omitempty"`      // of prefix: everysec or always
	MinValue     whole  `json:"minValue,omitempty"`     // of prefix; missing if none
	MaxValue     whole  `json:"maxValue,omitempty"`     // of prefix; missing if none
	SeededOnly   bool   `json:"seededOnly,omitempty"`   // of prefix: the server makes no counters
	Collection   string `json:"collection,omitempty"`   // of a collection or identity: the name as first spelt
	Max          *whole `json:"max,omitempty"`          // of a counter; an identity's value
	Ranges       whole  `json:"ranges,omitempty"`       // of a counter: issued so far
	Jumps        whole  `json:"jumps,omitempty"`        // of a counter, so far
	Born         whole  `json:"born,omitempty"`         // of a counter: time of the first range, in milliseconds since 1970
	Raised       whole  `json:"raised,omitempty"`       // of a counter: nothing above it is in use
	Block        whole  `json:"block,omitempty"`        // of a counter: by how much raised was raised last
	RaisedAt     whole  `json:"raisedAt,omitempty"`     // of a counter: when, in milliseconds since 1970
	Bare         truth  `json:"bare,omitempty"`         // of a collection: numbers were issued without prefix and tag
	Origin       string `json:"origin,omitempty"`       // of a counter: replication id of the server that wrote last
	Written      whole  `json:"written,omitempty"`      // of a counter: time of the last write, in milliseconds of the server's clock
	Lowered      whole  `json:"lowered,omitempty"`      // of an identity: forced seeds that lowered it
	Margin       whole  `json:"margin,omitempty"`       // of a counter: numbers above max that may be in use, as writes may be lost
	Counters     *int   `json:"counters,omitempty"`     // of end: number of counters

	// Of the versions 1 and 2.
	Epoch    whole  `json:"epoch,omitempty"`    // jumps so far
	Top      whole  `json:"top,omitempty"`      // the greatest number that a gateway issued
	Issued   whole  `json:"issued,omitempty"`   // in the last two minutes that had any
	GuardGap whole  `json:"guardGap,omitempty"` // ignored
	Forced   string `json:"forced,omitempty"`   // ignored
	Lost     bool   `json:"lost,omitempty"`     // writes may be lost
}

// export is the command that writes all state of a namespace.
type export struct {
	*base.Session
	target target.Target
}

// ExportCommand returns hilo export.
func ExportCommand(env base.Env) *cli.Command {
	return &cli.Command{
		Name:      "export",
		Usage:     "write all counters of the namespace as JSON lines",
		UsageText: "hilo export",
		Description: base.Describe(`
Writes the settings of the server, its counters, its identities and the counter of
server-side identifiers as JSON, one value per line, whatever --output is:
   {"kind":"export","version":3,"namespace":"Raven","replication":"5f1c…"}
   {"kind":"prefix","serverPrefix":"NorthServer/"}
   {"kind":"hilo","collection":"orders","max":4000,"ranges":12,"raised":16384}
   {"kind":"end","counters":1}
A number beyond 2^53 is a JSON string, so that no tool rounds it.

"margin" is how many numbers above max may be in use although the counter does not show
it: the server was restarted or promoted after it wrote that counter. hilo import adds it.

The counters are read one after the other. Before a move, keep the fleet from taking
ranges from this server. The command fails, and prints nothing, if a counter cannot be
read, on a replica, while a cluster moves the slot of the namespace, and if the server is
restarted meanwhile. stderr has the lines of names that only hilo 0.1 accepted. hilo
import refuses them until they are corrected.`,
			[]string{"hilo export > counters.jsonl", "hilo export --redis $OLD | hilo import --redis $NEW"},
			"3 Redis unavailable, or a slot is moving", "4 the server is a replica"),
		Flags: base.OneServerFlags(),
		Action: base.Action(env, func(r *base.Reader) base.Runner {
			r.Arguments()
			return export{Session: r.Session(), target: r.Target()}
		}),
	}
}

// Run reads everything before it writes the first line.
func (e export) Run(ctx context.Context) error {
	var all admin.Export
	err := base.Administer(ctx, e.Session, e.target, func(m *admin.Admin) (err error) {
		all, err = m.Export(ctx)
		return err
	})
	if err != nil {
		return err
	}
	slices.SortFunc(all.States, func(a, b admin.State) int {
		return cmp.Or(strings.Compare(string(a.Kind), string(b.Kind)), strings.Compare(prefix.Fold(a.Name), prefix.Fold(b.Name)))
	})
	var content bytes.Buffer
	encoder := json.NewEncoder(&content)
	encoder.SetEscapeHTML(false)
	_ = encoder.Encode(record{Kind: lineExport, Version: exportVersion, Namespace: e.Namespace, Replication: all.Replication})
	server := all.Server
	_ = encoder.Encode(record{
		Kind: linePrefix, ServerPrefix: server.ServerPrefix, NodeTag: server.NodeTag, Identities: server.Identities, Durable: server.Durable,
		MinValue: whole(server.MinValue), MaxValue: whole(server.MaxValue), SeededOnly: server.SeededOnly,
	})
	for i := range all.States {
		s := &all.States[i]
		if s.Kind == admin.KindServerSide { // one counter for all names, of which the key has the first
			s.Name = ""
		}
		_ = encoder.Encode(recordOf(s))
	}
	_ = encoder.Encode(record{Kind: lineEnd, Counters: new(len(all.States))})
	refused, err := checkExport(e.Separator, content.Bytes())
	if err != nil { // found now, and not at the import
		return fmt.Errorf("%s; hilo import would refuse it, and hilo doctor names the keys", exit.Plain(err))
	}
	if _, err = content.WriteTo(e.Stdout); err != nil {
		return exit.Written(err)
	}
	for _, line := range refused {
		fmt.Fprintf(e.Stderr, "line %d has a name that hilo import refuses: correct the name in that line; hilo doctor names the key\n", line)
	}
	return nil
}
