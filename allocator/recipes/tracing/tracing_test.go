package tracing_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/logging"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.uber.org/goleak"

	"github.com/hilo-id/hilo/allocator"
	"github.com/hilo-id/hilo/allocator/recipes/tracing"
	"github.com/hilo-id/hilo/scripts/redistest"
)

func TestMain(m *testing.M) {
	logging.Disable() // the tests cause the errors that go-redis reports
	goleak.VerifyTestMain(m)
}

func Example() {
	server, err := miniredis.Run() // or any Redis
	if err != nil {
		panic(err)
	}
	server.HSet("{Raven}/ServerPrefixForHilo", "Initialized", "by hand") // once, as hilo init does
	defer server.Close()
	client := redis.NewClient(allocator.Tune(&redis.Options{Addr: server.Addr()}))
	defer client.Close()
	exporter := tracetest.NewInMemoryExporter() // or the exporter of your collector
	provider := trace.NewTracerProvider(trace.WithSyncer(exporter))

	if err := tracing.Instrument(client, provider); err != nil {
		panic(err)
	}
	ids, err := allocator.New(client, allocator.Options{})
	if err != nil {
		panic(err)
	}
	for range 10 {
		if _, err := ids.Next(context.Background(), "orders"); err != nil {
			panic(err)
		}
	}
	fmt.Println(ids.Close(context.Background()))
	for _, span := range exporter.GetSpans().Snapshots() {
		fmt.Println(span.Name(), span.SpanKind())
	}
	// Output:
	// <nil>
	// evalsha client
	// eval client
	// evalsha client
	// eval client
}

// spansOf instruments a server's client and returns the spans of scripts after all
// of them ended.
func spansOf(t *testing.T, server *redistest.Server, use func(ids *allocator.Allocator)) tracetest.SpanStubs {
	t.Helper()
	exporter := tracetest.NewInMemoryExporter()
	client := redis.NewClient(redistest.Options(server))
	t.Cleanup(func() { _ = client.Close() })
	if err := tracing.Instrument(client, trace.NewTracerProvider(trace.WithSyncer(exporter))); err != nil {
		t.Fatal(err)
	}
	ids, err := allocator.New(client, allocator.Options{})
	if err != nil {
		t.Fatal(err)
	}
	use(ids)
	_ = ids.Close(context.WithoutCancel(t.Context())) // fails where the server is down
	return slices.DeleteFunc(exporter.GetSpans(), func(s tracetest.SpanStub) bool { return !strings.HasPrefix(s.Name, "eval") })
}

func TestInstrumentMakesASpanForARefillOnly(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, server *redistest.Server) {
		var ranges int64
		spans := spansOf(t, server, func(ids *allocator.Allocator) {
			for range 10_000 {
				if _, err := ids.Next(t.Context(), "orders"); err != nil {
					t.Fatal(err)
				}
			}
			ranges = ids.Stats().Collections[0].Ranges
		})
		// One for each range, at most two more in flight, one for the return, and two for scripts that were not loaded.
		if n := int64(len(spans)); n < ranges || n > ranges+5 {
			t.Errorf("%d spans for %d ranges", n, ranges)
		}
		for _, span := range spans {
			if span.Parent.IsValid() {
				t.Errorf("a refill is for all who wait, and its span %s is the child of one", span.Name)
			}
			for _, attribute := range span.Attributes {
				if strings.Contains(attribute.Value.String(), "Raven") {
					t.Errorf("the command is told: %s", attribute.Value.String())
				}
			}
		}
	})
}

func TestInstrumentMakesASpanWithAnErrorForAFailedRefill(t *testing.T) {
	t.Parallel()
	server := redistest.StartMini(t)
	server.Hook(func(command string, _ []string) string {
		if strings.HasPrefix(command, "EVAL") {
			return "LOADING Redis is loading the dataset in memory"
		}
		return ""
	})
	spans := spansOf(t, server, func(ids *allocator.Allocator) {
		if id, err := ids.Next(t.Context(), "orders"); err == nil {
			t.Errorf("%s of a server that is loading", id)
		}
	})
	if len(spans) == 0 || spans[0].Status.Code != codes.Error {
		t.Errorf("the spans are %v", spans)
	}
}

func TestInstrumentRefusesAClientWhoseHooksAreNotCalled(t *testing.T) {
	t.Parallel()
	server := redistest.StartMini(t)
	options := redistest.Options(server)
	options.ContextTimeoutEnabled = false
	client := redis.NewClient(options)
	t.Cleanup(func() { _ = client.Close() })
	if err := tracing.Instrument(client, trace.NewTracerProvider()); err == nil {
		t.Error("no error")
	}
}
