package cli

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/alicebob/miniredis/v2"
	"github.com/alicebob/miniredis/v2/server"

	"github.com/hilo-id/hilo/cli/internal/clitest"
	"github.com/hilo-id/hilo/cli/internal/exit"
	"github.com/hilo-id/hilo/scripts/redistest"
)

// startTLS starts a server with a certificate for 127.0.0.1, and returns URLs of every kind that lead to it.
func startTLS(t *testing.T, config *tls.Config) (urls map[string]string) {
	t.Helper()
	m := miniredis.NewMiniRedis()
	if err := m.StartTLS(config); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(m.Close)
	m.HSet("{Raven}/ServerPrefixForHilo", "Initialized", "yes") // as hilo init does
	sentinel, err := server.NewServerTLS("127.0.0.1:0", config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(sentinel.Close)
	m.HSet("{Raven}/ServerPrefixForHilo", "Initialized", "2026-11-28T00:00:00Z")
	if err := sentinel.Register("SENTINEL", func(c *server.Peer, _ string, args []string) {
		if args[0] == "get-master-addr-by-name" {
			c.WriteStrings([]string{m.Host(), m.Port()})
			return
		}
		c.WriteLen(0)
	}); err != nil {
		t.Fatal(err)
	}
	return map[string]string{
		"one server": "rediss://" + m.Addr(),
		"sentinels":  "rediss+sentinel://" + sentinel.Addr().String() + "/m?max_retries=-1",
		"a cluster":  "rediss+cluster://" + m.Addr(),
	}
}

func TestTLSCASetsTheAuthority(t *testing.T) {
	t.Parallel()
	right, wrong := newAuthority(t), newAuthority(t)
	urls := startTLS(t, &tls.Config{Certificates: []tls.Certificate{right.issue("127.0.0.1")}})
	for kind, url := range urls {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			clitest.Must(t, "next", "orders", "--redis", url, "--tls-ca", right.file)
			if r := clitest.HiloWith(t, map[string]string{"HILO_TLS_CA": right.file}, "list", "--redis", url); r.Code != exit.Done {
				t.Errorf("by the environment: %+v", r)
			}
			const sentence = "has a certificate that is not trusted"
			clitest.MustFail(t, exit.Unavailable, clitest.Hilo(t, "next", "orders", "--redis", url, "--tls-ca", wrong.file), sentence, "--tls-ca FILE")
			clitest.MustFail(t, exit.Unavailable, clitest.Hilo(t, "list", "--redis", url), sentence)
		})
	}
}

func TestCertificateForOtherNamesIsRefused(t *testing.T) {
	t.Parallel()
	a := newAuthority(t)
	urls := startTLS(t, &tls.Config{Certificates: []tls.Certificate{a.issue("redis.example.com")}})
	for kind, url := range urls {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			clitest.MustFail(t, exit.Unavailable, clitest.Hilo(t, "list", "--redis", url, "--tls-ca", a.file), "has a certificate for other names", "?server_name=NAME")
			mark := "?"
			if strings.Contains(url, "?") {
				mark = "&"
			}
			clitest.Must(t, "list", "--redis", url+mark+"server_name=redis.example.com", "--tls-ca", a.file)
		})
	}
}

func TestSentinelsThatWantALogin(t *testing.T) {
	t.Parallel()
	for _, reply := range []string{"NOAUTH Authentication required.", "WRONGPASS invalid username-password pair or user is disabled."} {
		t.Run(reply, func(t *testing.T) {
			t.Parallel()
			addr := redistest.Listen(t, func(client net.Conn) {
				defer func() { _ = client.Close() }()
				for request := make([]byte, 4096); ; {
					if _, err := client.Read(request); err != nil {
						return
					}
					if _, err := client.Write([]byte("-" + reply + "\r\n")); err != nil {
						return
					}
				}
			})
			r := clitest.Hilo(t, "list", "--redis", "redis+sentinel://ann:x@"+addr+"/main/0", "--timeout", "10s")
			clitest.MustFail(t, exit.Unavailable, r, "the sentinels reject the login", "sentinel_username=USER&sentinel_password=PASSWORD")
		})
	}
}

func TestServerMayRequireACertificate(t *testing.T) {
	t.Parallel()
	a := newAuthority(t)
	clients := x509.NewCertPool()
	clients.AddCert(a.signer)
	urls := startTLS(t, &tls.Config{
		Certificates: []tls.Certificate{a.issue("127.0.0.1")},
		ClientAuth:   tls.RequireAndVerifyClientCert,
		ClientCAs:    clients,
	})
	cert, key := a.files(a.issue("worker"))
	for kind, url := range urls {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			list := []string{"list", "--redis", url, "--tls-ca", a.file}
			clitest.Must(t, append(list, "--tls-cert", cert, "--tls-key", key)...)
			if r := clitest.HiloWith(t, map[string]string{"HILO_TLS_CERT": cert, "HILO_TLS_KEY": key}, list...); r.Code != exit.Done {
				t.Errorf("by the environment: %+v", r)
			}
			clitest.MustFail(t, exit.Unavailable, clitest.Hilo(t, list...), "refuses the connection", "--tls-cert FILE")
		})
	}
}

