package cli

import (
	"crypto/tls"
	"io"
	"net"
	"testing"

	"github.com/hilo-id/hilo/cli/internal/clitest"
	"github.com/hilo-id/hilo/cli/internal/exit"
	"github.com/hilo-id/hilo/scripts/redistest"
)

func TestServerThatClosesConnectionsIsReported(t *testing.T) {
	t.Parallel()
	certificate := newAuthority(t).issue("127.0.0.1")
	for _, test := range []struct {
		name  string
		serve func(client net.Conn)
		want  []string
	}{
		{"for protected mode", func(client net.Conn) {
			_, _ = io.WriteString(client, "-DENIED Redis is running in protected mode because no password is set. In this mode more is said.\r\n")
		}, []string{"refuses connections (DENIED Redis is running in protected mode because no password is set); give it a password"}},
		{"for lack of TLS", func(client net.Conn) {
			_ = tls.Server(client, &tls.Config{Certificates: []tls.Certificate{certificate}}).HandshakeContext(t.Context())
		}, []string{"no Redis answers at ", "closed the connection before any reply; use rediss://"}},
		{"for another reason", func(net.Conn) {}, []string{"closed the connection before any reply; use rediss:// where it requires TLS; else look at its log"}},
	} {
		for _, command := range []string{"next", "inspect"} {
			t.Run(test.name+": "+command, func(t *testing.T) {
				t.Parallel()
				addr := redistest.Listen(t, func(client net.Conn) { test.serve(client); _ = client.Close() })
				clitest.MustFail(t, exit.Unavailable, clitest.Hilo(t, command, "orders", "--redis", "redis://"+addr), test.want...)
			})
		}
	}
}

func TestServerAtItsLimitOfClientsIsReported(t *testing.T) {
	t.Parallel()
	for _, b := range redistest.Binaries(t) {
		t.Run(b.Name, func(t *testing.T) {
			t.Parallel()
			s := redistest.Start(t, b)
			held := s.Client(t)
			limit := func(n string) {
				if err := held.ConfigSet(t.Context(), "maxclients", n).Err(); err != nil {
					t.Fatal(err)
				}
			}
			limit("1")
			defer limit("100")
			const want = "refuses connections (ERR max number of clients reached); raise its maxclients"
			clitest.MustFail(t, exit.Unavailable, clitest.Hilo(t, "next", "orders", "--redis", "redis://"+s.HostPort()), want)
			clitest.MustFail(t, exit.Unavailable, clitest.Hilo(t, "doctor", "--redis", "redis://"+s.HostPort()), want)
		})
	}
}
