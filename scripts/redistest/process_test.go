package redistest

import (
	"net"
	"strconv"
	"strings"
	"testing"
)

func TestServerThatEndsAtOnceIsReportedWithItsOutput(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	p := &process{binary: Binary{Path: script(t, "echo no memory left; exit 1"), Name: "redis-7.0.15"}, dir: dir, tcp: "127.0.0.1:1"}
	if err := p.start(); err == nil || !strings.Contains(err.Error(), "no memory left") {
		t.Errorf("the error is %v, want the server's own words", err)
	}
}

func TestOnFreePortTriesAnotherPortIfOneIsTaken(t *testing.T) {
	t.Parallel()
	for _, b := range Binaries(t) {
		t.Run(b.Name, func(t *testing.T) {
			t.Parallel()
			var taken net.Listener
			t.Cleanup(func() { _ = taken.Close() })
			p := &process{binary: b, dir: t.TempDir()}
			var addrs []string
			err := onFreePort(func(addr string) error {
				addrs = append(addrs, addr)
				if taken == nil {
					var err error
					if taken, err = net.Listen("tcp", addr); err != nil {
						return err
					}
				}
				p.tcp = addr
				return p.start()
			})
			if err != nil {
				t.Fatal(err)
			}
			p.kill()
			if len(addrs) != 2 || addrs[0] == addrs[1] {
				t.Errorf("tried %v, want the taken port and another one", addrs)
			}
		})
	}
}

// No server of another process may start on the port of a killed one.
func TestClaimBlockReturnsDistinctBlocks(t *testing.T) {
	t.Parallel()
	one, err := claimBlock()
	if err != nil {
		t.Fatal(err)
	}
	defer one.claim.Close()
	other, err := claimBlock()
	if err != nil {
		t.Fatal(err)
	}
	defer other.claim.Close()
	if apart := one.first - other.first; apart%blockSize != 0 || apart == 0 {
		t.Errorf("the blocks begin at %d and %d", one.first, other.first)
	}
	if err := onFreePort(func(addr string) error {
		_, port, _ := net.SplitHostPort(addr)
		n, _ := strconv.Atoi(port)
		if own, _ := ownBlock(); n <= own.first || n >= own.first+blockSize || own.first == one.first || own.first == other.first {
			t.Errorf("port %d, of a block from %d on", n, own.first)
		}
		return nil
	}); err != nil {
		t.Error(err)
	}
}
