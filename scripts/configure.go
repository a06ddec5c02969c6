package scripts

import (
	"context"
	_ "embed"
	"time"

	"github.com/redis/go-redis/v9"
)

//go:embed configure.lua
var configureLua string

var configure = load(configureLua)

// SettingsFields are the fields of the server's settings, in the order of Settings.
var SettingsFields = [...]string{"ServerPrefix", "NodeTag", "Identities", "Durable", "MinValue", "MaxValue", "NewCounters"}

// Settings has the texts of the fields of SettingsFields, "" for an absent one.
type Settings [len(SettingsFields)]string

// Initialize makes the settings of a server that has none. key is the name of their key. The caller validates them.
//
// Errors: ErrInitialized if there are some, also those that the same request made, if it is sent twice; and those of Configure.
func Initialize(ctx context.Context, client redis.Scripter, key string, at time.Time, wanted Settings) error {
	return runConfigure(ctx, client, key, "init", at, Settings{}, wanted)
}

// Configure changes the settings of a server from what the caller read. The caller validates them. ErrChanged means that they are
// something else by now. It is also the error of a request that is sent twice, if it changes anything.
//
// Errors: ErrChanged, ErrNotSeeded if there are none, ErrCorrupt, ErrReply, and those of the client.
func Configure(ctx context.Context, client redis.Scripter, key string, at time.Time, read, wanted Settings) error {
	return runConfigure(ctx, client, key, "set", at, read, wanted)
}

func runConfigure(ctx context.Context, client redis.Scripter, key, verb string, at time.Time, read, wanted Settings) error {
	args := []any{verb}
	for _, settings := range []Settings{read, wanted} {
		for _, text := range settings {
			args = append(args, text)
		}
	}
	args = append(args, at.UTC().Format(time.RFC3339))
	_, err := decode(configure.Run(ctx, client, []string{key}, args...), 1)
	return err
}
