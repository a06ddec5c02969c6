package slogging_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
	"go.uber.org/goleak"
	"go.uber.org/zap"

	"github.com/hilo-id/hilo/allocator"
	"github.com/hilo-id/hilo/allocator/recipes/slogging"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func Example() {
	server, err := miniredis.Run() // or any Redis
	if err != nil {
		panic(err)
	}
	server.HSet("{Raven}/ServerPrefixForHilo", "Initialized", "by hand") // once, as hilo init does
	defer server.Close()
	client := redis.NewClient(&redis.Options{Addr: server.Addr()})
	defer client.Close()
	levelAndKey := func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.LevelKey || a.Key == "key" {
			return a
		}
		return slog.Attr{}
	}

	logger := slog.New(slog.NewTextHandler(os.Stdout, &slog.HandlerOptions{ReplaceAttr: levelAndKey}))
	options := allocator.Options{Logger: slogging.Zap(logger)}
	ids, err := allocator.New(client, options)
	if err != nil {
		panic(err)
	}
	defer func() { _ = ids.Close(context.Background()) }()
	_, err = ids.NextIdentity(context.Background(), "companies")
	fmt.Println(err)
	server.FlushAll() // Redis loses its data
	_, err = ids.NextIdentity(context.Background(), "companies")
	fmt.Println(err)
	// Output:
	// level=INFO key={Raven}/Identities/companies
	// <nil>
	// level=ERROR key={Raven}/Identities/companies
	// <nil>
}

func TestZapKeepsLevelsAndFields(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	log := slogging.Zap(slog.New(slog.NewJSONHandler(&out, nil)))
	log.Debug("not enabled")
	log.With(zap.String("server", "north")).Warn("text", zap.Error(errors.New("refused")), zap.Int64("max", 1<<60), zap.Duration("took", time.Second))
	var got map[string]any
	decoder := json.NewDecoder(&out)
	decoder.UseNumber()
	if err := decoder.Decode(&got); err != nil {
		t.Fatal(err)
	}
	delete(got, "time")
	if text, want := fmt.Sprint(got), "map[error:refused level:WARN max:1152921504606846976 msg:text server:north took:1000000000]"; text != want || decoder.More() {
		t.Errorf("got %s, want %s and no other line", text, want)
	}
	for level, logged := range map[string]func(string, ...zap.Field){"INFO": log.Info, "ERROR": log.Error} {
		out.Reset()
		logged("text")
		if err := json.Unmarshal(out.Bytes(), &got); err != nil || got["level"] != level {
			t.Errorf("got level %v, %v, want %s", got["level"], err, level)
		}
	}
}
