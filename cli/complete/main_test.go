package complete_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/hilo-id/hilo/cli"
	"github.com/hilo-id/hilo/cli/internal/clitest"
)

func TestMain(m *testing.M) {
	if filepath.Base(os.Args[0]) == "hilo" { // a shell of the tests asks
		os.Exit(cli.Run(context.Background(), os.Args, cli.Env{Stdout: os.Stdout, Stderr: os.Stderr}))
	}
	clitest.Main(m, cli.Run)
}
