package cli

import (
	"crypto/tls"
	"crypto/x509"
	"strings"
	"testing"

	"github.com/alicebob/miniredis/v2"
	"github.com/alicebob/miniredis/v2/server"

	"github.com/hilo-id/hilo/scripts/redistest"
)

// startTLS starts a server that shows a certificate for 127.0.0.1, and URLs of every kind that lead to it.
func startTLS(t *testing.T, config *tls.Config) (urls map[string]string) {
	t.Helper()
	m := miniredis.NewMiniRedis()
	if err := m.StartTLS(config); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(m.Close)
	sentinel, err := server.NewServerTLS("127.0.0.1:0", config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(sentinel.Close)
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

func TestTheAuthorityIsThatOfTheFlag(t *testing.T) {
	t.Parallel()
	right, wrong := newAuthority(t), newAuthority(t)
	urls := startTLS(t, &tls.Config{Certificates: []tls.Certificate{right.issue("127.0.0.1")}})
	for kind, url := range urls {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			must(t, "next", "orders", "--redis", url, "--tls-ca", right.file)
			if r := hiloWith(t, map[string]string{"HILO_TLS_CA": right.file}, "list", "--redis", url); r.code != exitDone {
				t.Errorf("by the environment: %+v", r)
			}
			const sentence = "shows a certificate that is not trusted"
			mustFail(t, exitUnavailable, hilo(t, "next", "orders", "--redis", url, "--tls-ca", wrong.file), sentence, "--tls-ca FILE")
			mustFail(t, exitUnavailable, hilo(t, "list", "--redis", url), sentence)
		})
	}
}

func TestACertificateForOtherNamesIsRefused(t *testing.T) {
	t.Parallel()
	a := newAuthority(t)
	urls := startTLS(t, &tls.Config{Certificates: []tls.Certificate{a.issue("redis.example.com")}})
	for kind, url := range urls {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			mustFail(t, exitUnavailable, hilo(t, "list", "--redis", url, "--tls-ca", a.file), "a certificate for other names")
		})
	}
}

func TestAServerCanAskForACertificate(t *testing.T) {
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
			must(t, append(list, "--tls-cert", cert, "--tls-key", key)...)
			if r := hiloWith(t, map[string]string{"HILO_TLS_CERT": cert, "HILO_TLS_KEY": key}, list...); r.code != exitDone {
				t.Errorf("by the environment: %+v", r)
			}
			mustFail(t, exitUnavailable, hilo(t, list...), "refuses the connection", "--tls-cert FILE")
		})
	}
}

func TestThePasswordOfAFile(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		client := s.Client(t)
		if s.Mini() != nil {
			s.RequireLogin("ann", password)
		} else if err := client.ACLSetUser(t.Context(), "ann", "on", ">"+password, "~*", "+@all").Err(); err != nil {
			t.Fatal(err)
		}
		at := func(user string) string { return strings.Replace(s.URL(), "//", "//"+user+"@", 1) }
		for _, text := range []string{password, password + "\n", password + "\r\n"} {
			must(t, "list", "--redis", at("ann"), "--password-file", writeFile(t, text))
		}
		file := writeFile(t, password)
		if r := hiloWith(t, map[string]string{"HILO_PASSWORD_FILE": file}, "list", "--redis", at("ann:")); r.code != exitDone {
			t.Errorf("by the environment: %+v", r)
		}
		must(t, "list", "--redis", at("ann:S3cr3t%2Fof%40Ann"), "--password-file", writeFile(t, "another")) // the URL's own wins

		refused := []result{
			hilo(t, "list", "--redis", at("ann:another"), "--password-file", file),
			hilo(t, "list", "--redis", at("ann"), "--password-file", writeFile(t, password+"\n\n")),
			hilo(t, "list", "--redis", at("bob"), "--password-file", file, "--log-level", "debug"),
		}
		for _, r := range refused {
			mustFail(t, exitUnavailable, r, "refuses the login")
			checkNoPassword(t, "list", r)
		}
	})
}

func TestThePasswordGoesToWhoeverLacksOne(t *testing.T) {
	t.Parallel()
	const given = "given"
	tests := []struct{ name, url, server, sentinel string }{
		{"a server", "redis://h", given, ""},
		{"a server with a user", "redis://ann@h", given, ""},
		{"a server with a password", "redis://ann:own@h", "own", ""},
		{"a socket", "unix://ann@/run/redis.sock", given, ""},
		{"a cluster", "redis+cluster://ann@h1,h2", given, ""},
		{"a cluster with a password", "redis+cluster://:own@h1,h2", "own", ""},
		{"sentinels", "redis+sentinel://ann@h/m", given, ""},
		{"sentinels with a user", "redis+sentinel://ann@h/m?sentinel_username=watch", given, given},
		{"sentinels with a password", "redis+sentinel://ann:own@h/m?sentinel_username=watch&sentinel_password=theirs", "own", "theirs"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			got, err := parseTarget(test.url)
			if err != nil {
				t.Fatal(err)
			}
			access{password: given}.give(&got)
			server, sentinel := passwords(got)
			if server != test.server || sentinel != test.sentinel {
				t.Errorf("server %q, sentinel %q", server, sentinel)
			}
		})
	}
}

func passwords(t target) (server, sentinel string) {
	switch {
	case t.single != nil:
		return t.single.Password, ""
	case t.cluster != nil:
		return t.cluster.Password, ""
	}
	return t.failover.Password, t.failover.SentinelPassword
}

func TestMistakesInTheAccessFlags(t *testing.T) {
	t.Parallel()
	a := newAuthority(t)
	cert, key := a.files(a.issue("worker"))
	_, other := a.files(a.issue("worker"))
	nothing, empty, words := t.TempDir()+"/none", writeFile(t, ""), writeFile(t, "words")
	tests := []struct {
		name string
		args []string
		want string
	}{
		{"an authority that is not there", []string{"--tls-ca", nothing}, "none\": cannot be read (no such file or directory)"},
		{"an authority that is a folder", []string{"--tls-ca", t.TempDir()}, "is a directory"},
		{"an authority that is none", []string{"--tls-ca", words}, "holds no certificate; must be PEM"},
		{"an authority and no TLS", []string{"--tls-ca", a.file}, "--tls-ca is for TLS, and no server of --redis is asked for it"},
		{"a certificate without a key", []string{"--tls-cert", cert}, "add --tls-key FILE"},
		{"a key without a certificate", []string{"--tls-key", key}, "add --tls-cert FILE"},
		{"a certificate that is not there", []string{"--tls-cert", nothing, "--tls-key", key}, "no such file or directory"},
		{"a certificate that is none", []string{"--tls-cert", words, "--tls-key", key}, "are no certificate and its key"},
		{"a key of another certificate", []string{"--tls-cert", cert, "--tls-key", other}, "does not match"},
		{"a password that is not there", []string{"--password-file", nothing}, "--password-file names a file that cannot be read (no such file or directory)"},
		{"a password that is none", []string{"--password-file", empty}, "a file without a password in it"},
		{"a password in place of its file", []string{"--password-file", password}, "cannot be read"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			r := hilo(t, append([]string{"list", "--redis", "redis://127.0.0.1:1"}, test.args...)...)
			mustFail(t, exitUsage, r, test.want)
			checkNoPassword(t, test.name, r)
		})
	}
}
