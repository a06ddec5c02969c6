// Command hilo issues identifiers from Redis, and looks after their counters.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/hilo-id/hilo/cli"
	"github.com/hilo-id/hilo/cli/internal/target"
)

func main() {
	// A closed pipe is to be an error of the write, which has the number of ids that it may have cost, not a silent death.
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
		SetRedisLog: target.SetLog,
	}))
}
