package ravendb

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"

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
	noCluster = "?"
)

// topology returns this gateway, and after it the others that clients may use when it is down. A database that is mapped is known
// to exist: while its server is down, the tag is a placeholder, because a client that gets no topology when it starts never asks
// again.
func (h *Handler) topology(ctx context.Context, q *form.Query) (any, error) {
	name, r := q.Text("name"), q.Request
	d, err := h.database(ctx, q, name)
	if err != nil && (len(h.opts.Databases) == 0 || !sentinel.Temporary(err)) {
		return nil, err
	}
	scheme := "http://"
	if r.TLS != nil {
		scheme = "https://"
	}
	own := node{cmp.Or(h.opts.PublicURL, scheme+r.Host), noCluster, member, name}
	nodes := []node{own}
	for _, n := range h.opts.Nodes {
		if n.URL != own.URL {
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

// nodeInfo returns the tag of the first database that is mapped, or of the default namespace: the request names no database.
func (h *Handler) nodeInfo(ctx context.Context, q *form.Query) (any, error) {
	names := append(slices.Sorted(maps.Keys(h.opts.Databases)), prefix.DefaultNamespace)
	tag, err := h.currentTag(ctx, q, names[0])
	if len(names) == 1 && errors.Is(err, ErrNoTag) { // other databases may have one
		tag, err = noCluster, nil
	}
	return struct{ NodeTag, ServerRole string }{tag, member}, err
}

// currentTag asks the server for the node tag of a database, also if that is known.
func (h *Handler) currentTag(ctx context.Context, q *form.Query, name string) (string, error) {
	d, err := h.database(ctx, q, name)
	if err == nil {
		err = h.check(ctx, d)
	}
	if err != nil {
		return "", err
	}
	return *d.tag.Load(), nil
}

func (h *Handler) healthcheck(ctx context.Context, q *form.Query) (any, error) {
	_, err := h.currentTag(ctx, q, q.Request.PathValue("database"))
	return struct{}{}, err
}
