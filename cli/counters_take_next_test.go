package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"testing"

	"github.com/hilo-id/hilo/cli/internal/clitest"
	"github.com/hilo-id/hilo/cli/internal/exit"
	"github.com/hilo-id/hilo/scripts/redistest"
)

func TestNextContinuesWhereItEnded(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		if got := clitest.Must(t, "next", "orders", "--count", "5", "--redis", s.URL()); got != clitest.Lines(1, 5) {
			t.Errorf("first: %q", got)
		}
		if got := clitest.Must(t, "--redis", s.URL(), "next", "--count=5", "orders"); got != clitest.Lines(6, 10) {
			t.Errorf("then: %q", got)
		}
		if got := clitest.Must(t, "next", "orders", "--redis", s.URL()); got != "orders/11\n" {
			t.Errorf("one: %q", got)
		}
		if got := clitest.Must(t, "next", "orders", "--count", "2500", "--redis", s.URL()); got != clitest.Lines(12, 2511) {
			t.Errorf("many: %d bytes", len(got))
		}
		s.Initialize("Other")
		if got := clitest.Must(t, "next", "Orders", "--namespace", "Other", "--separator", ":", "--redis", s.URL()); got != "Orders:1\n" {
			t.Errorf("elsewhere: %q", got)
		}
	})
}

func TestNextCarriesPrefixAndTag(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		clitest.Must(t, "settings", "set", "NorthServer/", "--tag", "A", "--redis", s.URL())
		if got := clitest.Must(t, "next", "orders", "--count", "2", "--redis", s.URL()); got != "orders/NorthServer/1-A\norders/NorthServer/2-A\n" {
			t.Errorf("%q", got)
		}
	})
}

func TestNextGoesOnBesideAServerThatHangs(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		clitest.Must(t, "settings", "set", "NorthServer/", "--redis", s.URL())
		hung, err := net.Listen("tcp", "127.0.0.1:0") // the kernel accepts, and nothing is read
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = hung.Close() })
		flags := []string{"--redis", "south=redis://" + hung.Addr().String(), "--redis", "north=" + s.URL(), "--timeout", "1s"}
		for command, want := range map[string]string{"next orders": "orders/NorthServer/1\n", "id orders/": "orders/NorthServer/0000000000000000001\n"} {
			if r := clitest.Hilo(t, append(strings.Fields(command), flags...)...); r.Code != exit.Done || r.Stdout != want {
				t.Errorf("%s: got exit %d, %q, %q, want the id of north", command, r.Code, r.Stdout, r.Stderr)
			}
		}
	})
}

func TestNextAsJSON(t *testing.T) {
	t.Parallel()
	for _, count := range []int{1, 2, 2001} {
		t.Run(fmt.Sprint(count), func(t *testing.T) {
			t.Parallel()
			got := clitest.Decode[[]string](t, clitest.Must(t, "next", "orders", "--count", fmt.Sprint(count), "--redis", "embedded:", "--output", "json"))
			if len(got) != count || got[0] != "orders/1" || got[count-1] != fmt.Sprintf("orders/%d", count) {
				t.Errorf("%d ids, %q", len(got), got[:1])
			}
		})
	}
}

func TestNextOfACollectionNamedLikeACommandOrFlag(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"help", "h", "next", "count", "--count", "-"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := clitest.Must(t, "next", "--count", "1", "--redis", "embedded:", "--", name); got != name+"/1\n" {
				t.Errorf("%q", got)
			}
		})
	}
}

func TestNextIssuesTheRestAndThenReportsExhaustion(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		clitest.Must(t, "seed", "orders", "--max", "9223372036854775805", "--redis", s.URL())
		r := clitest.Hilo(t, "next", "orders", "--count", "10", "--redis", s.URL())
		if r.Stdout != "orders/9223372036854775806\norders/9223372036854775807\n" {
			t.Errorf("stdout %q", r.Stdout)
		}
		r.Stdout = ""
		clitest.MustFail(t, exit.Refused, r, "exhausted", "continue with another name")
		clitest.MustFail(t, exit.Refused, clitest.Hilo(t, "next", "orders", "--redis", s.URL()), "exhausted")
	})
}

func TestNextOverCorruptStateChangesNothing(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		client := s.Client(t)
		if err := client.HSet(t.Context(), "{Raven}/HiLo/orders", "Max", "abc").Err(); err != nil {
			t.Fatal(err)
		}
		clitest.MustFail(t, exit.Failed, clitest.Hilo(t, "next", "orders", "--redis", s.URL()), "{Raven}/HiLo/orders", "abc", "redis-cli")
		if got := client.HGetAll(t.Context(), "{Raven}/HiLo/orders").Val(); len(got) != 1 || got["Max"] != "abc" {
			t.Errorf("%v", got)
		}
	})
}

