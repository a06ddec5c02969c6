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

// workerEnv makes a worker of a test process: its value is the URL of the server,
// and the only argument is how many identifiers it takes.
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

// work is what hilo.py does, by this module's own client: it writes each
// identifier at once, so that nothing that counts is lost with the process.
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
	// Small ranges have the workers take turns.
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
