package cli

import (
	"net"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hilo-id/hilo/cli/internal/clitest"
	"github.com/hilo-id/hilo/cli/internal/exit"
	"github.com/hilo-id/hilo/scripts/redistest"
)

func TestCommandLineIsValidated(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 200)
	tests := []struct {
		name string
		args []string
		want string
	}{
		{"an unknown command", []string{"frobnicate"}, `hilo has no command "frobnicate"; see hilo --help`},
		{"a command misspelt", []string{"nxt"}, `did you mean "next"?`},
		{"an unknown command below another", []string{"settings", "frobnicate"}, `hilo settings has no command "frobnicate"; see hilo settings --help`},
		{"a command below another misspelt", []string{"settings", "chekc"}, `did you mean "check"?`},
		{"a command misspelt, of which help is asked for", []string{"nxt", "--help"}, `did you mean "next"?`},
		{"a command below another, of which help is asked for", []string{"settings", "chekc", "--help"}, `did you mean "check"?`},
		{"an unknown topic of help", []string{"help", "frobnicate"}, `hilo has no command "frobnicate"`},
		{"a flag as a topic of help", []string{"help", "--", "--count"}, `no help about "--count"`},
		{"an unknown flag", []string{"next", "orders", "--frobnicate"}, "hilo next has no flag --frobnicate; see hilo next --help"},
		{"a flag misspelt", []string{"next", "orders", "--cuont", "3"}, "did you mean --count?"},
		{"a global flag misspelt", []string{"next", "orders", "--nmespace", "N"}, "did you mean --namespace?"},
		{"an unknown short flag", []string{"next", "orders", "-x", "3"}, "hilo next has no flag -x"},
		{"a flag and its alias", []string{"next", "orders", "-n", "3", "--count", "4"}, "-n and --count are the same flag; leave one of them out"},
		{"another command's flag", []string{"list", "--count", "3"}, "hilo list has no flag --count"},
		{"a flag before its command", []string{"--count", "3", "next", "orders"}, "stands after the command's name"},
		{"a flag without its value", []string{"next", "orders", "--count"}, "--count needs a value; see hilo next --help"},
		{"a flag with a value it has no use for", []string{"seed", "orders", "--max", "1", "--force=maybe"}, `--force is "maybe": must be true or false`},
		{"no collection", []string{"next"}, "hilo next needs a COLLECTION; usage: hilo next COLLECTION"},
		{"no collection to seed", []string{"seed", "--max", "3"}, "hilo seed needs a COLLECTION"},
		{"an argument too many", []string{"next", "orders", "companies"}, `takes one argument: "companies" is one too many`},
		{"an argument where none belongs", []string{"list", "orders"}, `takes no arguments: "orders" is one too many`},
		{"neither prefix nor tag", []string{"settings", "set"}, "needs a PREFIX, a --tag, --identities, --durable, --min-value, --max-value, --seeded-only, or some of them"},
		{"a prefix that ends in a digit", []string{"settings", "set", "North1"}, `"North1" ends in a digit: "North1"+"1" would read as "North"+"11"; choose one such as NorthServer/`},
		{"a tag that begins with a digit", []string{"settings", "set", "--tag", "9x"}, `node tag "9x" is not 1 to 8 of A-Z a-z 0-9 with a letter first; choose one such as A` + "\n"},
		{"a durability of nobody", []string{"settings", "set", "--durable", "yes"}, `--durable is "yes": must be everysec, always or none`},
		{"a durability of 0.1", []string{"settings", "set", "--durable", "replicas:1"}, `--durable is "replicas:1": must be everysec, always or none`},
		{"an interval that ends before it begins", []string{"init", "--min-value", "9", "--max-value", "3"}, "--max-value 3 is below --min-value 9"},
		{"a margin without a loss", []string{"seed", "orders", "--max", "1", "--margin", "5"}, "--margin requires --after-loss"},
		{"a loss that would lower", []string{"seed", "orders", "--max", "1", "--force", "--after-loss"}, "--after-loss and --force exclude each other"},
		{"a query after a loss", []string{"seed", "--sql", "mysql", "--after-loss"}, "--sql and --after-loss exclude each other"},
		{"an empty filter", []string{"list", "--filter", ""}, "--filter is empty"},
		{"a filter with an open set", []string{"list", "--filter", "x[a-"}, `--filter is "x[a-": must close each [ with a ]`},
		{"a filter that escapes the end of a set", []string{"identity", "list", "--filter", `[a\]`}, `must close each [ with a ]`},
		{"a filter behind an argument", []string{"inspect", "orders", "--filter", "x"}, "hilo inspect has no flag --filter"},
		{"a short flag doubled", []string{"next", "orders", "-nn", "3"}, "hilo next has no flag --nn; see hilo next --help"},
		{"a value behind a short flag", []string{"next", "orders", "-n2"}, "hilo next has no flag --n2; see hilo next --help"},
		{"a value behind a short flag of every command", []string{"list", "-ojson"}, "hilo list has no flag --ojson; see hilo list --help"},
		{"a value behind a flag without one", []string{"list", "-hx"}, "hilo list has no flag --hx; see hilo list --help"},
		{"a long flag with one dash", []string{"next", "orders", "-namspace=x"}, "hilo next has no flag --namspace; did you mean --namespace?"},
		{"a command's flag with one dash before it", []string{"-count", "3", "next", "orders"}, "-count is a flag of a command"},
		{"an order of nobody", []string{"list", "--sort", "size"}, `--sort is "size": must be name, max, ranges, jumps or headroom`},
		{"a limit of 0", []string{"list", "--limit", "0"}, "--limit is 0: must be 1 or more"},
		{"an empty pattern", []string{"seed", "--scan", ""}, "--scan is empty"},
		{"a scan of one collection", []string{"seed", "orders", "--scan", "x*"}, `COLLECTION, which is "orders", and --scan exclude each other`},
		{"a dry run that would force", []string{"seed", "orders", "--max", "1", "--force", "--dry-run"}, "--force and --dry-run exclude each other"},
		{"a seed of two sources", []string{"seed", "--file", "f", "--scan", "x*"}, "--file and --scan exclude each other"},
		{"a file that is a folder", []string{"seed", "--file", "."}, `"." cannot be read: is a directory`},
		{"a file that is not there", []string{"import", "none.jsonl"}, `"none.jsonl" cannot be read: no such file or directory`},
		{"a margin below 0", []string{"import", "f", "--margin", "-1"}, "--margin is -1: must be 0 or more"},
		{"a prefix of neither", []string{"import", "f", "--prefix", "maybe"}, `--prefix is "maybe": must be keep or take`},
		{"a shell of nobody", []string{"completion", "tcsh"}, `no completion for "tcsh"`},
		{"kills of goroutines", []string{"verify", "--goroutines", "--kill-workers"}, "goroutines cannot be killed"},
		{"a worker of no trial", []string{"verify", "--as-worker"}, "--as-worker is for processes that hilo verify starts"},
		{"the empty command", []string{""}, `hilo has no command ""`},
		{"help with a value", []string{"--help=maybe"}, `--help is "maybe": must be true or false`},
		{"a topic with more", []string{"help", "urls", "x"}, `hilo help urls takes no arguments: "x" is one too many`},
		{"a topic below a command without any", []string{"help", "next", "x"}, `no help about "x"`},
		{"a tag with a dash", []string{"settings", "set", "--tag", "A-B"}, `node tag "A-B"`},
		{"count 0", []string{"next", "orders", "--count", "0"}, "--count is 0: must be 1 or more"},
		{"count -1", []string{"next", "orders", "--count", "-1"}, "--count is -1: must be 1 or more"},
		{"count far below", []string{"next", "orders", "--count", "-99999999999999999999"}, "must be 1 or more"},
		{"count too great", []string{"next", "orders", "--count=9223372036854775808"}, "at most 9223372036854775807"},
		{"count of words", []string{"next", "orders", "--count", "many"}, `--count is "many": must be a whole number`},
		{"count of words by its letter", []string{"next", "orders", "-n", "many"}, `-n is "many": must be a whole number`},
		{"a value of words", []string{"seed", "orders", "--value", "many"}, `--value is "many": must be a whole number`},
		{"count with a fraction", []string{"next", "orders", "--count", "1.5"}, "must be a whole number"},
		{"an empty count", []string{"next", "orders", "--count="}, "--count is empty: give it a value, or remove it"},
		{"no max", []string{"seed", "orders"}, "hilo seed needs --max N"},
		{"max too great", []string{"seed", "orders", "--max", "9223372036854775808"}, "--max is 9223372036854775808: must be at most 9223372036854775807"},
		{"max below 0", []string{"seed", "orders", "--max", "-1"}, "--max is -1: must be 0 or more"},
		{"a collection with the separator", []string{"next", "a/b"}, `"a/b" holds the separator "/"`},
		{"a collection with a separator of one's own", []string{"next", "a:b", "--separator", ":"}, `"a:b" holds the separator ":"`},
		{"a collection with |", []string{"next", "a|b"}, `"a|b" holds "|"`},
		{"an empty collection", []string{"next", ""}, "collection is empty"},
		{"a collection of 200 bytes", []string{"next", long}, "200 bytes long: at most 128"},
		{"a collection with a line break", []string{"next", "a\nb"}, `"a\nb" holds white space`},
		{"a namespace with braces", []string{"list", "--namespace", "{a}"}, "with --namespace"},
		{"an empty namespace", []string{"list", "--namespace", ""}, "namespace is empty"},
		{"a separator of two", []string{"list", "--separator", "::"}, "with --separator"},
		{"no text", []string{"id"}, "hilo id needs a TEXT; usage: hilo id TEXT…"},
		{"an identity without a name", []string{"id", "products/x", "|"}, `"|" requests an identity: collection is empty`},
		{"an identity of a bad name", []string{"id", "", "a/b|"}, `"a/b|" requests an identity: collection "a/b" holds the separator "/"; use one such as 'companies|'`},
		{"an identity of two bars", []string{"id", "a||"}, `"a|" holds "|"`},
		{"a server-side id without a name", []string{"id", "/"}, `"/" requests a server-side id: collection is empty`},
		{"a server-side id of a bad name", []string{"id", "a:b:", "--separator", ":"}, `holds the separator ":"; use one such as companies:`},
		{"a text that JSON cannot hold", []string{"id", "a\xff", "--output", "json"}, `"a\xff" is not valid UTF-8`},
		{"an unknown command of identities", []string{"identity", "nxt"}, `did you mean "next"?`},
		{"no identity", []string{"identity", "next"}, "hilo identity next needs a NAME; usage: hilo identity next NAME"},
		{"no identity to seed", []string{"identity", "seed", "--value", "3"}, "hilo identity seed needs a NAME"},
		{"no identity but the bar", []string{"identity", "next", "|"}, "identity: collection is empty"},
		{"an identity with the separator", []string{"identity", "next", "a/b"}, `identity: collection "a/b" holds the separator "/"; name one such as companies`},
		{"an identity to seed with the separator", []string{"identity", "seed", "a/b|", "--value", "3"}, `"a/b" holds the separator "/"`},
		{"0 of an identity", []string{"identity", "next", "companies", "--count", "0"}, "--count is 0: must be 1 or more"},
		{"-1 of an identity", []string{"identity", "next", "companies", "--count", "-1"}, "--count is -1: must be 1 or more"},
		{"no value", []string{"identity", "seed", "companies"}, "hilo identity seed needs --value N"},
		{"a value below 0", []string{"identity", "seed", "companies", "--value", "-1"}, "--value is -1: must be 0 or more"},
		{"max and value", []string{"seed", "orders", "--value", "3", "--max", "3"}, "--value and --max are the same flag"},
		{"a value too great", []string{"identity", "seed", "companies", "--value", "9223372036854775808"}, "must be at most 9223372036854775807"},
		{"an output of nobody", []string{"list", "--output", "yaml"}, `--output is "yaml": must be text or json`},
		{"a level of nobody", []string{"list", "--log-level", "loud"}, `--log-level is "loud": must be`},
		{"a level that zap has and we have not", []string{"list", "--log-level", "panic"}, "must be debug, info, warn or error"},
		{"a time-out without a unit", []string{"list", "--timeout", "5"}, `--timeout is "5": must be a duration`},
		{"a time-out of nothing", []string{"list", "--timeout", "0s"}, "--timeout is 0s: must be more than 0"},
		{"a warm-up of nothing", []string{"bench", "--warmup", "0s"}, "--warmup is 0s: must be more than 0"},
		{"an address without a port", []string{"dev", "--addr", "localhost"}, "must be HOST:PORT"},
		{"an address with a port like none", []string{"dev", "--addr", "localhost:99999"}, `--addr is "localhost:99999": the port must be a number from 0 to 65535`},
		{"a server where none is used", []string{"demo", "--redis", "embedded:"}, "uses no server; remove --redis"},
		{"the version with more", []string{"--version", "--redis", "embedded:"}, "uses no server; remove --redis"},
		{"the version of a command", []string{"next", "orders", "--version"}, "--version excludes commands"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			// No server listens there, and no request may be sent.
			environment := map[string]string{"HILO_REDIS_URL": "redis://127.0.0.1:1/0"}
			clitest.MustFail(t, exit.Usage, clitest.HiloWith(t, environment, test.args...), test.want)
		})
	}
}

