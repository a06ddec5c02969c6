package examine

import (
	"bytes"
	"encoding/json"
	"io"
	"math"
	"slices"
	"testing"

	"github.com/hilo-id/hilo/allocator"
	"github.com/hilo-id/hilo/allocator/allocatortest"
	"github.com/hilo-id/hilo/allocator/proof"
	"github.com/hilo-id/hilo/cli/internal/base"
	"github.com/hilo-id/hilo/cli/internal/exit"
	"github.com/hilo-id/hilo/cli/internal/target"
	"github.com/hilo-id/hilo/cli/internal/term"
	"github.com/hilo-id/hilo/prefix"
)

func TestMessagesSurviveThePipe(t *testing.T) {
	t.Parallel()
	runs := []run{
		{ID: prefix.ID{Collection: "orders", Number: 1}, Count: 1},
		{ID: prefix.ID{Collection: "orders", ServerPrefix: "N/", Number: math.MaxInt64, NodeTag: "A"}, Count: 5000},
	}
	var pipe bytes.Buffer
	to := json.NewEncoder(&pipe)
	for _, sent := range []message{{}, {Runs: runs}, {Err: &exit.Error{Code: 3, Text: "down"}}, {LastStats: &allocator.CollectionStats{}}} {
		if err := to.Encode(sent); err != nil {
			t.Fatal(err)
		}
	}
	from := json.NewDecoder(&pipe)
	var got [4]message
	for i := range got {
		if err := from.Decode(&got[i]); err != nil {
			t.Fatal(err)
		}
	}
	if got[0].Runs != nil || got[0].Err != nil || got[0].LastStats != nil || !slices.Equal(got[1].Runs, runs) ||
		got[2].Err == nil || *got[2].Err != (exit.Error{Code: 3, Text: "down"}) || got[3].LastStats == nil {
		t.Errorf("got %+v", got)
	}
}

// A killed worker may cut off a message at any byte.
func TestMessageThatIsCutOffIsAnError(t *testing.T) {
	t.Parallel()
	var pipe bytes.Buffer
	if err := json.NewEncoder(&pipe).Encode(message{Runs: []run{{ID: prefix.ID{Collection: "orders", Number: 1000}, Count: 4096}}}); err != nil {
		t.Fatal(err)
	}
	for cut := range pipe.Len() - len("\n") { // without its newline a message is whole
		var part message
		if err := json.NewDecoder(bytes.NewReader(pipe.Bytes()[:cut])).Decode(&part); err == nil {
			t.Errorf("%d bytes: got %+v, want an error", cut, part)
		}
	}
}

// A worker that is killed may have reported all that it was to take, so that nothing is left for its replacement.
func TestWorkerWithoutIdentifiersToTakeTakesNone(t *testing.T) {
	t.Parallel()
	a := allocatortest.New(t, allocator.Options{})
	if err := a.Warm(t.Context(), "orders"); err != nil {
		t.Fatal(err)
	}
	in, assignments := io.Pipe()
	var out bytes.Buffer
	w := &worker{
		Session: &base.Session{Separator: "/"}, collections: []string{"orders"},
		in: json.NewDecoder(in), out: json.NewEncoder(&out),
	}
	go func() {
		_ = json.NewEncoder(assignments).Encode(assignment{})
		_ = assignments.Close()
	}()
	_ = w.work(t.Context(), target.Opened{}, a) // which its input ends
	if got := a.Stats().Collections[0].Issued; got != 0 {
		t.Errorf("got %d identifiers, want none", got)
	}
}

func TestRecordRefusesInvalidRuns(t *testing.T) {
	t.Parallel()
	for name, r := range map[string]run{
		"number 0":                 {Count: 1},
		"no numbers":               {ID: prefix.ID{Number: 1}},
		"past the greatest number": {ID: prefix.ID{Number: 2}, Count: math.MaxInt64},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tr := &trial{IDs: 100, stopWorkers: func() {}}
			if tr.record(&workerHandle{}, []run{r}); tr.err == nil || tr.ledger.IDs > 0 {
				t.Errorf("got %d ids and the error %v, want none and an error", tr.ledger.IDs, tr.err)
			}
		})
	}
}

func TestReadParsesEachIdentifier(t *testing.T) {
	t.Parallel()
	k := &worker{Session: &base.Session{Separator: "/"}, newest: make(map[string]prefix.ID)}
	var j proof.Ledger
	tr := &trial{Session: &base.Session{Separator: "/"}, IDs: 100, live: term.Style{}.NewLive(io.Discard)}
	texts := []string{"orders/1", "orders/2", "orders/2", "orders/5-A", "orders/6-A", "orders/N/7", "orders/8", "orders/N-1/9", "orders/9", "orders/9223372036854775807"}
	for _, text := range texts {
		err := k.read("orders", text, func(id prefix.ID) { tr.record(&workerHandle{number: 1}, []run{{ID: id, Count: 1}}) })
		if err != nil {
			t.Fatal(err)
		}
		if err := j.AddText(text, "/", 1); err != nil {
			t.Fatal(err)
		}
	}
	if tr.err != nil || tr.ledger.IDs != int64(len(texts)) || tr.ledger.Duplicates != 1 || len(tr.ledger.Series) != len(j.Series) {
		t.Errorf("%v, %+v", tr.err, tr.ledger)
	}
	for i, s := range j.Series {
		if got := tr.ledger.Series[i]; got.ID != s.ID || got.IDs != s.IDs || got.Numbers.Greatest != s.Numbers.Greatest {
			t.Errorf("%+v, want %+v", got, s)
		}
	}
	for _, number := range []string{"01", "", "9223372036854775808", "99999999999999999999", "1a", "1-", "١"} {
		for _, newest := range []int64{0, 1, math.MaxInt64} {
			k.newest["orders"] = prefix.ID{Collection: "orders", Number: newest}
			if err := k.read("orders", "orders/"+number, func(prefix.ID) {}); exit.Code(err) != exit.Fault {
				t.Errorf("%q behind %d: %v", number, newest, err)
			}
		}
	}
	if err := k.read("orders", "companies/1", func(prefix.ID) {}); exit.Code(err) != exit.Fault {
		t.Errorf("another collection: %v", err)
	}
}
