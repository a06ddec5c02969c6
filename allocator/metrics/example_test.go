package metrics_test

import (
	"context"
	"fmt"
	"strings"

	"github.com/alicebob/miniredis/v2"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/redis/go-redis/v9"

	"github.com/hilo-id/hilo/allocator"
	"github.com/hilo-id/hilo/allocator/metrics"
)

func Example() {
	server, err := miniredis.Run() // or any Redis
	if err != nil {
		panic(err)
	}
	defer server.Close()
	server.HSet("{Raven}/ServerPrefixForHilo", "Initialized", "yes") // hilo init
	client := redis.NewClient(allocator.Tune(&redis.Options{Addr: server.Addr()}))
	defer client.Close()
	ctx := context.Background()
	ids, err := allocator.New(client, allocator.Options{})
	if err != nil {
		panic(err)
	}
	defer ids.Close(ctx)

	collector, err := metrics.New(metrics.Options{}, ids)
	if err != nil {
		panic(err)
	}
	registry := prometheus.NewRegistry()
	registry.MustRegister(collector) // and serve it with promhttp.HandlerFor

	for range 3 {
		if _, err := ids.Next(ctx, "orders"); err != nil {
			panic(err)
		}
	}
	families, err := registry.Gather()
	if err != nil {
		panic(err)
	}
	for _, family := range families {
		if strings.HasPrefix(family.GetName(), "hilo_ids_issued") {
			m := family.GetMetric()[0]
			fmt.Println(family.GetName(), m.GetLabel()[0].GetValue(), m.GetCounter().GetValue())
		}
	}
	// Output: hilo_ids_issued_total orders 3
}
