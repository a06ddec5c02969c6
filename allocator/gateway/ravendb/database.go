package ravendb

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"sync/atomic"

	"github.com/hilo-id/hilo/prefix"
	"github.com/hilo-id/hilo/scripts"
)

// database is a namespace as clients see it.
type database struct {
	namespace string
	keys      prefix.Keys
	adds      atomic.Pointer[prefix.Server] // as it was accepted last
	clash     func(namespace string, adds prefix.Server) error
}

// accept takes note of what the server adds to identifiers, by a reply. There has to be a tag, and no other master may add
// the same.
func (d *database) accept(serverPrefix, tag string) error {
	adds := prefix.Server{ServerPrefix: serverPrefix, NodeTag: tag}
	if seen := d.adds.Load(); seen != nil && *seen == adds {
		return nil
	}
	if tag == "" {
		return noTag(d.namespace)
	}
	if err := adds.Validate(); err != nil { // scripts know a part of the rule
		return fmt.Errorf("%w: key %s: %v", scripts.ErrCorrupt, d.keys.Server(), err) //nolint:errorlint // it is no argument of the client's
	}
	if err := d.clash(d.namespace, adds); err != nil {
		return err
	}
	d.adds.Store(&adds)
	return nil
}

// explain says what to do where a script found neither tag nor prefix.
func (d *database) explain(err error) error {
	if errors.Is(err, scripts.ErrPrefixMissing) {
		return noTag(d.namespace)
	}
	return err
}

// database is the one that a request is about. One that is seen for the first
// time is looked up, so that nothing is written where there is no tag.
func (h *Handler) database(ctx context.Context, name string) (*database, error) {
	folded := prefix.Fold(name)
	h.mu.Lock()
	known, ok := h.databases[folded]
	h.mu.Unlock()
	if ok {
		return known, nil
	}
	d, err := h.describe(ctx, name)
	if err != nil {
		return nil, err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if known, ok := h.databases[folded]; ok {
		return known, nil
	}
	if len(h.databases) >= mostDatabases {
		return nil, fmt.Errorf("%w: it remembers %d databases", errTooMany, mostDatabases)
	}
	h.databases[folded] = d
	return d, nil
}

// describe asks the server about the namespace of a database.
func (h *Handler) describe(ctx context.Context, name string) (*database, error) {
	if err := prefix.ValidateNamespace(name); err != nil {
		return nil, argument("database: %w", err)
	}
	namespace, ok := h.opts.Databases[prefix.Fold(name)]
	if !ok {
		if len(h.opts.Databases) > 0 {
			return nil, unknownDatabaseError(name)
		}
		namespace = prefix.Fold(name)
	}
	d := &database{namespace: namespace, keys: prefix.NewKeys(namespace), clash: h.opts.Clash}
	ctx, cancel := context.WithTimeout(ctx, h.opts.timeout())
	defer cancel()
	said, err := scripts.Describe(ctx, h.client, d.keys.Server())
	if err != nil {
		return nil, err
	}
	if err := d.accept(said.Prefix, said.Tag); err != nil {
		return nil, err
	}
	return d, nil
}

// node is a server as clients see it.
type node struct {
	URL        string `json:"Url"`
	ClusterTag string
	ServerRole string
	Database   string
}

const member = "Member"

// topology says that this is the only server there is.
func (h *Handler) topology(r *http.Request) (reply, error) {
	q, err := parseQuery(r.URL.RawQuery)
	if err != nil {
		return reply{}, err
	}
	name, err := q.required("name")
	if err != nil {
		return reply{}, err
	}
	d, err := h.database(r.Context(), name)
	if err != nil {
		return reply{}, err
	}
	return reply{http.StatusOK, struct {
		Nodes []node
		Etag  int64
	}{[]node{{URL: h.url(r), ClusterTag: d.adds.Load().NodeTag, ServerRole: member, Database: name}}, 1}}, nil
}

// url is where the client finds this server.
func (h *Handler) url(r *http.Request) string {
	if h.opts.PublicURL != "" {
		return h.opts.PublicURL
	}
	if r.TLS != nil {
		return "https://" + r.Host
	}
	return "http://" + r.Host
}

// noCluster is the tag of a server of RavenDB's that is in no cluster yet.
const noCluster = "?"

// nodeInfo is about no database, so the tag is that of the first one that is
// mapped, or was used.
func (h *Handler) nodeInfo(r *http.Request) (reply, error) {
	h.mu.Lock()
	names := slices.Collect(maps.Keys(h.opts.Databases))
	if len(names) == 0 {
		names = slices.Collect(maps.Keys(h.databases))
	}
	h.mu.Unlock()
	tag := noCluster
	if len(names) > 0 {
		d, err := h.describe(r.Context(), slices.Min(names))
		if err != nil {
			return reply{}, err
		}
		tag = d.adds.Load().NodeTag
	}
	ctx, cancel := context.WithTimeout(r.Context(), h.opts.timeout())
	defer cancel()
	if err := h.client.Time(ctx).Err(); err != nil { // PING is no right of a worker
		return reply{}, err
	}
	return reply{http.StatusOK, struct{ NodeTag, ServerRole string }{tag, member}}, nil
}

// healthcheck and stats ask the server.
func (h *Handler) healthcheck(r *http.Request) (reply, error) {
	_, err := h.describe(r.Context(), r.PathValue("database"))
	return reply{status: http.StatusNoContent}, err
}

func (h *Handler) stats(r *http.Request) (reply, error) {
	_, err := h.describe(r.Context(), r.PathValue("database"))
	return reply{http.StatusOK, struct{}{}}, err
}
