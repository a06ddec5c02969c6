package show

import (
	"context"
	"errors"
	"fmt"
	"net"
	"syscall"

	"github.com/urfave/cli/v2"

	"github.com/hilo-id/hilo/cli/internal/base"
	"github.com/hilo-id/hilo/cli/internal/target"
)

// dev runs an in-process server until ctx ends.
type dev struct {
	*base.Session
	Addr string
}

type started struct {
	URL string `json:"url"`
}

// DevCommand returns the command hilo dev.
func DevCommand(env base.Env) *cli.Command {
	return &cli.Command{
		Name:      "dev",
		Usage:     "run a small in-process Redis server",
		UsageText: "hilo dev [--addr HOST:PORT]",
		Description: base.Describe(`
Runs a Redis stand-in (miniredis) in this process, for trying hilo out without
installing Redis. It is new, so it needs no hilo init. It keeps all data in memory,
requires no password, and ends with Ctrl-C.`,
			[]string{"hilo dev", "hilo dev --addr 127.0.0.1:0"},
			"1 cannot listen at the address"),
		Flags: []cli.Flag{
			&cli.GenericFlag{Name: "addr", Usage: "listen at `HOST:PORT`; port 0 picks a free one", Value: base.Address("127.0.0.1:6379")},
		},
		Action: base.Action(env, func(r *base.Reader) base.Runner {
			r.Arguments()
			return dev{r.SessionWithoutRedis(), r.String("addr")}
		}),
	}
}

// Run serves until ctx ends, and then returns nil.
func (d dev) Run(ctx context.Context) error {
	server := target.NewEmbedded()
	err := server.StartAddr(d.Addr)
	if errors.Is(err, syscall.EADDRINUSE) {
		return fmt.Errorf("%s is in use already; choose another with --addr, or a free one with --addr 127.0.0.1:0", d.Addr)
	}
	if err != nil {
		return fmt.Errorf("cannot listen at %s (%w); choose another address with --addr", d.Addr, err)
	}
	defer server.Close()
	server.Initialize(d.Namespace)

	host := server.Host()
	if ip := net.ParseIP(host); ip != nil && ip.IsUnspecified() {
		host = "127.0.0.1" // clients cannot connect to an unspecified address
	}
	url := fmt.Sprintf("redis://%s/0", net.JoinHostPort(host, server.Port()))
	err = d.Show(started{url}, func() error {
		return d.Printf("%s\ntry: hilo next orders --count 3 --redis %[1]s\nCtrl-C stops it and discards its data.\n", url)
	})
	if err != nil {
		return err
	}
	<-ctx.Done()
	return nil
}
