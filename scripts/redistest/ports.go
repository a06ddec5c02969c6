package redistest

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"
	"sync/atomic"
)

const (
	firstPort    = 20000
	portCount    = 12000
	portAttempts = 100
)

var errPortTaken = errors.New("the port is taken")

// Ports are dealt out in turn, from a place of this process's own, and from below the range that systems take for
// outgoing connections: a killed server's port must still be free when the server is restarted on it.
var (
	portOffset = rand.Int64N(portCount)
	portsDealt atomic.Int64
)

// onFreePort calls start with a TCP address that was free a moment ago, again with another one while start finds that
// somebody else was faster (errPortTaken).
func onFreePort(start func(addr string) error) error {
	for range portAttempts {
		port := firstPort + (portOffset+portsDealt.Add(1))%portCount
		addr := net.JoinHostPort("127.0.0.1", strconv.FormatInt(port, 10))
		if !isFree(addr) {
			continue
		}
		if err := start(addr); !errors.Is(err, errPortTaken) {
			return err
		}
	}
	return fmt.Errorf("no free port in %d attempts from %d to %d", portAttempts, firstPort, firstPort+portCount-1)
}

func isFree(addr string) bool {
	listener, err := net.Listen("tcp", addr)
	if err != nil {
		return false
	}
	return listener.Close() == nil
}
