package protocol

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/hilo-id/hilo/allocator"
	"github.com/hilo-id/hilo/scripts/redistest"
)

// workerEnv makes a test process a worker. Its value is the URL of the server, and the only argument is how many identifiers to
// take.
const workerEnv = "HILO_PROTOCOL_WORKER"

func TestMain(m *testing.M) {
	if url := os.Getenv(workerEnv); url != "" {
		if err := work(url, os.Args[1]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	redistest.Main(m)
}

// work takes identifiers as hilo.py does, with this module's own client. It writes each identifier at once, so that no record is
// lost with the process.
func work(url, text string) error {
	count, err := strconv.Atoi(text)
	if err != nil {
		return err
	}
	opts, err := redis.ParseURL(url)
	if err != nil {
		return err
	}
	client := redis.NewClient(opts)
	defer client.Close()
	// Small ranges make the workers alternate.
	ids, err := allocator.New(client, allocator.Options{MaxCapacity: 256})
	if err != nil {
		return err
	}
	ctx := context.Background()
	for range count {
		id, err := ids.Next(ctx, "orders")
		if err != nil {
			return err
		}
		if _, err := os.Stdout.WriteString(id + "\n"); err != nil {
			return err
		}
	}
	return ids.Close(ctx)
}
