package target

import (
	"cmp"
	"context"
	"maps"
	"strings"
)

// Facts are what a node reports about itself: Info is nil where it may not be called, and Config has the settings that may be
// read.
type Facts struct{ Info, Config map[string]string }

// settings are those of Facts.Config.
var settings = []string{"maxmemory-policy", "appendonly", "appendfsync", "save", "min-replicas-to-write"}

// Settings reads the settings that bear on what a node keeps. The error is nil where CONFIG is not permitted.
func (c *Client) Settings(ctx context.Context) (map[string]string, error) {
	config := make(map[string]string)
	for _, setting := range settings {
		got, err := c.ConfigGet(ctx, setting)
		if Answered(err) {
			break
		}
		if err != nil {
			return config, err
		}
		maps.Copy(config, got)
	}
	return config, nil
}

// Version returns the kind of the node and its version, which is "" where it is not known.
func (f Facts) Version() (kind, version string) {
	if version = f.Info["valkey_version"]; version != "" { // it has a redis_version, too
		return "Valkey", version
	}
	return "Redis", f.Info["redis_version"]
}

// Role returns primary or replica, or "" where it is not known.
func (f Facts) Role() string {
	return map[string]string{"master": "primary", "slave": "replica"}[f.Info["role"]]
}

// MemoryPolicy returns the maxmemory-policy, or "" where it is not known.
func (f Facts) MemoryPolicy() string {
	return cmp.Or(f.Config["maxmemory-policy"], f.Info["maxmemory_policy"])
}

// AppendOnly returns yes or no, or "" where it is not known.
func (f Facts) AppendOnly() string {
	return cmp.Or(f.Config["appendonly"], map[string]string{"0": "no", "1": "yes"}[f.Info["aof_enabled"]])
}

// Persistence returns in a few words what is kept of the data, and how, or "" where it is not known.
func (f Facts) Persistence() string {
	save, known := f.Config["save"]
	switch {
	case f.AppendOnly() == "yes":
		return strings.TrimSpace("AOF " + f.Config["appendfsync"])
	case f.AppendOnly() == "":
		return ""
	case save != "":
		return "snapshots"
	case known:
		return "none"
	}
	return "no AOF"
}
