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

// exportVersion is the version of the format. Version 1 had no replication, durable, origin, written, issued, top and
// lost.
const exportVersion = 2

// The kinds of lines that are not counters: the first, the second and the last. An export without the last is incomplete.
const (
	lineExport = "export"
	linePrefix = "prefix"
	lineEnd    = "end"
)

// record is one line of an export.
type record struct {
	Kind         string `json:"kind"`                   // export, prefix, hilo, identity, server-side, or end
	Version      int    `json:"version,omitempty"`      // of export: 2
	Namespace    string `json:"namespace,omitempty"`    // of export
	Replication  string `json:"replication,omitempty"`  // of export: the server's replication id, missing if unknown
	ServerPrefix string `json:"serverPrefix,omitempty"` // of prefix; missing if none
	NodeTag      string `json:"nodeTag,omitempty"`      // of prefix; missing if none
	Identities   bool   `json:"identities,omitempty"`   // of prefix: the server is the home of identities
	Durable      string `json:"durable,omitempty"`      // of prefix: always or replicas:N; shown, and never imported
	MinValue     int64  `json:"minValue,omitempty"`     // of prefix; missing if none
	MaxValue     int64  `json:"maxValue,omitempty"`     // of prefix; missing if none
	Collection   string `json:"collection,omitempty"`   // of a collection or identity: the name as first spelt
	Max          *int64 `json:"max,omitempty"`          // of a counter; an identity's value
	Ranges       int64  `json:"ranges,omitempty"`       // of a counter: issued so far
	Epoch        int64  `json:"epoch,omitempty"`        // of a counter: jumps so far
	Bare         int64  `json:"bare,omitempty"`         // of a collection: the greatest number issued without prefix and tag
	Top          int64  `json:"top,omitempty"`          // of a collection: the greatest number that a gateway issued
	Origin       string `json:"origin,omitempty"`       // of a counter: replication id of the server that wrote last
	Written      int64  `json:"written,omitempty"`      // of a counter: time of the last write, in microseconds of the server's clock
	Issued       int64  `json:"issued,omitempty"`       // of a counter: numbers issued in the last two minutes that had any
	GuardGap     int64  `json:"guardGap,omitempty"`     // of a counter of an older export; ignored
	Lowered      int64  `json:"lowered,omitempty"`      // of a counter: forced seeds that lowered it
	Forced       string `json:"forced,omitempty"`       // of an identity: the newest forced seed of a gateway, and the state that it found
	Lost         bool   `json:"lost,omitempty"`         // of a counter: origin is not replication, so that writes may be lost
	Counters     *int   `json:"counters,omitempty"`     // of end: number of counters
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
   {"kind":"export","version":2,"namespace":"Raven","replication":"5f1c…"}
   {"kind":"prefix","serverPrefix":"NorthServer/"}
   {"kind":"hilo","collection":"orders","max":4000,"ranges":12,"origin":"5f1c…"}
   {"kind":"end","counters":1}
"lost":true marks a counter whose origin is not the server's replication id. The server
was restarted or promoted after it wrote that counter, so writes may be missing, and
hilo import adds a gap.

The counters are read one after the other. Before a move, keep the fleet from taking
ranges from this server; the README lists the steps. The command fails, and prints
nothing, if a counter cannot be read or imported, on a replica, while a cluster moves
the slot of the namespace, and if the server is restarted during the export. Counters
under names that hilo 0.1 accepted and this version refuses are exported, and stderr
has their lines; hilo import refuses them until their names are corrected.`,
			[]string{"hilo export > counters.jsonl", "hilo export --redis $OLD | hilo import --redis $NEW"},
			"1 failed or interrupted", "3 Redis unavailable, or a slot is moving", "4 the server is a replica"),
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
		MinValue: server.MinValue, MaxValue: server.MaxValue,
	})
	for _, s := range all.States {
		if s.Kind == admin.KindServerSide { // one counter for all names, of which the key has the first
			s.Name = ""
		}
		_ = encoder.Encode(record{
			Kind: string(s.Kind), Collection: s.Name, Max: &s.Max, Ranges: s.Ranges, Epoch: s.Epoch, Bare: s.Bare,
			Top: s.Top, Origin: s.Origin, Written: s.Written, Issued: s.Issued, Lowered: s.Lowered, Forced: s.Forced, Lost: s.Lost,
		})
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
