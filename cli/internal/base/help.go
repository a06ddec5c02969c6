package base

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/urfave/cli/v2"

	"github.com/hilo-id/hilo/cli/internal/exit"
	"github.com/hilo-id/hilo/cli/internal/term"
)

// HelpName is the name of the flag and of the command for help.
const HelpName = "help"

// The ends of help texts, and the topic urls.
const (
	aboutAll = `
Exit codes:
   0 done
   1 failed or interrupted
   2 a mistake in the command line
   3 Redis unavailable
   4 refused by a rule, or exhausted
   5 a check found a fault

hilo COMMAND --help has examples. Also: hilo help urls, the URLs of --redis;
recover, the steps after a loss; sign-in, TLS and tokens; ravendb, its clients.
`
	aboutOne  = "\nGlobal flags, which may stand here too, and other exit codes: hilo --help\n"
	aboutURLs = `Servers, as --redis URL, or several as --redis NAME=URL each (in $HILO_REDIS_URL
separated by white space):
   HOST:PORT                                    redis://HOST:PORT/0
   redis://[USER:PASSWORD@]HOST:PORT/DATABASE   one server; rediss:// with TLS
   unix://[USER:PASSWORD@]/PATH?db=DATABASE     one server, by its socket
   redis+sentinel://[…@]HOST:PORT,HOST:PORT/MASTER/DATABASE
                                                the master that sentinels name;
                                                rediss+sentinel:// with TLS
   redis+cluster://[…@]HOST:PORT,HOST:PORT      a cluster; rediss+cluster://
                                                with TLS
   embedded:                                    in this process, lost at its end

In USER and PASSWORD, characters such as @ : / ? # are written with a percent
sign (%40 for @). With sentinels they are the server's; the sentinels' own
are ?sentinel_username=…&sentinel_password=…. Options such as ?dial_timeout=3s
are those of go-redis. With TLS, ?server_name=NAME compares the certificate with
NAME in place of HOST, as through a tunnel. ?skip_verify=true accepts every
certificate: whoever is on the way can read and change everything, passwords too.
Passwords are never shown; --password-file keeps them out of the command line,
for each URL without a password, with or without a user.
`
	aboutSignIn = `hilo serve, and hilo top with --listen, answer over HTTP.

On loopback (127.0.0.1, [::1]) they require neither TLS nor sign-in, and refuse
a Host that is no loopback name. On all other addresses they require both:
   --cert FILE --key FILE   the certificate of the server and its key, in PEM
   --token-file FILE        tokens, one per line: a caller sends one of them as
                            Authorization: Bearer TOKEN
   --client-ca FILE         or: the authorities of the callers' certificates,
                            which is what RavenDB's clients use
   --insecure               neither, as behind a proxy that does both
Files that change are read again. A browser sends a token as the password of any
user, or once as ?token=TOKEN to receive a cookie.

Connections above --max-connections wait, or replace an idle one. --idle-timeout
has to be longer than that of the balancer in front. After SIGTERM /readyz fails
for --drain before the listener closes, so that balancers send no more.
`
	aboutRavenDB = `RavenDB's unmodified clients get their HiLo ranges and identities from hilo
serve. The first server serves them. It needs a node tag (hilo settings set
--tag A) and, for identities, has to be their home (--identities).

--database maps a database of RavenDB to a namespace, as in --database
Shop=Raven. Without any, the namespace is the database's name in lower case.
--public-url is how clients reach this gateway, if not by the Host that they send.

--node names another gateway of the same master, as in --node
B=https://ids2.example.org, which Java, Go and Node.js use when this one is down.
Start each gateway with the others as --node. Returns are not accepted then.
Behind a balancer of several gateways set --accept-returns=false: none can take
back a range that another one issued.

Node.js and Go round numbers above 2^53-1: use --limit 9007199254740991.
Above --max-names names, of either API, the answer is 429.
`
)

// headExits begins the part of a description that stands after the flags.
const headExits = "\n\nExit codes:"

// Describe returns the description of a command, made of a text, examples, and exit codes that mean more than in aboutAll.
func Describe(text string, examples []string, exits ...string) string {
	const line = "\n   "
	description := term.Paragraphs(strings.TrimSpace(text)) + "\n\nExamples:" + line + strings.Join(examples, line)
	if len(exits) > 0 {
		description += headExits + line + strings.Join(exits, line)
	}
	return description
}

// Complete sets what hilo and all its commands have in common.
func Complete(app *cli.App) {
	app.Flags, app.OnUsageError, app.HideHelp = completed(app.Flags), misused, true
	for _, flag := range app.Flags {
		if f, ok := flag.(*cli.GenericFlag); ok {
			f.Usage += "; $" + Variable(f.Name)
		}
	}
	app.DisableSliceFlagSeparator = true // a URL of a cluster has commas in it
	completeAll(app.Commands)
}

func completeAll(commands []*cli.Command) {
	for _, c := range commands {
		c.Flags, c.OnUsageError, c.HideHelp = completed(c.Flags), misused, true
		completeAll(c.Subcommands)
	}
}

