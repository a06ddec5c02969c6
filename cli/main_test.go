package cli

import (
	"context"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/hilo-id/hilo/cli/internal/clitest"
)

func TestMain(m *testing.M) {
	if filepath.Base(os.Args[0]) == "hilo" { // a test sends signals to it, or its shell completes a command line
		ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
		context.AfterFunc(ctx, stop)
		os.Exit(Run(ctx, os.Args, Env{Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr}))
	}
	clitest.Main(m, Run)
}
