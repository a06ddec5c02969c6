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

	"github.com/hilo-id/hilo/allocator/gateway/internal/sentinel"
)

// node is a server as clients read it.
type node struct {
	URL        string `json:"Url"`
	ClusterTag string
	ServerRole string
	Database   string
}

const member = "Member"

// topologyTimeout bounds the wait for a server whose node tag is not known yet.
const topologyTimeout = time.Second

// topology returns this gateway, and after it the others that clients may use when it is down. A database that is mapped is known
// to exist: while its server is down, the tag is a placeholder, because a client that gets no topology when it starts never asks
// again.
func (h *Handler) topology(r *http.Request) (any, error) {
	q := parseQuery(r)
	name := q.text("name")
	if q.err != nil {
		return nil, q.err
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
	own := node{URL: h.url(r), ClusterTag: noCluster, ServerRole: member, Database: name}
	nodes := []node{own}
	for _, n := range h.opts.Nodes {
		if n.URL == own.URL {
			nodes[0].ClusterTag = n.Tag
		} else {
			nodes = append(nodes, node{URL: n.URL, ClusterTag: n.Tag, ServerRole: member, Database: name})
		}
	}
	if err == nil {
		d.mu.Lock()
		nodes[0].ClusterTag = d.tag
		d.mu.Unlock()
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
	for _, n := range nodes {
		fmt.Fprintf(list, "%s=%s\n", n.Tag, n.URL)
	}
	return start.Unix()<<bits | int64(list.Sum32()>>(32-bits))
}

// url returns the URL at which the client reaches this gateway.
func (h *Handler) url(r *http.Request) string {
	scheme := "http://"
	if r.TLS != nil {
		scheme = "https://"
	}
	return cmp.Or(h.opts.PublicURL, scheme+r.Host)
}

// noCluster is the tag of a server of RavenDB's that is in no cluster yet. No node tag of an identifier is valid with it.
const noCluster = "?"

// nodeInfo returns the tag of the first namespace that is mapped, or was used: the request names no database.
func (h *Handler) nodeInfo(r *http.Request) (any, error) {
	h.mu.Lock()
	names := slices.Concat(slices.Collect(maps.Values(h.opts.Databases)), slices.Collect(maps.Keys(h.databases)))
	h.mu.Unlock()
	if len(names) > 0 {
		tag, err := h.tag(r.Context(), slices.Min(names))
		return struct{ NodeTag, ServerRole string }{tag, member}, err
	}
	err := h.ask(r.Context(), func(ctx context.Context) error { return h.opts.Client.Time(ctx).Err() }) // PING is no right of a worker
	return struct{ NodeTag, ServerRole string }{noCluster, member}, err
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
