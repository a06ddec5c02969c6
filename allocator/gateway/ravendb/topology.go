package ravendb

import (
	"cmp"
	"context"
	"fmt"
	"hash/fnv"
	"maps"
	"net/http"
	"slices"
	"time"

	"github.com/hilo-id/hilo/allocator/gateway/internal/form"
	"github.com/hilo-id/hilo/allocator/gateway/internal/sentinel"
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
	// topologyTimeout bounds the wait for a server whose node tag is not known yet.
	topologyTimeout = time.Second
)

// topology returns this gateway, and after it the others that clients may use when it is down. A database that is mapped is known
// to exist: while its server is down, the tag is a placeholder, because a client that gets no topology when it starts never asks
// again.
func (h *Handler) topology(r *http.Request) (any, error) {
	q := form.Parse(r)
	name := q.Text("name")
	if q.Err != nil {
		return nil, q.Err
	}
	if _, err := h.resolve(name); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(r.Context(), topologyTimeout)
	defer cancel()
	d, err := h.database(ctx, name)
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
		if n.URL == own.URL {
			nodes[0].ClusterTag = n.Tag
		} else {
			nodes = append(nodes, node{n.URL, n.Tag, member, name})
		}
	}
	if err == nil {
		d.mu.Lock()
		defer d.mu.Unlock()
		nodes[0].ClusterTag = d.tag
	}
	return struct {
		Nodes []node
		Etag  int64
	}{nodes, h.topologyEtag}, nil
}

// etag returns the Etag of the topology. Clients replace a topology by one with a greater Etag only, so it grows from one start
// of a gateway to the next, and differs between lists.
func etag(nodes []Node, start time.Time) int64 {
	if len(nodes) == 0 {
		return 1
	}
	const bits = 20 // the sum is exact in a double
	list := fnv.New32a()
	fmt.Fprintf(list, "%q", nodes)
	return start.Unix()<<bits | int64(list.Sum32()>>(32-bits))
}

// nodeInfo returns the tag of the first namespace that is mapped, or was used: the request names no database.
func (h *Handler) nodeInfo(r *http.Request) (any, error) {
	h.mu.Lock()
	names := slices.Concat(slices.Collect(maps.Values(h.opts.Databases)), slices.Collect(maps.Keys(h.databases)))
	h.mu.Unlock()
	tag := noCluster
	var err error
	if len(names) > 0 {
		tag, err = h.tag(r.Context(), slices.Min(names))
	} else {
		err = h.ask(r.Context(), func(ctx context.Context) error { return h.opts.Client.Time(ctx).Err() }) // PING is no right of a worker
	}
	return struct{ NodeTag, ServerRole string }{tag, member}, err
}

// healthcheck contacts the server of a database.
func (h *Handler) healthcheck(r *http.Request) (any, error) {
	namespace, err := h.resolve(r.PathValue("database"))
	if err == nil {
		_, err = h.tag(r.Context(), namespace)
	}
	return nil, err
}

func (h *Handler) stats(r *http.Request) (any, error) {
	_, err := h.healthcheck(r)
	return struct{}{}, err
}
