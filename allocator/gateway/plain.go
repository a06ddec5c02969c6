package gateway

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"strings"

	"github.com/hilo-id/hilo/allocator/gateway/internal/form"
	"github.com/hilo-id/hilo/allocator/gateway/internal/sentinel"
	"github.com/hilo-id/hilo/prefix"
)

// maxCount is the greatest number of identifiers per request.
const maxCount = 10_000

// These are shared by all answers and never modified.
var (
	jsonType = []string{"application/json"}
	noStore  = []string{"no-store"}
)

// issueIDs issues identifiers from the ranges in hand.
func (g *gateway) issueIDs(w http.ResponseWriter, r *http.Request) {
	name := r.PathValue("collection")
	g.issue(w, r, name, name, func(context.Context, int64) (appendNext, error) {
		collection, err := g.ids.Collection(name)
		if err != nil {
			return nil, err
		}
		return collection.AppendNext, nil
	})
}

// issueIdentities issues consecutive values of an identity in one round trip.
func (g *gateway) issueIdentities(w http.ResponseWriter, r *http.Request) {
	name := r.PathValue("name")
	id := prefix.ID{Collection: strings.TrimSuffix(name, "|")}
	g.issue(w, r, id.Collection, prefix.Fold(id.Collection)+"|", func(ctx context.Context, count int64) (appendNext, error) {
		values, err := g.ids.NextIdentities(ctx, name, count)
		id.Number = values.Low - 1
		return func(_ context.Context, dst []byte) ([]byte, error) {
			id.Number++
			return id.Append(dst, g.opts.Separator), nil
		}, err
	})
}

// appendNext appends the next identifier.
type appendNext = func(ctx context.Context, dst []byte) ([]byte, error)

// issue writes the requested identifiers, all or none. key identifies the name in g.names.
func (g *gateway) issue(w http.ResponseWriter, r *http.Request, name, key string, begin func(ctx context.Context, count int64) (appendNext, error)) {
	count, err := readCount(r)
	if err != nil {
		fail(w, err)
		return
	}
	if err := g.admit(name, key); err != nil {
		fail(w, err)
		return
	}
	ctx := &patient{Context: r.Context(), timeout: g.opts.Timeout}
	defer ctx.end()
	buffer, ok := g.buffers.Get().(*[]byte)
	if !ok {
		buffer = new([]byte)
	}
	defer g.buffers.Put(buffer)
	answer := (*buffer)[:0]
	answer = append(answer, `{"ids":["`...)
	next, err := begin(ctx, count) //nolint:contextcheck // its time limit begins with the first wait
	for i := int64(0); i < count && err == nil; i++ {
		if i > 0 {
			answer = append(answer, `","`...)
		}
		start := len(answer)
		answer, err = next(ctx, answer)                            //nolint:contextcheck // as above
		if err == nil && bytes.ContainsAny(answer[start:], `"\`) { // a name has no others that JSON escapes
			text, _ := json.Marshal(string(answer[start:]))
			answer = append(answer[:start], text[1:len(text)-1]...)
		}
	}
	if err != nil {
		if !errors.Is(r.Context().Err(), context.Canceled) { // the client has not disconnected
			fail(w, err)
		}
		return
	}
	answer = append(answer, "\"]}\n"...)
	*buffer = answer
	header := w.Header()
	header["Content-Type"] = jsonType
	header["Cache-Control"] = noStore
	header["Content-Length"] = []string{strconv.Itoa(len(answer))}
	_, _ = w.Write(answer) // identifiers that do not arrive are a gap
}

// admit returns an error if there is no space for a further name, of which key is the form that counts. An invalid name is admitted
// and not added, because the allocator refuses it.
func (g *gateway) admit(name, key string) error {
	if _, known := g.names.Get(key); known {
		return nil
	}
	if invalid := prefix.ValidateCollection(name, g.opts.Separator); invalid != nil {
		return nil //nolint:nilerr // the allocator refuses it
	}
	_, err := g.names.Admit(key, struct{}{})
	return err
}

// readCount parses the only parameter.
func readCount(r *http.Request) (int64, error) {
	if r.URL.RawQuery == "" {
		return 1, nil
	}
	q := form.Parse(r)
	q.Only("count")
	count := q.Number("count")
	if q.Err == nil && (count < 1 || count > maxCount) {
		q.Fail(sentinel.Invalidf("count is %d: must be 1 to %d", count, maxCount))
	}
	return count, q.Err
}
