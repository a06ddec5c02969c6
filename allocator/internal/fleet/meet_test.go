package fleet

import (
	"fmt"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"

	"github.com/hilo-id/hilo/scripts"
)

func TestMeetLogsTwoServersBehindOneAddressOnce(t *testing.T) {
	t.Parallel()
	type reply struct {
		sent, received time.Duration // in seconds
		origin         string
	}
	after := func(origins ...string) (all []reply) { // each request is sent when the one before was answered
		for i, origin := range origins {
			at := time.Duration(2*i+1) * time.Second
			all = append(all, reply{at, at + time.Second, origin})
		}
		return all
	}
	var restarts []string
	for i := range 2 * maxMeetings {
		restarts = append(restarts, fmt.Sprint(i), fmt.Sprint(i))
	}
	for _, test := range []struct {
		name    string
		replies []reply
		cluster bool
		lines   int
	}{
		{"one server", after("a", "a", "a"), false, 0},
		{"restarts", after(restarts...), false, 0},
		{"restarts, of which one was not answered with INFO", after("a", "", "b", "", "b", "c"), false, 0},
		{"two servers in turn", after("a", "b", "a", "b", "a"), false, 1},
		{"three servers in turn", after("a", "b", "c", "b"), false, 1},
		{"two servers, one of which was restarted", after("a", "b", "c", "b"), false, 1},
		{"two servers, without INFO in between", after("a", "", "b", "", "a"), false, 1},
		{"a slot of a cluster that moves back", after("a", "b", "a"), true, 0},
		{"a reply from before a restart that comes late", []reply{{1 * time.Second, 2 * time.Second, "a"}, {5 * time.Second, 10 * time.Second, "b"}, {4 * time.Second, 11 * time.Second, "a"}, {12 * time.Second, 13 * time.Second, "b"}}, false, 0},
		{"a request that was on its way when the restart showed", []reply{{1 * time.Second, 2 * time.Second, "a"}, {3 * time.Second, 10 * time.Second, "b"}, {9 * time.Second, 12 * time.Second, "a"}, {13 * time.Second, 14 * time.Second, "b"}}, false, 0},
		{"replies that arrive in the wrong order", []reply{{5 * time.Second, 6 * time.Second, "b"}, {4 * time.Second, 7 * time.Second, "a"}, {8 * time.Second, 9 * time.Second, "b"}}, false, 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			core, logs := observer.New(zapcore.InfoLevel)
			var backend redisBackend
			if test.cluster {
				backend.cluster = new(redis.ClusterClient)
			}
			f := New([]Config{{Backend: backend}}, Options{Logger: zap.New(core)})
			s := f.servers[0]
			for _, r := range test.replies {
				f.Start = time.Now().Add(-r.received)
				s.recordDescription(r.sent, scripts.Description{Origin: r.origin}, nil, How{Checked: true})
			}
			if got := logs.FilterLevelExact(zapcore.ErrorLevel).Len(); got != test.lines || logs.Len() != test.lines {
				t.Errorf("got %v, want %d errors", logs.All(), test.lines)
			}
		})
	}
}
