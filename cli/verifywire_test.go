package cli

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/hilo-id/hilo/allocator"
)

func TestRunsComeBackAsTheyWereSent(t *testing.T) {
	t.Parallel()
	want := []run{{1, 1, 0}, {2, 5000, 7}, {math.MaxInt64, math.MaxInt64, 1}, {1, math.MaxInt64, 0}}
	var body []byte
	for _, r := range want {
		body = appendRun(body, r.Worker, r.Low, r.High-r.Low+1)
	}
	var pipe bytes.Buffer
	w := bufio.NewWriter(&pipe)
	writeFrame(w, frameRuns, body)
	writeFrame(w, frameReady, nil)
	w.Flush()

	r := bufio.NewReader(&pipe)
	kind, got, err := readFrame(r)
	if kind != frameRuns || err != nil {
		t.Fatalf("%q, %v", kind, err)
	}
	var runs []run
	if err := eachRun(got, func(series int, low, high int64) error { runs = append(runs, run{low, high, series}); return nil }); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(runs, want) {
		t.Errorf("%v, want %v", runs, want)
	}
	if kind, body, err := readFrame(r); kind != frameReady || len(body) > 0 || err != nil {
		t.Errorf("%q, %q, %v", kind, body, err)
	}
	if _, _, err := readFrame(r); !errors.Is(err, io.EOF) {
		t.Errorf("%v at the end", err)
	}
}

// TestHalfAFrameIsNone cuts one off at every byte, as a kill does.
func TestHalfAFrameIsNone(t *testing.T) {
	t.Parallel()
	var pipe bytes.Buffer
	w := bufio.NewWriter(&pipe)
	writeFrame(w, frameRuns, appendRun(nil, 0, 1000, 4096))
	w.Flush()
	for cut := range pipe.Len() {
		if kind, body, err := readFrame(bufio.NewReader(bytes.NewReader(pipe.Bytes()[:cut]))); err == nil {
			t.Errorf("%d bytes are taken for a frame %q, %q", cut, kind, body)
		}
	}
}

func TestRunsThatAreNoneAreRefused(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		body []byte
	}{
		{"number 0", appendRun(nil, 0, 0, 1)},
		{"no numbers", appendRun(nil, 0, 1, 0)},
		{"past the greatest number", appendRun(nil, 0, 2, math.MaxInt64)},
		{"cut off", appendRun(nil, 0, 300, 300)[:3]},
		{"a number that is too great", binary.AppendUvarint(nil, math.MaxUint64)},
		{"a series that is too great", appendRun(nil, math.MaxInt32+1, 1, 1)},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			if err := eachRun(test.body, func(int, int64, int64) error { return nil }); err == nil {
				t.Error("it is taken for runs")
			}
		})
	}
}

func TestATakerReadsNumbersOfOneSpellingOnly(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int64{
		"1": 1, "10": 10, "9223372036854775807": math.MaxInt64,
		"0": 0, "01": 0, "9223372036854775808": 0, "99999999999999999999": 0, "1a": 0, "-1": 0, "+1": 0, "1/2": 0, "١": 0,
	} {
		got, ok := canonical(text)
		if ok != (want > 0) || ok && got != want {
			t.Errorf("%q: %d, %v", text, got, ok)
		}
	}
}

func TestATakerReportsEachIdentifier(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	k := &taker{separator: "/", out: bufio.NewWriter(&out)}
	s := &stream{from: collectionNamed(t, "orders")}
	k.streams = []*stream{s}
	texts := []string{"orders/1", "orders/2", "orders/2", "orders/5-A", "orders/6-A", "orders/N/7", "orders/8", "orders/N-1/9", "orders/9"}
	for _, text := range texts {
		if err := k.read(s, text); err != nil {
			t.Fatal(err)
		}
	}
	if err := k.report(); err != nil {
		t.Fatal(err)
	}
	var j judge
	h := &hand{number: 1}
	tr := &trial{verify: verify{globals: globals{Separator: "/"}, IDs: 100, screen: newScreen(nil, 0)}}
	for r := bufio.NewReader(&out); ; {
		kind, body, err := readFrame(r)
		if err != nil {
			break
		}
		tr.hear(t.Context(), heard{from: h, kind: kind, body: body})
	}
	for _, text := range texts {
		if err := j.text(text, "/", 1); err != nil {
			t.Fatal(err)
		}
	}
	if tr.err != nil || tr.judge.ids != int64(len(texts)) || tr.judge.again != 1 || len(tr.judge.series) != 4 {
		t.Errorf("%v, %+v", tr.err, tr.judge)
	}
	for i, s := range j.series {
		if got := tr.judge.series[i]; got.ID != s.ID || got.ids != s.ids || fmt.Sprint(got.repetitions()) != fmt.Sprint(s.repetitions()) {
			t.Errorf("%+v, want %+v", got, s)
		}
	}
	for _, text := range []string{"orders/01", "orders/", "companies/1", "orders/9223372036854775808"} {
		if err := k.read(s, text); exitCode(err) != exitFault {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func collectionNamed(t *testing.T, name string) *allocator.Collection {
	t.Helper()
	client := redis.NewClient(&redis.Options{ContextTimeoutEnabled: true})
	t.Cleanup(func() { _ = client.Close() })
	a, err := allocator.New(client, allocator.Options{})
	if err != nil {
		t.Fatal(err)
	}
	c, err := a.Collection(name)
	if err != nil {
		t.Fatal(err)
	}
	return c
}