// A server refuses a client's certificate after the handshake of TLS 1.3, and its alert may be lost with the connection.
func TestServerThatClosesConnectionsMayRequireACertificate(t *testing.T) {
	t.Parallel()
	a := newAuthority(t)
	config := &tls.Config{Certificates: []tls.Certificate{a.issue("127.0.0.1")}}
	addr := redistest.Listen(t, func(client net.Conn) {
		_ = tls.Server(client, config).Handshake()
		_ = client.(*net.TCPConn).SetLinger(0) // Close resets it
		_ = client.Close()
	})
	r := clitest.Hilo(t, "list", "--redis", "rediss://"+addr, "--tls-ca", a.file)
	clitest.MustFail(t, exit.Unavailable, r, "refuses the connection", "--tls-cert FILE")
}

func TestPasswordFileSetsThePassword(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		client := s.Client(t)
		if s.Mini() != nil {
			s.RequireLogin("ann", clitest.Password)
		} else if err := client.ACLSetUser(t.Context(), "ann", "on", ">"+clitest.Password, "~*", "+@all").Err(); err != nil {
			t.Fatal(err)
		}
		at := func(user string) string { return strings.Replace(s.URL(), "//", "//"+user+"@", 1) }
		for _, text := range []string{clitest.Password, clitest.Password + "\n", clitest.Password + "\r\n", "\ufeff" + clitest.Password} {
			clitest.Must(t, "list", "--redis", at("ann"), "--password-file", clitest.WriteFile(t, text))
		}
		file := clitest.WriteFile(t, clitest.Password)
		if r := clitest.HiloWith(t, map[string]string{"HILO_PASSWORD_FILE": file}, "list", "--redis", at("ann:")); r.Code != exit.Done {
			t.Errorf("by the environment: %+v", r)
		}
		clitest.Must(t, "list", "--redis", at("ann:S3cr3t%2Fof%40Ann"), "--password-file", clitest.WriteFile(t, "another")) // the URL's own wins

		const ofURL, ofFile = "check user and password in --redis\n", "check the user in --redis, and the password in --password-file\n"
		for _, refused := range []struct{ user, file, want string }{
			{"ann:another", file, ofURL},
			{"ann", clitest.WriteFile(t, clitest.Password+"\n\n"), ofFile},
			{"bob", file, ofFile},
		} {
			r := clitest.Hilo(t, "list", "--redis", at(refused.user), "--password-file", refused.file, "--log-level", "debug")
			clitest.MustFail(t, exit.Unavailable, r, "rejects the login", refused.want)
			clitest.CheckNoPassword(t, "list", r)
		}
	})
}

// The password of a vault or of a managed service may change, so it is read for each new connection.
func TestPasswordFileIsReadForEachConnection(t *testing.T) {
	t.Parallel()
	redistest.EachReal(t, func(t *testing.T, s *redistest.Server) {
		operator := s.Client(t)
		change := func(password string) {
			t.Helper()
			for _, command := range [][]any{
				{"ACL", "SETUSER", "ann", "reset", "on", ">" + password, "~*", "&*", "+@all"},
				{"CLIENT", "KILL", "USER", "ann"},
			} {
				if err := operator.Do(t.Context(), command...).Err(); err != nil {
					t.Fatal(err)
				}
			}
		}
		change("first")
		file := clitest.WriteFile(t, "first")
		serve := startServe(t, "--redis", strings.Replace(s.URL(), "//", "//ann@", 1), "--password-file", file)
		for i, password := range []string{"first", "second", "third"} {
			if i > 0 {
				change(password)
				if err := os.WriteFile(file, []byte("\ufeff"+password+"\n"), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			clitest.AwaitTrue(t, "an id with the password "+password, func() bool {
				status, _ := sendRequest(t, http.DefaultClient, http.MethodPost, fmt.Sprintf("%s/v1/ids/orders%c", serve.url, 'a'+i))
				return status == http.StatusOK
			})
		}
	})
}

func TestAccessFlagsAreValidated(t *testing.T) {
	t.Parallel()
	a := newAuthority(t)
	cert, key := a.files(a.issue("worker"))
	_, other := a.files(a.issue("worker"))
	nothing, empty, words := t.TempDir()+"/none", clitest.WriteFile(t, ""), clitest.WriteFile(t, "words")
	tests := []struct {
		name string
		args []string
		want string
	}{
		{"an authority that is not there", []string{"--tls-ca", nothing}, "none\": cannot be read (no such file or directory)"},
		{"an authority that is a folder", []string{"--tls-ca", t.TempDir()}, "is a directory"},
		{"an authority that is none", []string{"--tls-ca", words}, "holds no certificate; must be PEM"},
		{"an authority and no TLS", []string{"--tls-ca", a.file}, "--tls-ca is for TLS, and no server of --redis uses it"},
		{"a certificate without a key", []string{"--tls-cert", cert}, "add --tls-key FILE"},
		{"a key without a certificate", []string{"--tls-key", key}, "add --tls-cert FILE"},
		{"a certificate that is not there", []string{"--tls-cert", nothing, "--tls-key", key}, "no such file or directory"},
		{"a certificate that is none", []string{"--tls-cert", words, "--tls-key", key}, "are not a certificate and its key"},
		{"a key of another certificate", []string{"--tls-cert", cert, "--tls-key", other}, "does not match"},
		{"a password that is not there", []string{"--password-file", nothing}, "--password-file names a file that cannot be read (no such file or directory)"},
		{"a password that is none", []string{"--password-file", empty}, "a file without a password in it"},
		{"a password in place of its file", []string{"--password-file", clitest.Password}, "cannot be read"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			r := clitest.Hilo(t, append([]string{"list", "--redis", "redis://127.0.0.1:1"}, test.args...)...)
			clitest.MustFail(t, exit.Usage, r, test.want)
			clitest.CheckNoPassword(t, test.name, r)
		})
	}
}
