package cli

import (
	"context"
	"maps"
	"strings"
	"testing"

	"github.com/hilo-id/hilo/cli/internal/base"
	"github.com/hilo-id/hilo/cli/internal/clitest"
	"github.com/hilo-id/hilo/cli/internal/exit"
	"github.com/hilo-id/hilo/cli/internal/target"
	"github.com/hilo-id/hilo/scripts/redistest"
)

// TestPasswordsAreNeverShown runs all commands, with everything logged, against servers that succeed and fail in many ways.
// TestDemoPrintsAllEvents does so with hilo demo.
func TestPasswordsAreNeverShown(t *testing.T) {
	t.Parallel()
	right := redistest.StartMini(t)
	right.RequireLogin("ann", clitest.Password)
	other := redistest.StartMini(t)
	other.RequireLogin("ann", "another")
	dead := redistest.StartMini(t)
	dead.Kill()

	const escaped = "S3cr3t%2Fof%40Ann"
	login := func(s *redistest.Server) string {
		return strings.Replace(s.URL(), "redis://", "redis://ann:"+escaped+"@", 1)
	}
	urls := []struct{ name, url string }{
		{"that works", login(right)},
		{"of a wrong password", login(other)},
		{"of nothing", login(dead)},
		{"of no host", "redis+sentinel://ann:" + escaped + "@/m"},
		{"of sentinels that are away", "redis+sentinel://ann:" + escaped + "@" + dead.Addr() + "/m?max_retries=-1&sentinel_password=" + escaped},
		{"of a cluster that is away", "redis+cluster://ann:" + escaped + "@" + dead.Addr()},
		{"that is not escaped", "redis://ann:" + clitest.Password + "@h"},
	}
	commands := maps.Clone(everyCommand)
	for _, line := range []string{"help", "next --help", "nonsense", "next a/b", "next", "--bogus"} {
		commands[line] = tried{line: line, serverless: true}
	}
	for _, u := range urls {
		for name, command := range commands {
			t.Run(u.name+": "+name, func(t *testing.T) {
				t.Parallel()
				flags := [][]string{nil, {"--redis", u.url}, {"--redis", "north=" + u.url}, {"--redis", u.url, "--redis", u.url}}
				for i, flags := range flags {
					if i == 0 && command.slow { // and does not refuse the URL
						continue
					}
					var environment map[string]string
					if i == 0 {
						environment = map[string]string{"HILO_REDIS_URL": u.url}
					}
					flags = append(flags, "--log-level", "debug", "--timeout", "1s")
					clitest.CheckNoPassword(t, command.line, command.run(t, environment, flags...))
				}
			})
		}
	}
}

func TestURLInTheWrongPlaceIsNotQuoted(t *testing.T) {
	t.Parallel()
	url, address := "redis://ann:"+clitest.Password+"@h:1/0", "ann:S3cr3t@h:6379"
	tests := []struct {
		name string
		args []string
	}{
		{"without a scheme, as the collection", []string{"next", address}},
		{"without a scheme, as one argument too many", []string{"list", address}},
		{"without a scheme, as the value of a flag", []string{"next", "orders", "--count", address}},
		{"as a command", []string{url}},
		{"as a command below another", []string{"prefix", url}},
		{"as the collection", []string{"next", url}},
		{"behind the dashes", []string{"next", "--", url}},
		{"as one argument too many", []string{"next", "orders", url}},
		{"as a flag's value", []string{"next", "orders", "--count", url}},
		{"as a flag's value behind =", []string{"next", "orders", "--count=" + url}},
		{"as the namespace", []string{"list", "--namespace", url}},
		{"as a flag", []string{"list", "--" + url}},
		{"as a flag that is not known", []string{"list", "--rdis=" + url}},
		{"behind a flag that is not known", []string{"list", "--rdis", url}},
		{"without the dashes", []string{"list", "redis=" + url}},
		{"with the password as an option", []string{"next", "redis+sentinel://h/m?password=" + clitest.Password}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			r := clitest.Hilo(t, test.args...)
			clitest.MustFail(t, exit.Usage, r)
			clitest.CheckNoPassword(t, test.name, r)
		})
	}
}

func TestURLInTheWrongVariableIsNotQuoted(t *testing.T) {
	t.Parallel()
	for _, variable := range []string{
		"HILO_NAMESPACE", "HILO_SEPARATOR", "HILO_TIMEOUT", "HILO_TLS_CA", "HILO_PREFER", "HILO_SERVE_NODE", "HILO_SERVE_DATABASE",
		"HILO_SERVE_PUBLIC_URL", "HILO_SERVE_LISTEN", "HILO_SERVE_COLLECTIONS", "HILO_SERVE_TOKEN_FILE",
	} {
		for _, value := range []string{"redis://ann:" + clitest.Password + "@h:1/0", "B=https://ann:" + clitest.Password + "@h", "ann:S3cr3t@h:6379"} {
			t.Run(variable+" "+value[:3], func(t *testing.T) {
				t.Parallel()
				r := clitest.HiloWith(t, map[string]string{variable: value}, "serve", "--redis", "embedded:")
				clitest.MustFail(t, exit.Usage, r, variable)
				clitest.CheckNoPassword(t, variable, r)
			})
		}
	}
}

// Messages of go-redis are in the log at debug, and nowhere otherwise.
func TestLogHasTheMessagesOfGoRedis(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, level string
		shown       bool
	}{{"at debug", "debug", true}, {"at info", "info", false}} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			var log target.RedisLog
			var stderr strings.Builder
			code := clitest.Run(t.Context(), []string{"hilo", "list", "--redis", "embedded:", "--log-level", test.level}, base.Env{
				Stdout:      new(strings.Builder),
				Stderr:      &stderr,
				SetRedisLog: func(l target.RedisLog) { log = l },
			})
			if code != exit.Done || log.Logger == nil {
				t.Fatalf("exit %d, logger %v", code, log)
			}
			log.Printf(context.Background(), "dial %d failed", 3)
			if strings.Contains(stderr.String(), "go-redis: dial 3 failed") != test.shown {
				t.Errorf("stderr %q", stderr.String())
			}
		})
	}
}