func TestBadValuesOfTheEnvironmentAreNamedAfterIt(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"HILO_REDIS_URL", "HILO_NAMESPACE", "HILO_SEPARATOR", "HILO_OUTPUT", "HILO_LOG_LEVEL", "HILO_TIMEOUT",
		"HILO_TLS_CA", "HILO_TLS_CERT", "HILO_TLS_KEY", "HILO_PASSWORD_FILE"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			clitest.MustFail(t, exit.Usage, clitest.HiloWith(t, map[string]string{name: "{{{"}, "list"), name)
		})
	}
}

func TestFlagsOverrideTheEnvironment(t *testing.T) {
	t.Parallel()
	environment := map[string]string{"HILO_REDIS_URL": "embedded:", "HILO_OUTPUT": "json", "HILO_SEPARATOR": ":"}
	if r := clitest.HiloWith(t, environment, "next", "orders"); r.Stdout != "[\n  \"orders:1\"\n]\n" {
		t.Errorf("%+v", r)
	}
	if r := clitest.HiloWith(t, environment, "next", "orders", "--output=text", "--separator", "."); r.Stdout != "orders.1\n" {
		t.Errorf("%+v", r)
	}
}

// commandsOnAServer returns the commands that use a server, in an order in which they all succeed.
func commandsOnAServer() []string {
	return []string{"next orders", "bench --count 100", "seed orders --max 3", "list", "inspect orders", "settings get", "settings set North/ --yes", "settings set North/ --tag A", "settings clear --yes",
		"id companies/", "id companies|", "identity next companies", "identity seed companies --value 3", "identity list",
		"settings check", "doctor"}
}