func TestNextKeepsWhatItPrintedWhenTheServerFails(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		command, format string
		ids             int // that are printed; 0 means thousands
	}{
		{"next orders", "text", 0}, {"next orders", "json", 0}, {"identity next companies", "text", 1000}, {"identity next companies", "json", 1000},
	} {
		t.Run(test.command+" "+test.format, func(t *testing.T) {
			t.Parallel()
			s := redistest.StartMini(t)
			var stdout, stderr bytes.Buffer
			out := clitest.Writer(func(p []byte) (int, error) {
				s.Kill() // at the first chunk
				return stdout.Write(p)
			})
			err := clitest.Writer(stderr.Write)
			args := append(strings.Fields(test.command), "--count", "5000", "--timeout", "4s", "--redis", s.URL(), "--output", test.format)
			code := clitest.RunTo(t.Context(), &out, &err, args...)
			if test.format == "json" {
				clitest.Decode[[]string](t, stdout.String())
			}
			ids := strings.Count(stdout.String(), "orders/") + strings.Count(stdout.String(), "companies/")
			if ids == 0 || ids%1000 != 0 || test.ids > 0 && ids != test.ids {
				t.Errorf("%d ids", ids)
			}
			want := fmt.Sprintf("hilo: after %d ids: no Redis answers at %s", ids, s.Addr())
			if code != exit.Unavailable || !strings.HasPrefix(stderr.String(), want) {
				t.Errorf("exit %d, stderr %q, want %q", code, stderr.String(), want)
			}
		})
	}
}

// TestNextInterruptedReturnsWhatItDidNotPrint cancels, as a signal does, while the first chunk is written.
func TestNextInterruptedReturnsWhatItDidNotPrint(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		var stdout, stderr bytes.Buffer
		out := clitest.Writer(func(p []byte) (int, error) {
			cancel()
			return stdout.Write(p)
		})
		err := clitest.Writer(stderr.Write)
		code := clitest.RunTo(ctx, &out, &err, "next", "orders", "--count", "1000000", "--redis", s.URL())
		printed := strings.Count(stdout.String(), "\n")
		if want := fmt.Sprintf("hilo: interrupted after %d ids\n", printed); code != exit.Failed || stderr.String() != want {
			t.Errorf("exit %d, stderr %q, want %q", code, stderr.String(), want)
		}
		if got, want := clitest.Must(t, "next", "orders", "--redis", s.URL()), fmt.Sprintf("orders/%d\n", printed+1); got != want {
			t.Errorf("the next one is %q, want %q", got, want)
		}
	})
}

func TestNextReportsWhatIsLostWhenItsOutputFails(t *testing.T) {
	t.Parallel()
	for _, format := range []string{"text", "json"} {
		t.Run(format, func(t *testing.T) {
			t.Parallel()
			var stderr bytes.Buffer
			out := clitest.Writer(func([]byte) (int, error) { return 0, errors.New("broken pipe") })
			err := clitest.Writer(stderr.Write)
			code := clitest.RunTo(t.Context(), &out, &err, "next", "orders", "--count", "3000", "--redis", "embedded:", "--output", format)
			const want = "hilo: the output broke off (broken pipe): 1000 ids had been taken, of which some may not have been written\n"
			if code != exit.Failed || stderr.String() != want {
				t.Errorf("exit %d, stderr %q", code, stderr.String())
			}
		})
	}
}

func TestNextKeepsItsWarningsAboutLostWrites(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		clitest.Must(t, "next", "orders", "--count", "5", "--redis", s.URL())
		if err := s.Client(t).HSet(t.Context(), "{Raven}/HiLo/orders", "Origin", strings.Repeat("f", 40)).Err(); err != nil {
			t.Fatal(err)
		}
		r := clitest.Hilo(t, "next", "orders", "--redis", s.URL())
		if r.Code != exit.Done || !strings.Contains(r.Stderr, "jump") {
			t.Errorf("%+v", r)
		}
	})
}

func TestIDWriterWritesAnyTextAsJSON(t *testing.T) {
	t.Parallel()
	got := clitest.Decode[[]string](t, clitest.Must(t, "next", `o"rd\ers<é>`, "--redis", "embedded:", "--output", "json"))
	if want := `o"rd\ers<é>/1`; len(got) != 1 || got[0] != want {
		t.Errorf("%q", got)
	}
}
