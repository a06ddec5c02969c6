package fleet

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"syscall"
	"testing"

	"github.com/hilo-id/hilo/allocator/internal/dial"
)

func TestSendAgainRepeatsARequestWhoseConnectionEnded(t *testing.T) {
	t.Parallel()
	of := func(op string, err error) error {
		return &net.OpError{Op: op, Net: "tcp", Err: os.NewSyscallError(op, err)}
	}
	for _, test := range []struct {
		name string
		errs []error
		sent int
	}{
		{"EOF", []error{io.EOF}, 2},
		{"EOF within a record of TLS", []error{io.ErrUnexpectedEOF}, 2},
		{"a reset", []error{of("read", syscall.ECONNRESET)}, 2},
		{"a broken pipe", []error{of("write", syscall.EPIPE)}, 2},
		{"a reset on Windows", []error{of("wsarecv", syscall.Errno(10054))}, 2},
		{"an abort on Windows", []error{of("wsasend", syscall.Errno(10053))}, 2},
		{"two in a row", []error{io.EOF, io.EOF}, 2},
		{"connections that are not used again", []error{dial.ErrSuspect, dial.ErrSuspect, io.EOF, dial.ErrSuspect}, 5},
		{"a reset of a new connection", []error{of("dial", syscall.ECONNRESET)}, 1},
		{"a time-out", []error{context.DeadlineExceeded}, 1},
		{"an error reply", []error{errors.New("ERR no")}, 1},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			sent := 0
			_, err := sendAgain(t.Context(), func() (int, error) {
				if sent++; sent <= len(test.errs) {
					return 0, test.errs[sent-1]
				}
				return 1, nil
			})
			if sent != test.sent || (err == nil) != (sent > len(test.errs)) {
				t.Errorf("got %d requests and %v, want %d", sent, err, test.sent)
			}
		})
	}
}
