// Package base reads the command line of every command, and runs the command with what it read. It may import target, exit, term
// and the library, and never a command.
//
//	env          the streams and the environment of the process
//	line         the order of the words in a command line, and mistakes in it
//	reader       the flags and arguments of a command
//	flagvalues   the values of flags, which check themselves
//	session      the global flags and their servers
//	serverflags  the flags of commands that allocate, or that write
//	credentials  passwords and certificates
//	clients      an Admin or an Allocator of the servers
//	input        files, stdin and questions, and waiting
//	output       text, JSON, tables, progress and the log
//	help         the help texts, and what all commands have in common
//	topics       the help texts that are of no command
package base

import (
	"strings"
	"time"

	"github.com/urfave/cli/v2"
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

const defaultRedis = "redis://127.0.0.1:6379/0"

// GlobalFlags returns new global flags, which are valid anywhere in a command line.
func GlobalFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringSliceFlag{
			Name:        FlagRedis,
			Usage:       "`URL` of the server, or NAME=URL of each of several; see hilo help urls; $HILO_REDIS_URL",
			DefaultText: defaultRedis,
		},
		newGlobal(FlagNamespace, "`NAME` that all keys stand under, as {NAME}/…", Text("Raven")),
		newGlobal(flagSeparator, "the `CHARACTER` between collection and number", Text(prefix.DefaultSeparator)),
		newGlobal(FlagOutput, "`FORMAT` of results", Choice("text", "text", "json"), "o"),
		newGlobal(FlagLogLevel, "`LEVEL` of messages on stderr", Choice("warn", "debug", "info", "warn", "error")),
		newGlobal(flagTimeout, "`DURATION` that the server may take for one operation", Duration("5s", 0)),
		newGlobal(flagTLSCA, "PEM `FILE` of the authorities that rediss:// trusts", Text("")),
		newGlobal(flagTLSCert, "PEM `FILE` of the certificate to show to rediss://", Text("")),
		newGlobal(flagTLSKey, "PEM `FILE` of that certificate's key", Text("")),
		newGlobal(flagPasswordFile, "`FILE` of the password for URLs without one", Text("")),
	}
}

func newGlobal(name, usage string, value *Value, aliases ...string) cli.Flag {
	return &cli.GenericFlag{Name: name, Aliases: aliases, Usage: usage, Value: value, TakesFile: strings.Contains(usage, "FILE")}
}

// Variable returns the environment variable of a flag of GlobalFlags or ServerFlags.
func Variable(flag string) string {
	if flag == FlagRedis {
		return "HILO_REDIS_URL"
	}
	return "HILO_" + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
}

// Session has the valid global flags. A command that changes it for one step copies it first. Commands embed it.
type Session struct {
	Env
	Namespace string
	Separator string
	JSON      bool
	Timeout   time.Duration
	Log       *zap.Logger
	// ReplicasNone is the flag of commands that write, and false for the others.
	ReplicasNone bool
}

// Session reads the global flags, except for those of servers.
func (r *Reader) Session() *Session {
	g := &Session{Env: r.Env, ReplicasNone: r.Bool(flagReplicasNone)}
	var source string
	g.Namespace, source = r.Text(FlagNamespace)
	r.Fail(exit.Invalid(prefix.ValidateNamespace(g.Namespace), "choose another with "+source))
	g.Separator, source = r.Text(flagSeparator)
	r.Fail(exit.Invalid(prefix.ValidateSeparator(g.Separator), "choose another with "+source+", such as / or :"))
	output, _ := r.Text(FlagOutput)
	g.JSON, g.Timeout = output == "json", r.Period(flagTimeout)
	text, _ := r.Text(FlagLogLevel)
	level, _ := zapcore.ParseLevel(text)
	g.LogTo(NewLogger(g.Stderr, level))
	return g
}

// SessionWithoutRedis returns the session of a command that uses no server. It refuses --redis, which would have no effect.
func (r *Reader) SessionWithoutRedis() *Session {
	if r.IsSet(FlagRedis) {
		r.Failf("%s uses no server; remove --redis", r.FullName())
	}
	return r.Session()
}

// Target returns the server of a command that uses one, which has OneServerFlags. Of several, --prefer chooses it.
func (r *Reader) Target() target.Target {
	targets := r.Targets()
	if len(targets) > 1 || r.IsSet(flagPrefer) {
		name, source := r.Text(flagPrefer)
		if name == "" {
			r.Failf("%s uses one server, and %d are named: choose one with --prefer, such as --prefer %s", r.FullName(), len(targets), targets[0].Name)
		}
		if r.Err == nil {
			r.prefer(targets, name, source)
		}
	}
	if r.Err != nil {
		return target.Target{}
	}
	return targets[0]
}

// Targets returns all servers that --redis names, or $HILO_REDIS_URL, where white space separates several.
func (r *Reader) Targets() []target.Target {
	urls, source := r.StringSlice(FlagRedis), Dashed(FlagRedis)
	if len(urls) == 0 {
		urls = []string{defaultRedis}
		if text, ok := r.Env.Lookup(Variable(FlagRedis)); ok && strings.TrimSpace(text) != "" {
			urls, source = strings.Fields(text), Variable(FlagRedis)
		}
	}
	var targets []target.Target
	names, access, secure := make(map[string]bool), r.Access(), false
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
		secure = access.Give(&t) || secure
		targets = append(targets, t)
	}
	if !secure && r.IsSet(flagTLSCA) {
		r.Failf("%s is for TLS, and no server of %s uses it; write rediss://, with two s", Dashed(flagTLSCA), source)
	}
	return targets
}

// Settings returns the shared flags, except for --redis, as environment variables for another process of hilo.
func (r *Reader) Settings() map[string]string {
	all := make(map[string]string)
	for _, name := range shared {
		all[Variable(name)], _ = r.Text(name)
	}
	return all
}

// shared are the names of GlobalFlags and ServerFlags except --redis: those whose environment variables do not include the name of
// a command.
var shared = []string{
	FlagNamespace, flagSeparator, FlagOutput, FlagLogLevel, flagTimeout, flagTLSCA, flagTLSCert, flagTLSKey, flagPasswordFile,
	flagPrefer,
}
