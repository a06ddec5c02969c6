package cli

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/hilo-id/hilo/cli/internal/clitest"
)

func TestMain(m *testing.M) {
	if filepath.Base(os.Args[0]) == "hilo" { // a shell of the tests completes a command line
		os.Exit(Run(context.Background(), os.Args, Env{Stdout: os.Stdout, Stderr: os.Stderr}))
	}
	clitest.Main(m, Run)
}
