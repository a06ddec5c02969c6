package dial

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"syscall"
	"time"
)

// ClosedError is the error of a connection that the other side closed before it served a request.
type ClosedError struct {
	reply string
	err   error
}

func (e *ClosedError) Error() string {
	if e.reply == "" {
		return fmt.Sprintf("the connection was closed before any reply, as by a server that requires TLS or is being stopped (%v)", e.err)
	}
	return fmt.Sprintf("the server replied %q and closed the connection (%v)", e.reply, e.err)
}

// Unwrap returns a list, because go-redis takes away what has one error below it when a new connection fails.
func (e *ClosedError) Unwrap() []error { return []error{e.err} }

// Reply returns the error reply that came before the end, such as "ERR max number of clients reached", or "" if none came.
func (e *ClosedError) Reply() string { return e.reply }

// first is the first reply of a connection. A server that refuses one sends an error and closes it. go-redis takes that error for
// an answer to HELLO, or does not read it, and then reports only that the connection ended.
type first struct {
	served bool
	reply  string // all that came, if it is an error
}

// add records what was read.
func (f *first) add(b []byte) {
	if f.served || f.reply != "" && b[0] == '-' {
		return
	}
	const tlsAlert = 21 // from a server that requires TLS
	if f.served = b[0] != '-' && b[0] != tlsAlert; f.served || b[0] == tlsAlert {
		f.reply = ""
		return
	}
	line, _, _ := bytes.Cut(b[1:], []byte("\r\n"))
	f.reply = string(line)
}

// explain returns err, and what is known of the reason if the other side closed the connection before it served a request.
func (c *conn) explain(err error) error {
	if !ClosedByPeer(err) {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.first.served {
		return err
	}
	if c.first.reply == "" && !errors.Is(err, io.EOF) { // a write fails although a reply has come
		reply := make([]byte, 4096)
		_ = c.SetReadDeadline(time.Now().Add(50 * time.Millisecond))
		n, unread := c.Conn.Read(reply)
		if n > 0 {
			c.first.add(reply[:n])
		}
		if alert, ok := errors.AsType[*net.OpError](unread); ok && alert.Op == "remote error" { // of TLS, with its reason
			return unread
		}
	}
	return &ClosedError{c.first.reply, err}
}

// ends are the errors of connections that the other side closed. The last two are those of Windows, where package syscall gives
// numbers of its own to the names above.
var ends = []error{
	io.EOF, io.ErrUnexpectedEOF, syscall.EPIPE, syscall.ECONNRESET, syscall.ECONNABORTED,
	syscall.Errno(10054), syscall.Errno(10053), // WSAECONNRESET, WSAECONNABORTED
}

// ClosedByPeer reports whether the other side closed the connection.
func ClosedByPeer(err error) bool {
	return slices.ContainsFunc(ends, func(end error) bool { return errors.Is(err, end) })
}
