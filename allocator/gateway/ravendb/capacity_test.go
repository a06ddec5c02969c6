package ravendb

import (
	"encoding/json"
	"net/http"
	"net/url"
	"os"
	"testing"
	"time"

	"github.com/hilo-id/hilo/allocator/gateway/internal/form"
)

func TestCapacityMatchesTheVectors(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile("../../testdata/capacity.json")
	if err != nil {
		t.Fatal(err)
	}
	var rows []struct {
		Last    int64
		Seconds *float64
		Want    int64
	}
	if err := json.Unmarshal(data, &rows); err != nil || len(rows) == 0 {
		t.Fatalf("got %d rows, %v, want some", len(rows), err)
	}
	for _, row := range rows {
		var since time.Duration
		if row.Seconds != nil {
			since = time.Duration(*row.Seconds * float64(time.Second))
		}
		if got := capacity(row.Last, since, row.Seconds != nil); got != row.Want {
			t.Errorf("%+v: got %d, want %d", row, got, row.Want)
		}
	}
}

func TestParseTimeReadsTheTimesOfAllClients(t *testing.T) {
	t.Parallel()
	want := time.Date(2026, 11, 22, 1, 2, 3, 120_000_000, time.UTC)
	for _, text := range []string{
		"2026-11-22T01:02:03.12Z", "2026-11-22T01:02:03.12", "2026-11-22T01:02:03.1200000Z", "2026-11-22T01:02:03.1200000",
		"2026-11-22T01:02:03.120", "2026-11-22T01:02:03.120000000000000001", "2026-11-22T03:02:03.12+02:00",
	} {
		if got, ok := parseTime(text); !ok || !got.Equal(want) {
			t.Errorf("%s: got %v, %t, want %v", text, got, ok, want)
		}
	}
	for _, text := range []string{"0001-01-01T00:00:00.0000000Z", "1901-02-01T00:00:00.0000000", "2026-11-22T01:02:03", "9999-12-31T23:59:59.9999999Z"} {
		if _, ok := parseTime(text); !ok {
			t.Errorf("%s: got false, want it to be parsed", text)
		}
	}
	for _, text := range []string{"", "now", "2026-11-22", "2026-11-22T01:02:03.", "2026-11-22T01:02:03.Z", "2026-13-22T01:02:03Z", "2026-11-22T01:02:03Zz", "2026-11-22 01:02:03"} {
		if got, ok := parseTime(text); ok {
			t.Errorf("%q: got %v, want it refused", text, got)
		}
	}
}

func TestParseSizeLimitsGreaterOnes(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int64{
		"": 0, "0": 0, "33": 33, "1048576": 1 << 20, "1048577": 1 << 20, "9223372036854775807": 1 << 20, "99999999999999999999": 1 << 20,
	} {
		q := queryOf("lastBatchSize=" + text)
		if got := parseSize(q); q.Err != nil || got != want {
			t.Errorf("%s: got %d, %v, want %d", text, got, q.Err, want)
		}
	}
	for _, text := range []string{"-1", "+1", "x", "1.0", "-99999999999999999999", "99999999999999999999x"} {
		q := queryOf("lastBatchSize=" + url.QueryEscape(text))
		if got := parseSize(q); q.Err == nil {
			t.Errorf("%s: got %d, want an error", text, got)
		}
	}
}

func queryOf(raw string) *form.Query { return form.Parse(&http.Request{URL: &url.URL{RawQuery: raw}}) }

func FuzzQuery(f *testing.F) {
	for _, text := range []string{"", "tag=a&lastMax=1", "tag=%zz", "tag=a+b&&=&%=%41", "lastRangeAt=2026-11-22T01:02:03.1Z&lastBatchSize=99999999999999999999"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		q := queryOf(raw)
		size, lastMax := parseSize(q), q.NumberOr("lastMax", 0)
		if q.Err == nil && (size < 0 || size > maxCapacity || lastMax < 0) {
			t.Errorf("%q: got lastBatchSize %d and lastMax %d, want 0 to %d, and 0 or more", raw, size, lastMax, maxCapacity)
		}
		at, known := parseTime(q.Get("lastRangeAt"))
		if size := capacity(maxCapacity, max(0, time.Since(at)), known); size < minCapacity || size > maxCapacity {
			t.Errorf("%q: got capacity %d, want %d to %d", raw, size, minCapacity, maxCapacity)
		}
	})
}

func FuzzTime(f *testing.F) {
	for _, text := range []string{"", "2026-11-22T01:02:03.1200000Z", "2026-11-22T01:02:03.12+02:00", "0001-01-01T00:00:00"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		at, ok := parseTime(text)
		if !ok {
			return
		}
		if again, ok := parseTime(at.UTC().Format(wireTime)); !ok && at.Year() >= 0 && at.Year() < 10_000 || ok && again.Sub(at).Abs() >= 100 {
			t.Errorf("%q: got %v, formatted and parsed again %v, %t, want the same within 100 ns", text, at, again, ok)
		}
	})
}