func TestUnreachableServerIsReported(t *testing.T) {
	t.Parallel()
	dead := redistest.StartMini(t)
	dead.Kill()
	socket := filepath.Join(t.TempDir(), "none.sock")
	tests := []struct{ name, url, addr string }{
		{"at a port", dead.URL(), dead.Addr() + ": dial tcp"},
		{"at a socket", "unix://" + socket, socket + ": dial unix"},
		{"behind sentinels", "redis+sentinel://" + dead.Addr() + "/m?max_retries=-1", "m by way of the sentinels " + dead.Addr()},
		{"in a cluster", "redis+cluster://" + dead.Addr(), "the cluster " + dead.Addr()},
	}
	for _, test := range tests {
		for _, command := range append(commandsOnAServer(), "init") {
			t.Run(test.name+": "+command, func(t *testing.T) {
				t.Parallel()
				r := clitest.Hilo(t, append(strings.Fields(command), "--redis", test.url)...)
				clitest.MustFail(t, exit.Unavailable, r, "no Redis answers at "+test.addr, "start one, or name it with --redis URL")
			})
		}
	}
}

func TestServerThatNeverRepliesIsReported(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0") // the kernel accepts, and nobody reads
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	for _, command := range commandsOnAServer() {
		t.Run(command, func(t *testing.T) {
			t.Parallel()
			r := clitest.Hilo(t, append(strings.Fields(command), "--timeout", "50ms", "--redis", "redis://"+listener.Addr().String())...)
			clitest.MustFail(t, exit.Unavailable, r, "no Redis answers at "+listener.Addr().String()+": nothing came back within 50ms (--timeout)")
		})
	}
}

