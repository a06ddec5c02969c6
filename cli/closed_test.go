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

func TestRealServerThatRefusesConnectionsIsReported(t *testing.T) {
	t.Parallel()
	certificates := newAuthority(t)
	for _, b := range redistest.Binaries(t) {
		for _, test := range []struct {
			name   string
			refuse func(t *testing.T, s *redistest.Server) (addr string)
			want   string
		}{
			{"at its limit of clients", func(t *testing.T, s *redistest.Server) string {
				configure(t, s, "maxclients", "1")
				return s.HostPort()
			}, "refuses connections (ERR max number of clients reached); raise its maxclients"},
			{"in protected mode", func(t *testing.T, s *redistest.Server) string {
				configure(t, s, "bind", "0.0.0.0", "protected-mode", "yes")
				_, port, _ := net.SplitHostPort(s.HostPort())
				return net.JoinHostPort(ownAddress(t), port)
			}, "unning in protected mode because protected mode is enabled and no password is set for the default user); give it a password"},
			{"for lack of TLS", func(t *testing.T, s *redistest.Server) string {
				cert, key := certificates.files(certificates.issue("127.0.0.1"))
				_, port, _ := net.SplitHostPort(s.HostPort())
				configure(t, s, "port", "0", "tls-port", port, "tls-cert-file", cert, "tls-key-file", key, "tls-auth-clients", "no")
				return s.HostPort()
			}, "closed the connection before any reply; use rediss://"},
		} {
			t.Run(b.Name+" "+test.name, func(t *testing.T) {
				t.Parallel()
				to := "redis://" + test.refuse(t, redistest.Start(t, b))
				for _, command := range [][]string{{"next", "orders"}, {"inspect", "orders"}, {"doctor"}} {
					clitest.MustFail(t, exit.Unavailable, clitest.Hilo(t, append(command, "--redis", to)...), test.want)
				}
			})
		}
	}
}

// configure sets parameters of a server, over a connection to its socket that stays open.
func configure(t *testing.T, s *redistest.Server, parameters ...any) {
	t.Helper()
	if err := s.Client(t).Do(t.Context(), append([]any{"config", "set"}, parameters...)...).Err(); err != nil {
		t.Fatal(err)
	}
}

// ownAddress returns an address of this machine that is not a loopback one, for which protected mode makes an exception.
func ownAddress(t *testing.T) string {
	t.Helper()
	all, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	for _, addr := range all {
		if ip, ok := addr.(*net.IPNet); ok && ip.IP.To4() != nil && ip.IP.IsGlobalUnicast() {
			return ip.IP.String()
		}
	}
	redistest.Missing(t, "a network")
	return ""
}
