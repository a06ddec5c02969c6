package cli

import (
	"strings"
	"time"

	"github.com/urfave/cli/v2"
	"go.uber.org/zap"

	"github.com/hilo-id/hilo/prefix"
)

// The global flags. Each has an environment variable, read by setting and not by urfave/cli, which would show its
// value as the flag's default in the help and quote it in errors.
const (
	flagRedis     = "redis"
	flagNamespace = "namespace"
	flagSeparator = "separator"
	flagOutput    = "output"
	flagLogLevel  = "log-level"
	flagTimeout   = "timeout"
)

const (
	defaultRedis     = "redis://127.0.0.1:6379/0"
	defaultNamespace = "Raven"
	defaultTimeout   = "5s"
)

func globalFlags() []cli.Flag {
	flags := []cli.Flag{
		&cli.StringSliceFlag{
			Name:        flagRedis,
			Usage:       "`URL` of the server, see below; $HILO_REDIS_URL",
			DefaultText: defaultRedis,
		},
		newGlobal(flagNamespace, "`NAME` that all keys stand under, as {NAME}/…", defaultNamespace),
		newGlobal(flagSeparator, "the `CHARACTER` between collection and number", prefix.DefaultSeparator),
		newGlobal(flagOutput, "`FORMAT` of results, text or json", "text"),
		newGlobal(flagLogLevel, "`LEVEL` of messages on stderr: debug, info, warn or error", "warn"),
		newGlobal(flagTimeout, "`DURATION` that the server may take for one operation", defaultTimeout),
	}
	return append(flags, accessFlags()...)
}

func newGlobal(name, usage, standard string) cli.Flag {
	return &cli.StringFlag{
		Name:        name,
		Usage:       usage + "; $" + variable(name),
		Value:       standard,
		DefaultText: standard,
	}
}

// variable is the environment variable of a global flag.
func variable(flag string) string {
	if flag == flagRedis {
		return "HILO_REDIS_URL"
	}
	return "HILO_" + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
}

// setting is the value of a global flag and where it comes from, as an error would name it.
func setting(c *cli.Context, env Env, flag string) (value, source string) {
	return settingOr(c, env, flag, variable(flag))
}

// settingOr is setting for a flag with a variable of another name.
func settingOr(c *cli.Context, env Env, flag, variable string) (value, source string) {
	if !c.IsSet(flag) {
		if value, ok := env.lookup(variable); ok && value != "" {
			return value, variable
		}
	}
	return c.String(flag), dashed(flag)
}

// globals are the global flags, valid.
type globals struct {
	Env
	Namespace string
	Separator string
	JSON      bool
	Timeout   time.Duration
	Log       *zap.Logger
}

// readGlobals reads what every command needs.
func readGlobals(c *cli.Context, env Env) (globals, error) {
	g := globals{Env: env}
	var source, text string
	var err error

	g.Namespace, source = setting(c, env, flagNamespace)
	if err := prefix.ValidateNamespace(g.Namespace); err != nil {
		return g, invalid(err, "choose another with "+source)
	}
	g.Separator, source = setting(c, env, flagSeparator)
	if err := prefix.ValidateSeparator(g.Separator); err != nil {
		return g, invalid(err, "choose another with "+source+", such as / or :")
	}
	switch text, source = setting(c, env, flagOutput); text {
	case "text":
	case "json":
		g.JSON = true
	default:
		return g, usagef("%s is %q: must be text or json", source, text)
	}
	text, source = setting(c, env, flagTimeout)
	if g.Timeout, err = time.ParseDuration(text); err != nil {
		return g, usagef("%s is %q: must be a duration such as 5s or 500ms", source, text)
	}
	if g.Timeout <= 0 {
		return g, usagef("%s is %s: must be more than 0", source, text)
	}
	text, source = setting(c, env, flagLogLevel)
	level, ok := logLevel(text)
	if !ok {
		return g, usagef("%s is %q: must be debug, info, warn or error", source, text)
	}
	g.Log = newLogger(env.Stderr, level)
	if env.SetRedisLog != nil {
		env.SetRedisLog(redisLog{g.Log})
	}
	return g, nil
}

// readServer reads the globals and the one server that a command works on.
func readServer(c *cli.Context, env Env) (globals, target, error) {
	g, err := readGlobals(c, env)
	if err != nil {
		return g, target{}, err
	}
	targets, err := readTargets(c, env)
	if err != nil {
		return g, target{}, err
	}
	if len(targets) > 1 {
		return g, target{}, usagef("%s works on one server and %d are named: name one with --redis URL", c.Command.HelpName, len(targets))
	}
	return g, targets[0], nil
}

// readServerless reads the globals of a command that works on no server, and refuses one: to name a server and
// see nothing happen there would be worse.
func readServerless(c *cli.Context, env Env) (globals, error) {
	if c.IsSet(flagRedis) {
		return globals{}, usagef("%s works on no server of yours: leave out --redis", c.Command.HelpName)
	}
	return readGlobals(c, env)
}

// readTargets reads all --redis flags, or $HILO_REDIS_URL, where white space separates several.
func readTargets(c *cli.Context, env Env) ([]target, error) {
	urls, source := c.StringSlice(flagRedis), dashed(flagRedis)
	if len(urls) == 0 {
		urls = []string{defaultRedis}
		if text, ok := env.lookup(variable(flagRedis)); ok && strings.TrimSpace(text) != "" {
			urls, source = strings.Fields(text), variable(flagRedis)
		}
	}
	var targets []target
	names := make(map[string]bool)
	for _, url := range urls {
		t, err := parseTarget(url)
		if err != nil {
			return nil, usagef("%s %s", source, err)
		}
		if len(urls) > 1 && t.name == "" {
			return nil, usagef("%s names %d servers: each needs a name of its own, as in north=redis://…", source, len(urls))
		}
		if names[t.name] {
			return nil, usagef("%s names two servers %q: each needs a name of its own", source, t.name)
		}
		names[t.name] = true
		targets = append(targets, t)
	}
	access, err := readAccess(c, env)
	if err != nil {
		return nil, err
	}
	if !access.giveAll(targets) && c.IsSet(flagTLSCA) {
		return nil, usagef("%s is for TLS, and no server of %s is asked for it: write rediss://, with two s", dashed(flagTLSCA), source)
	}
	return targets, nil
}
