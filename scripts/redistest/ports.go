package redistest

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"
	"sync"
	"sync/atomic"
)

// Ports are below the range that systems use for outgoing connections. They are allocated in turn, from a block that belongs to
// this process alone. The port of a killed server must still be free when the server is restarted on it, and no server of another
// process may use it until then.
const (
	firstPort    = 20000
	blockSize    = 500
	blockCount   = 24
	portAttempts = 100
)

var (
	errPortTaken = errors.New("the port is taken")

	ownBlock   = sync.OnceValues(claimBlock)
	portsDealt atomic.Int64
)

// block is a range of ports of one process. The process listens on the first of them, which keeps other processes off until it
// ends.
type block struct {
	first int
	claim net.Listener
}

func claimBlock() (block, error) {
	for _, n := range rand.Perm(blockCount) {
		first := firstPort + n*blockSize
		if claim, err := net.Listen("tcp", local(first)); err == nil {
			return block{first, claim}, nil
		}
	}
	return block{}, fmt.Errorf("no block of ports is free: somebody listens on each %dth from %d on", blockSize, firstPort)
}

func local(port int) string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(port)) }

// onFreePort calls start with a TCP address that was free a moment ago, and with another one as long as another process was
// faster (errPortTaken).
func onFreePort(start func(addr string) error) error {
	own, err := ownBlock()
	if err != nil {
		return err
	}
	for range portAttempts {
		addr := local(own.first + 1 + int(portsDealt.Add(1))%(blockSize-1))
		if !isFree(addr) {
			continue
		}
		if err := start(addr); !errors.Is(err, errPortTaken) {
			return err
		}
	}
	return fmt.Errorf("no free port in %d attempts from %d on", portAttempts, own.first)
}

func isFree(addr string) bool {
	listener, err := net.Listen("tcp", addr)
	if err != nil {
		return false
	}
	return listener.Close() == nil
}