func TestLoginRefused(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		if s.Real() {
			if err := s.Client(t).ConfigSet(t.Context(), "requirepass", "right").Err(); err != nil {
				t.Fatal(err)
			}
		} else {
			s.RequireLogin("default", "right")
		}
		with := func(login string) string { return strings.Replace(s.URL(), "redis://", "redis://"+login, 1) }
		for _, command := range commandsOnAServer() {
			args := append(strings.Fields(command), "--redis")
			clitest.MustFail(t, exit.Unavailable, clitest.Hilo(t, append(args, with(":wrong@"))...), "rejects the login (WRONGPASS", "check user and password in --redis")
			clitest.MustFail(t, exit.Unavailable, clitest.Hilo(t, append(args, with("nobody:right@"))...), "rejects the login (WRONGPASS")
			clitest.MustFail(t, exit.Unavailable, clitest.Hilo(t, append(args, with(""))...), "requires a login; add user and password")
			clitest.Must(t, append(args, with(":right@"))...)
		}
	})
}

func TestErrorReplyIsExplained(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, reply, want string }{
		{"while it loads", "LOADING Redis is loading the dataset in memory", "still loading its data (LOADING"},
		{"as a replica", "READONLY You can't write against a read only replica.", "is a replica and accepts no writes (READONLY"},
		{"as a replica behind a proxy", "ERR READONLY You can't write against a read only replica.", "is a replica and accepts no writes (ERR READONLY"},
		{"this user", "NOPERM this user has no permissions", "denies this user a command (NOPERM"},
		{"this user in a script", "ERR ACL failure in script: User ann has no permissions", "denies this user a command (ERR ACL failure"},
		{"this user in a script of 7.0", "ERR The user executing the script can't run this command or subcommand script: f", "denies this user a command (ERR The user"},
		{"but another of the cluster does", "MOVED 11720 127.0.0.1:1", "is one node of a cluster, and another has this key (MOVED 11720 127.0.0.1:1); name the cluster, as in --redis redis+cluster://"},
		{"as a sentinel does", "ERR unknown command 'evalsha', with args beginning with: 'x' 'y' ", "does not serve this (ERR unknown command 'evalsha'); name a server, or sentinels as in --redis redis+sentinel://"},
		{"for want of memory", "OOM command not allowed when used memory > 'maxmemory'.", "does not serve this (OOM"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			s := redistest.StartMini(t)
			s.Hook(func(cmd string, _ []string) string {
				if cmd == "HELLO" || cmd == "CLIENT" {
					return ""
				}
				return test.reply
			})
			for _, command := range commandsOnAServer() {
				clitest.MustFail(t, exit.Unavailable, clitest.Hilo(t, append(strings.Fields(command), "--redis", s.URL())...), test.want)
			}
		})
	}
}
