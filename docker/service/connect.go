package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/redis/go-redis/v9"
	"go.uber.org/zap"

	"github.com/hilo-id/hilo/allocator"
	"github.com/hilo-id/hilo/allocator/redisurl"
)

// connect returns an allocator of the servers in text, and what closes their clients. text is a URL as allocator.Connect takes it, or
// NAME=URL of several masters with white space between them, in order of preference. The master that HILO_PREFER names comes first.
func connect(text string, opts allocator.Options) (ids *allocator.Allocator, disconnect func(), err error) {
	var servers []allocator.Server
	disconnect = func() {
		for _, s := range servers {
			_ = s.Client.Close()
		}
	}
	for field := range strings.FieldsSeq(text) {
		name, url, named := strings.Cut(field, "=")
		if !named || strings.Contains(name, ":") { // the = of a URL's option
			name, url = "", field
		}
		client, err := newClient(url)
		if err != nil {
			disconnect()
			return nil, nil, err
		}
		at := len(servers)
		if name != "" && name == os.Getenv("HILO_PREFER") {
			at = 0
		}
		servers = slices.Insert(servers, at, allocator.Server{Name: name, Client: client})
	}
	if len(servers) == 1 {
		ids, err = allocator.New(servers[0].Client, opts)
	} else {
		ids, err = allocator.NewMulti(servers, opts)
	}
	if err != nil {
		disconnect()
	}
	return ids, disconnect, err
}

// redisLog takes the lines of go-redis. Their errors reach a caller or the log of the allocator, too.
type redisLog struct{ *zap.SugaredLogger }

// Printf implements the logger of go-redis.
func (l redisLog) Printf(_ context.Context, format string, v ...any) {
	l.Debugf("go-redis: "+format, v...)
}

// newClient is allocator.Connect with the password and the certificates that HILO_PASSWORD_FILE and HILO_TLS_CA, _CERT and _KEY name.
func newClient(url string) (redis.UniversalClient, error) {
	passwordFile, secure := os.Getenv("HILO_PASSWORD_FILE"), os.Getenv("HILO_TLS_CA") != "" || os.Getenv("HILO_TLS_CERT") != ""
	if passwordFile == "" && !secure {
		return allocator.Connect(url)
	}
	opts, err := redisurl.Parse(url)
	if err != nil {
		return nil, err
	}
	if passwordFile != "" {
		password, err := readPassword(passwordFile)
		if err != nil {
			return nil, err
		}
		if opts.SentinelUsername != "" {
			opts.SentinelPassword = password
		}
		user := opts.Username
		opts.CredentialsProviderContext = func(context.Context) (string, string, error) { // of each connection, so that it may change
			password, err := readPassword(passwordFile)
			return user, password, err
		}
	}
	if secure {
		if opts.TLSConfig == nil {
			return nil, errors.New("HILO_TLS_CA and HILO_TLS_CERT are for a server with TLS: use rediss://")
		}
		if err := useCertificates(opts.TLSConfig); err != nil {
			return nil, err
		}
	}
	return redis.NewUniversalClient(allocator.TuneUniversal(opts)), nil
}

func readPassword(file string) (string, error) {
	text, err := os.ReadFile(file)
	return strings.TrimSpace(string(text)), err
}

// useCertificates makes a client trust the authorities in a file, and show its own certificate, if there are such files.
func useCertificates(config *tls.Config) error {
	if file := os.Getenv("HILO_TLS_CA"); file != "" {
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM(text) {
			return fmt.Errorf("HILO_TLS_CA: %s has no certificate", file)
		}
	}
	if file := os.Getenv("HILO_TLS_CERT"); file != "" {
		pair, err := tls.LoadX509KeyPair(file, os.Getenv("HILO_TLS_KEY"))
		if err != nil {
			return err
		}
		config.Certificates = []tls.Certificate{pair}
	}
	return nil
}
