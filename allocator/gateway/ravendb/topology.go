package ravendb

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/hilo-id/hilo/allocator/gateway/internal/form"
	"github.com/hilo-id/hilo/allocator/gateway/internal/sentinel"
	"github.com/hilo-id/hilo/prefix"
)

// node is a server as clients read it.
type node struct {
	URL                              string `json:"Url"`
	ClusterTag, ServerRole, Database string
}

const (
	member = "Member"
	// noCluster is the tag of a server of RavenDB's that is in no cluster yet. No node tag of an identifier is valid with it.
	noCluster       = "?"
	topologyTimeout = time.Second // less than any client waits for a topology
)

// topology returns this gateway, and after it the others that clients may use when it is down. A mapped database exists: while its
// server is down the tag is a placeholder, because a client that gets no topology when it starts never asks again.
func (h *Handler) topology(ctx context.Context, q *form.Query) (any, error) {
	name, r := q.Text("name"), q.Request
	if len(h.opts.Databases) > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, topologyTimeout)
		defer cancel()
	}
	d, err := h.database(ctx, q, name)
	if err != nil && (len(h.opts.Databases) == 0 || !sentinel.Temporary(err)) {
		return nil, err
	}
	scheme := "http://"
	if r.TLS != nil {
		scheme = "https://"
	}
	nodes := []node{{cmp.Or(h.opts.PublicURL, scheme+r.Host), noCluster, member, name}}
	for _, n := range h.opts.Nodes {
		if n.URL != nodes[0].URL {
			nodes = append(nodes, node{n.URL, n.Tag, member, name})
		}
	}
	if err == nil {
		nodes[0].ClusterTag = *d.tag.Load()
	}
	return struct {
		Nodes []node
		Etag  int64
	}{nodes, h.etag}, nil
}

// nodeInfo returns the tag of the first namespace that is mapped or was used, or of the default one: the request names none.
func (h *Handler) nodeInfo(ctx context.Context, _ *form.Query) (any, error) {
	known := slices.Collect(maps.Values(h.opts.Databases))
	for _, d := range h.databases.Values() {
		known = append(known, d.namespace)
	}
	slices.Sort(known)
	d, err := h.opts.open(append(known, prefix.DefaultNamespace)[0])
	if err == nil {
		err = h.check(ctx, d)
	}
	if errors.Is(err, ErrNoTag) && len(h.opts.Databases) == 0 { // other databases may have one
		err = d.recordTag(noCluster)
	}
	if err != nil {
		return nil, err
	}
	return struct{ NodeTag, ServerRole string }{*d.tag.Load(), member}, nil
}

// healthcheck asks the server for the node tag of a database, also if that is known.
func (h *Handler) healthcheck(ctx context.Context, q *form.Query) (any, error) {
	d, err := h.database(ctx, q, q.Request.PathValue("database"))
	if err == nil {
		err = h.check(ctx, d)
	}
	return struct{}{}, err
}
