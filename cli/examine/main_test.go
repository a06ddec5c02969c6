package examine_test

import (
	"testing"

	"github.com/hilo-id/hilo/cli"
	"github.com/hilo-id/hilo/cli/internal/clitest"
)

func TestMain(m *testing.M) { clitest.Main(m, cli.Run) }
