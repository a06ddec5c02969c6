package cli

import (
	"net"
	"testing"

	"github.com/alicebob/miniredis/v2"
	"github.com/alicebob/miniredis/v2/server"

	"github.com/hilo-id/hilo/cli/internal/clitest"
	"github.com/hilo-id/hilo/cli/internal/exit"
	"github.com/hilo-id/hilo/cli/internal/target"
	"github.com/hilo-id/hilo/scripts/redistest"
)

func TestCommandsByWayOfSentinels(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		watch := startSentinel(t, "mymaster", s)
		url := "redis+sentinel://" + watch + "," + watch + "/mymaster/0"
		if got := clitest.Must(t, "next", "orders", "--count", "2", "--redis", url); got != clitest.Lines(1, 2) {
			t.Errorf("%q", got)
		}
		clitest.Must(t, "seed", "orders", "--max", "10", "--redis", url)
		if got := clitest.Must(t, "next", "orders", "--redis", s.URL()); got != "orders/11\n" {
			t.Errorf("at the master itself: %q", got)
		}
		clitest.MustFail(t, exit.Unavailable, clitest.Hilo(t, "list", "--redis", "redis+sentinel://"+watch+"/other"),
			"there is no Redis other by way of the sentinels "+watch)
	})
}

// startSentinel starts a fake sentinel that watches one master. It answers the commands that a client sends.
func startSentinel(t *testing.T, name string, master *redistest.Server) (addr string) {
	t.Helper()
	url, err := target.Parse(master.URL())
	if err != nil {
		t.Fatal(err)
	}
	host, port, err := net.SplitHostPort(url.Addr)
	if err != nil {
		t.Fatal(err)
	}
	s, err := server.NewServer("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	if err := s.Register("SENTINEL", func(c *server.Peer, _ string, args []string) {
		if len(args) == 2 && args[0] == "get-master-addr-by-name" {
			if args[1] == name {
				c.WriteStrings([]string{host, port})
			} else {
				c.WriteNull()
			}
			return
		}
		c.WriteLen(0)
	}); err != nil {
		t.Fatal(err)
	}
	return s.Addr().String()
}

func TestCommandsInACluster(t *testing.T) {
	t.Parallel()
	s := miniredis.RunT(t)                                      // reports that it serves all slots
	s.HSet("{Raven}/ServerPrefixForHilo", "Initialized", "yes") // as hilo init does
	url := "redis+cluster://" + s.Addr() + "," + s.Addr()
	s.HSet("{Raven}/ServerPrefixForHilo", "Initialized", "2026-11-28T00:00:00Z")
	for _, command := range commandsOnAServer() {
		clitest.Must(t, append(clitest.Words(command), "--redis", url)...)
	}
	if got := clitest.Must(t, "next", "orders", "--redis", url); got != "orders/4\n" {
		t.Errorf("%q", got)
	}
}