// completed returns the flags with the choices of each, and the flag for help.
func completed(flags []cli.Flag) []cli.Flag {
	for _, flag := range flags {
		switch f := flag.(type) {
		case *cli.GenericFlag:
			if choices := f.Value.(*Value).Choices; len(choices) > 0 {
				f.Usage += ": " + anyOf(choices)
			}
		case *cli.BoolFlag:
			f.DisableDefaultText = f.DefaultText == ""
		}
	}
	return append(flags, &cli.BoolFlag{Name: HelpName, Aliases: []string{"h"}, Usage: "show this help", DisableDefaultText: true})
}

// misused returns the usage error for an error of urfave/cli about a flag of a command, such as a refused value.
func misused(c *cli.Context, err error, _ bool) error {
	if rest, refused := strings.CutPrefix(err.Error(), "invalid value "); refused { // by Value.Set
		value, _ := strconv.QuotedPrefix(rest)
		name, rule, _ := strings.Cut(strings.TrimPrefix(rest, value+" for flag -"), ": ")
		return exit.Usagef("%s is %s", Dashed(name), rule)
	}
	if names, found := strings.CutPrefix(err.Error(), "Cannot use two forms of the same flag: "); found {
		one, other, _ := strings.Cut(names, " ")
		return exit.Usagef("%s and %s are the same flag; leave one of them out", Dashed(one), Dashed(other))
	}
	return exit.Usagef("%s; see %s --help", err, c.Command.HelpName)
}

// topics are the texts of hilo help that are of no command.
var topics = map[string]string{"urls": aboutURLs, "recover": aboutRecover, "sign-in": aboutSignIn, "ravendb": aboutRavenDB}

// HelpCommand returns the command help of the command at path: hilo help next shows what hilo next --help does.
func HelpCommand(path ...string) *cli.Command {
	topic := "[COMMAND]"
	if len(path) == 0 {
		topic = "[COMMAND | urls | recover | sign-in | ravendb]"
	}
	return &cli.Command{
		Name:        HelpName,
		Usage:       "show the help of a command",
		UsageText:   strings.Join(append(append([]string{"hilo"}, path...), "help", topic), " "),
		Description: Describe("Shows what a command does, its flags, examples and exit codes.", []string{"hilo help next", "hilo help urls", "hilo help recover"}),
		Action: func(c *cli.Context) error {
			about := NewLine(c.App)
			if text, found := topics[c.Args().First()]; found && len(path) == 0 {
				if c.Args().Len() > 1 {
					return exit.Usagef("hilo help %s takes no arguments: %q is one too many", c.Args().First(), c.Args().Get(1))
				}
				return about.show(text)
			}
			for _, word := range append(path, c.Args().Slice()...) {
				if strings.HasPrefix(word, "-") || len(about.Command.Subcommands) == 0 {
					return exit.Usagef("there is no help about %q; name a command", word)
				}
				if err := about.Take(word); err != nil {
					return err
				}
			}
			return about.showHelp()
		},
	}
}

// Overview prints the commands of hilo, by category, on one screen.
func Overview(c *cli.Context) error {
	line := NewLine(c.App)
	if c.Args().Present() { // only without a Line, which reads them
		return line.Take(c.Args().First())
	}
	return line.show(overview(c.App))
}

func overview(app *cli.App) string {
	var text strings.Builder
	t := tabwriter.NewWriter(&text, 1, 8, 2, ' ', 0)
	fmt.Fprintf(&text, "%s - %s\nUsage: %s  (more: hilo --help, hilo help urls)\n\n", app.Name, app.Usage, app.UsageText)
	category := ""
	for _, c := range app.Commands {
		if c.Category == "" {
			continue
		}
		shown := ""
		if c.Category != category {
			shown, category = c.Category, c.Category
		}
		fmt.Fprintf(t, "%s\t%s\t%s\n", shown, c.Name, c.Usage)
	}
	_ = t.Flush()
	return text.String()
}

// showHelp prints the help of the command.
func (l *Line) showHelp() error {
	var text strings.Builder
	flags, about := "Flags", aboutOne
	description, exits, hasExits := strings.Cut(l.Command.Description, headExits)
	if hasExits {
		about = headExits[1:] + exits + "\n" + about
	}
	if l.Command == l.root {
		flags, about = "Global flags, before or after the command", aboutAll
		text.WriteString(overview(l.app))
	} else {
		fmt.Fprintf(&text, "%s - %s\n\nUsage:\n   %s\n\n%s\n", l.name, l.Command.Usage, l.Command.UsageText, description)
	}
	t := tabwriter.NewWriter(&text, 1, 8, 2, ' ', 0)
	if l.Command != l.root && len(l.Command.Subcommands) > 0 {
		fmt.Fprintf(t, "\nCommands:\n")
		for _, c := range l.Command.Subcommands {
			fmt.Fprintf(t, "   %s\t%s\n", strings.Join(c.Names(), ", "), c.Usage)
		}
	}
	fmt.Fprintf(t, "\n%s:\n", flags)
	for _, flag := range l.Command.VisibleFlags() {
		names, usage, _ := strings.Cut(flag.String(), "\t")
		names, _, _ = strings.Cut(names, " [ ") // urfave/cli prints a repeatable flag twice
		fmt.Fprintf(t, "   %s\t%s\n", names, usage)
	}
	_ = t.Flush()
	return l.show(text.String() + about)
}

// show writes a help text with one call, so that a reader such as head, which closes its end early, causes no error.
func (l *Line) show(text string) error {
	_, err := io.WriteString(l.app.Writer, text)
	return exit.Written(err)
}
