package peerbench_test

import (
	"fmt"
	"sync"
	"testing"

	"github.com/hilo-id/hilo/allocator"
	"github.com/hilo-id/hilo/scripts/redistest"
)

// All counters of a namespace are in one slot, and so on one primary. Several namespaces spread over the primaries of a cluster,
// and their scripts do too.
func TestNamespacesSpreadOverThePrimariesOfACluster(t *testing.T) {
	t.Parallel()
	for _, binary := range redistest.Binaries(t) {
		t.Run(binary.Name, func(t *testing.T) {
			t.Parallel()
			cluster := redistest.StartCluster(t, binary, 3, 0)
			client := redistest.NewClusterClient(t, cluster)
			const namespaces, each = 12, 20
			var all sync.WaitGroup
			for i := range namespaces {
				namespace := fmt.Sprintf("shop%d", i)
				initialize(t.Context(), t, client, namespace)
				ids, err := allocator.New(client, allocator.Options{Namespace: namespace, MinCapacity: 1, MaxCapacity: 1})
				if err != nil {
					t.Fatal(err)
				}
				all.Go(func() {
					for range each {
						if _, err := ids.Next(t.Context(), "orders"); err != nil {
							t.Error(err)
						}
					}
					if err := ids.Close(t.Context()); err != nil {
						t.Error(err)
					}
				})
			}
			all.Wait()

			var ran []int64
			var total int64
			for _, primary := range cluster.Nodes {
				ran = append(ran, commandStats(t.Context(), t, redistest.NewClient(t, primary))["evalsha"].calls)
				total += ran[len(ran)-1]
			}
			t.Logf("the primaries ran %d scripts", ran)
			for i, n := range ran {
				if n == 0 || n > total*2/3 {
					t.Errorf("primary %d ran %d of %d scripts: they are to be spread over all three", i+1, n, total)
				}
			}
			if total < namespaces*each {
				t.Errorf("%d scripts in all, for %d identifiers of ranges of 1", total, namespaces*each)
			}
		})
	}
}
