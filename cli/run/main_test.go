package run_test

import (
	"context"
	"os"
	"os/signal"
	"syscall"
	"testing"

	"github.com/hilo-id/hilo/cli"
	"github.com/hilo-id/hilo/cli/internal/base"
	"github.com/hilo-id/hilo/cli/internal/clitest"
)

// asProgram is an environment variable that makes the test binary run hilo, for tests that send it signals.
const asProgram = "HILO_TEST_AS_PROGRAM"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
		context.AfterFunc(ctx, stop)
		os.Exit(cli.Run(ctx, os.Args, base.Env{Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr}))
	}
	clitest.Main(m, cli.Run)
}
