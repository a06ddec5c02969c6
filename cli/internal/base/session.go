// Package base is what all commands stand on: the environment that they are given, the session that the global flags make of
// it, the order of arguments, help, and how a session reaches servers and writes results. It may import target, exit and
// term beside it, and the library; never a command.
package base

import (
	"context"
	"io"
	"strings"
	"time"

	"github.com/urfave/cli/v3"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"github.com/hilo-id/hilo/cli/internal/exit"
	"github.com/hilo-id/hilo/cli/internal/target"
	"github.com/hilo-id/hilo/prefix"
)

// The global flags. Each has an environment variable, read by Reader.Text and not by urfave/cli, which would show its
// value as the flag's default in the help and quote it in errors.
const (
	FlagRedis     = "redis"
	FlagNamespace = "namespace"
	flagSeparator = "separator"
	FlagOutput    = "output"
	FlagLogLevel  = "log-level"
	flagTimeout   = "timeout"
)

// What the global flags are where nobody says otherwise.
const (
	DefaultRedis     = "redis://127.0.0.1:6379/0"
	defaultNamespace = "Raven"
	defaultTimeout   = "5s"
)

// GlobalFlags are new ones, which stand anywhere on a command line.
func GlobalFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringSliceFlag{
			Name:        FlagRedis,
			Usage:       "`URL` of the server, see below; $HILO_REDIS_URL",
			DefaultText: DefaultRedis,
		},
		newGlobal(FlagNamespace, "`NAME` that all keys stand under, as {NAME}/…", defaultNamespace),
		newGlobal(flagSeparator, "the `CHARACTER` between collection and number", prefix.DefaultSeparator),
		newGlobal(FlagOutput, "`FORMAT` of results: text or json", "text"),
		newGlobal(FlagLogLevel, "`LEVEL` of messages on stderr: debug, info, warn or error", "warn"),
		newGlobal(flagTimeout, "`DURATION` that the server may take for one operation", defaultTimeout),
		newGlobal(flagTLSCA, "PEM `FILE` of the authorities that rediss:// trusts", ""),
		newGlobal(flagTLSCert, "PEM `FILE` of the certificate to show to rediss://", ""),
		newGlobal(flagTLSKey, "PEM `FILE` of that certificate's key", ""),
		newGlobal(flagPasswordFile, "`FILE` of the password for URLs without one", ""),
	}
}

func newGlobal(name, usage, standard string) cli.Flag {
	return &cli.StringFlag{Name: name, Usage: usage + "; $" + Variable(name), Value: standard}
}

// Variable is the environment variable of a global flag, or one of ServerFlags.
func Variable(flag string) string {
	if flag == FlagRedis {
		return "HILO_REDIS_URL"
	}
	return "HILO_" + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
}

// Session are the global flags, valid. Who changes it for a part of a command copies it first. Commands embed it, and each
// method of it is compiled once more for each of them: what reaches servers, and is long, are functions.
type Session struct {
	Env
	Namespace string
	Separator string
	JSON      bool
	Timeout   time.Duration
	Log       *zap.Logger
}

// Session reads what every command needs.
func (r *Reader) Session() *Session {
	g := &Session{Env: r.Env}
	var source string
	g.Namespace, source = r.Text(FlagNamespace)
	r.Fail(exit.Invalid(prefix.ValidateNamespace(g.Namespace), "choose another with "+source))
	g.Separator, source = r.Text(flagSeparator)
	r.Fail(exit.Invalid(prefix.ValidateSeparator(g.Separator), "choose another with "+source+", such as / or :"))
	g.JSON = r.Choice(FlagOutput, "text or json", "text", "json") == "json"
	g.Timeout = r.Period(flagTimeout, 0)
	level, _ := zapcore.ParseLevel(r.Choice(FlagLogLevel, "debug, info, warn or error", "debug", "info", "warn", "error"))
	if r.Err == nil {
		g.LogTo(NewLogger(g.Stderr, level))
	}
	return g
}

// Serverless is the session of a command that works on no server, and refuses one: to name a server and see nothing
// happen there would be worse.
func (r *Reader) Serverless() *Session {
	if r.IsSet(FlagRedis) {
		r.Failf("%s works on no server of yours: leave out --redis", r.FullName())
	}
	return r.Session()
}

// Target is the server of a command that works on one.
func (r *Reader) Target() target.Target {
	targets := r.Targets()
	if len(targets) > 1 {
		r.Failf("%s works on one server and %d are named: name one with --redis URL", r.FullName(), len(targets))
	}
	if r.Err != nil {
		return target.Target{}
	}
	return targets[0]
}

// Targets are all servers that --redis names, or $HILO_REDIS_URL, where white space separates several.
func (r *Reader) Targets() []target.Target {
	urls, source := r.StringSlice(FlagRedis), Dashed(FlagRedis)
	if len(urls) == 0 {
		urls = []string{DefaultRedis}
		if text, ok := r.Env.Lookup(Variable(FlagRedis)); ok && strings.TrimSpace(text) != "" {
			urls, source = strings.Fields(text), Variable(FlagRedis)
		}
	}
	var targets []target.Target
	names := make(map[string]bool)
	for _, url := range urls {
		t, err := target.Parse(url)
		switch {
		case err != nil:
			r.Failf("%s %s", source, err)
		case len(urls) > 1 && t.Name == "":
			r.Failf("%s names %d servers: each needs a name of its own, as in north=redis://…", source, len(urls))
		case names[t.Name]:
			r.Failf("%s names two servers %q: each needs a name of its own", source, t.Name)
		}
		if r.Err != nil {
			return nil
		}
		names[t.Name] = true
		targets = append(targets, t)
	}
	access, secure := r.Access(), false
	for i := range targets {
		secure = access.Give(&targets[i]) || secure
	}
	if !secure && r.IsSet(flagTLSCA) {
		r.Failf("%s is for TLS, and no server of %s is asked for it: write rediss://, with two s", Dashed(flagTLSCA), source)
	}
	return targets
}

// Env is what the commands know of the process they run in.
type Env struct {
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	// LookupEnv reads an environment variable; nil: there are none.
	LookupEnv func(name string) (string, bool)
	// SetRedisLog hands go-redis its logger, which it keeps for the whole process; nil: it is left alone.
	SetRedisLog func(RedisLog)
}

// RedisLog is what go-redis writes its own messages to.
type RedisLog interface {
	Printf(ctx context.Context, format string, v ...any)
}

// Lookup reads an environment variable.
func (e Env) Lookup(name string) (string, bool) {
	if e.LookupEnv == nil {
		return "", false
	}
	return e.LookupEnv(name)
}
