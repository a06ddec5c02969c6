package peerbench_test

import (
	"context"
	"crypto/rand"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/hilo-id/hilo/allocator"
	"github.com/hilo-id/hilo/scripts"
	"github.com/hilo-id/hilo/scripts/redistest"
)

// BenchmarkLoneIdentity measures what a lone caller of NextIdentity pays for combining the requests of concurrent callers. The
// figures are the time of a call divided by the time of the script alone: "ratio" with a context that cannot end, "ratio-leaving"
// with one that can, for which the request needs a goroutine. The calls alternate in turns of 100, so that other load on the
// machine affects all of them, and the ratios are those of the medians.
func BenchmarkLoneIdentity(b *testing.B) {
	for _, binary := range redistest.Binaries(b) {
		b.Run(binary.Name, func(b *testing.B) {
			client := redistest.NewClient(b, redistest.Start(b, binary))
			ctx := context.Background()
			ids, err := allocator.New(client, allocator.Options{})
			if err != nil {
				b.Fatal(err)
			}
			b.Cleanup(func() { _ = ids.Close(ctx) })
			lone := func() error {
				_, err := ids.NextIdentity(ctx, "companies")
				return err
			}
			leaving, cancel := context.WithCancel(ctx)
			defer cancel()
			loneLeaving := func() error {
				_, err := ids.NextIdentity(leaving, "companies")
				return err
			}

			initialize(ctx, b, client, "bench")
			keys := scripts.Keys{Counter: "{bench}/Identities/companies", Server: "{bench}/ServerPrefixForHilo", Other: "{bench}/HiLo/companies"}
			request := scripts.IdentityRequest{Name: "companies", Count: 1, Limit: math.MaxInt64}
			direct := func() error {
				ctx, cancel := context.WithTimeout(ctx, 2*time.Second) // as every request has one
				defer cancel()
				request.Token = rand.Text()
				got, err := scripts.Identity(ctx, client, keys, request)
				request.Floor = got.High
				return err
			}

			turn := func(call func() error) float64 {
				start := time.Now()
				for range 100 {
					if err := call(); err != nil {
						b.Fatal(err)
					}
				}
				return float64(time.Since(start).Nanoseconds()) / 100
			}
			calls := [...]func() error{lone, loneLeaving, direct}
			for _, call := range calls {
				turn(call) // the first ones send the script
			}
			var times [len(calls)][]float64
			for b.Loop() {
				for i, call := range calls {
					times[i] = append(times[i], turn(call))
				}
			}
			var medians [len(calls)]float64
			for i := range times {
				slices.Sort(times[i])
				medians[i] = times[i][len(times[i])/2]
			}
			b.ReportMetric(medians[0], "ns/id")
			b.ReportMetric(medians[2], "ns/script")
			b.ReportMetric(medians[0]/medians[2], "ratio")
			b.ReportMetric(medians[1]/medians[2], "ratio-leaving")
		})
	}
}
