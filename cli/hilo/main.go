// Command hilo gives out identifiers from a Redis, and looks after the counters they come from.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/redis/go-redis/v9"

	"github.com/hilo-id/hilo/cli"
)

func main() {
	// A closed pipe is to be an error of the write, which says how many ids it may have cost, not a silent death.
	signal.Ignore(syscall.SIGPIPE)
	ends := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) { // as nohup has it
		ends = append(ends, syscall.SIGHUP)
	}
	ctx, stop := signal.NotifyContext(context.Background(), ends...)
	context.AfterFunc(ctx, stop) // a second signal kills

	os.Exit(cli.Run(ctx, os.Args, cli.Env{
		Stdin:       os.Stdin,
		Stdout:      os.Stdout,
		Stderr:      os.Stderr,
		LookupEnv:   os.LookupEnv,
		SetRedisLog: func(log cli.RedisLog) { redis.SetLogger(log) },
	}))
}
