package gateway

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/hilo-id/hilo/allocator"
	"github.com/hilo-id/hilo/prefix"
)

// mostAtOnce is how many identifiers one request gets at most.
const mostAtOnce = 10_000

// giveIDs takes identifiers out of the ranges in hand.
func (g *gateway) giveIDs(w http.ResponseWriter, r *http.Request) {
	count, err := readCount(r)
	if err != nil {
		fail(w, err)
		return
	}
	collection, err := g.ids.Collection(r.PathValue("collection"))
	if err != nil {
		fail(w, err)
		return
	}
	g.give(w, r, count, func(ctx context.Context, _ int64, dst []byte) ([]byte, error) {
		return collection.AppendNext(ctx, dst)
	})
}

// giveIdentities takes values of an identity, all in one round trip.
func (g *gateway) giveIdentities(w http.ResponseWriter, r *http.Request) {
	count, err := readCount(r)
	if err != nil {
		fail(w, err)
		return
	}
	name := r.PathValue("name")
	id := prefix.ID{Collection: strings.TrimSuffix(name, "|")}
	var values allocator.Range
	g.give(w, r, count, func(ctx context.Context, i int64, dst []byte) ([]byte, error) {
		if i == 0 {
			var err error
			if values, err = g.ids.NextIdentities(ctx, name, count); err != nil {
				return dst, err
			}
		}
		id.Number = values.Low + i
		return id.Append(dst, g.opts.Separator), nil
	})
}

// give writes so many identifiers, each of which next appends. They are sent
// when all are there, or none.
func (g *gateway) give(w http.ResponseWriter, r *http.Request, count int64, next func(ctx context.Context, i int64, dst []byte) ([]byte, error)) {
	ctx := &patient{Context: r.Context(), timeout: g.opts.Timeout}
	defer ctx.end()
	buffer, ok := g.buffers.Get().(*[]byte)
	if !ok {
		buffer = new([]byte)
	}
	defer g.buffers.Put(buffer)
	answer := (*buffer)[:0]
	answer = append(answer, `{"ids":["`...)
	for i := range count {
		if i > 0 {
			answer = append(answer, `","`...)
		}
		begin := len(answer)
		var err error
		if answer, err = next(ctx, i, answer); err != nil { //nolint:contextcheck // a time limit of the request that begins when somebody waits
			if !gone(r.Context(), err) {
				fail(w, err)
			}
			return
		}
		if bytes.ContainsAny(answer[begin:], `"\`) { // nothing else that JSON escapes can be in a name
			text, _ := json.Marshal(string(answer[begin:]))
			answer = append(answer[:begin], text[1:len(text)-1]...)
		}
	}
	answer = append(answer, "\"]}\n"...)
	*buffer = answer
	header := w.Header()
	header["Content-Type"] = jsonType
	header["Cache-Control"] = noStore
	header["Content-Length"] = []string{strconv.Itoa(len(answer))}
	_, _ = w.Write(answer) // a client that is gone has left a gap
}

// These are shared by all answers, and never written to.
var (
	jsonType = []string{"application/json"}
	noStore  = []string{"no-store"}
)

// readCount reads the one parameter there is.
func readCount(r *http.Request) (int64, error) {
	if r.URL.RawQuery == "" {
		return 1, nil
	}
	values, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return 0, invalid("the query cannot be read: %v", err)
	}
	for name, given := range values {
		if name != "count" || len(given) != 1 {
			return 0, invalid("parameter %.64q: count is the one that there is, once", name)
		}
	}
	count, err := strconv.ParseInt(values.Get("count"), 10, 64)
	if err != nil || count < 1 || count > mostAtOnce {
		return 0, invalid("count is %.64q: must be 1 to %d", values.Get("count"), mostAtOnce)
	}
	return count, nil
}
