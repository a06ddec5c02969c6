package ravendb

import (
	"context"
	"fmt"
	"hash/fnv"
	"maps"
	"net/http"
	"slices"
	"time"
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

// topology returns this gateway, and after it the others that clients may use when it is down.
func (h *Handler) topology(r *http.Request) (reply, error) {
	q, err := parseQuery(r.URL.RawQuery)
	if err != nil {
		return reply{}, err
	}
	name, err := q.required("name")
	if err != nil {
		return reply{}, err
	}
	own := h.url(r)
	tag, err := h.topologyTag(r.Context(), name, own)
	if err != nil {
		return reply{}, err
	}
	nodes := []node{{URL: own, ClusterTag: tag, ServerRole: member, Database: name}}
	for _, n := range h.opts.Nodes {
		if n.URL != own {
			nodes = append(nodes, node{URL: n.URL, ClusterTag: n.Tag, ServerRole: member, Database: name})
		}
	}
	return reply{http.StatusOK, struct {
		Nodes []node
		Etag  int64
	}{nodes, h.topologyEtag}}, nil
}

// topologyTag returns the node tag of a database. One that is mapped is known to exist: while its server is down, the tag is
// a placeholder, because a client that gets no topology when it starts never asks again.
func (h *Handler) topologyTag(ctx context.Context, database, own string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, topologyTimeout)
	defer cancel()
	n, err := h.namespace(ctx, database)
	switch {
	case err == nil:
		return *n.tag.Load(), nil
	case len(h.opts.Databases) == 0 || refused(err):
		return "", err
	}
	for _, n := range h.opts.Nodes {
		if n.URL == own {
			return n.Tag, nil
		}
	}
	return noCluster, nil
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
	if h.opts.PublicURL != "" {
		return h.opts.PublicURL
	}
	if r.TLS != nil {
		return "https://" + r.Host
	}
	return "http://" + r.Host
}

// noCluster is the tag of a server of RavenDB's that is in no cluster yet. No node tag of an identifier is valid with it.
const noCluster = "?"

// nodeInfo returns the tag of the first namespace that is mapped, or was used: the request names no database.
func (h *Handler) nodeInfo(r *http.Request) (reply, error) {
	h.mu.Lock()
	names := slices.Collect(maps.Values(h.opts.Databases))
	if len(names) == 0 {
		names = slices.Collect(maps.Keys(h.namespaces))
	}
	h.mu.Unlock()
	tag := noCluster
	if len(names) > 0 {
		var err error
		if tag, err = h.describe(r.Context(), slices.Min(names)); err != nil {
			return reply{}, err
		}
	}
	ctx, cancel := context.WithTimeout(r.Context(), h.opts.timeout())
	defer cancel()
	if err := h.ask(ctx, func() error { return h.client.Time(ctx).Err() }); err != nil { // PING is no right of a worker
		return reply{}, err
	}
	return reply{http.StatusOK, struct{ NodeTag, ServerRole string }{tag, member}}, nil
}

func (h *Handler) healthcheck(r *http.Request) (reply, error) {
	return reply{status: http.StatusNoContent}, h.ping(r.Context(), r.PathValue("database"))
}

func (h *Handler) stats(r *http.Request) (reply, error) {
	return reply{http.StatusOK, struct{}{}}, h.ping(r.Context(), r.PathValue("database"))
}

// ping contacts the server of a database.
func (h *Handler) ping(ctx context.Context, database string) error {
	name, err := h.resolve(database)
	if err == nil {
		_, err = h.describe(ctx, name)
	}
	return err
}
