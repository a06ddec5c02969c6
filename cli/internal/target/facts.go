package target

import (
	"cmp"
	"context"
	"maps"
	"strings"
)

// Facts has the information that a node reports about itself. Info is nil if INFO is not permitted, and Config has the
// settings that the user may read.
type Facts struct{ Info, Config map[string]string }

// settings lists the settings in Facts.Config.
var settings = []string{"maxmemory-policy", "appendonly", "appendfsync", "save", "min-replicas-to-write"}

// Settings reads the settings that concern the persistence of a node. The error is nil if CONFIG is not permitted.
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

// Version returns the kind of the node and its version, or "" if that is unknown.
func (f Facts) Version() (kind, version string) {
	if version = f.Info["valkey_version"]; version != "" { // it also reports a redis_version
		return "Valkey", version
	}
	return "Redis", f.Info["redis_version"]
}

// Role returns primary or replica, or "" if unknown.
func (f Facts) Role() string {
	return map[string]string{"master": "primary", "slave": "replica"}[f.Info["role"]]
}

// MemoryPolicy returns the maxmemory-policy, or "" if unknown.
func (f Facts) MemoryPolicy() string {
	return cmp.Or(f.Config["maxmemory-policy"], f.Info["maxmemory_policy"])
}

// AppendOnly returns yes or no, or "" if unknown.
func (f Facts) AppendOnly() string {
	return cmp.Or(f.Config["appendonly"], map[string]string{"0": "no", "1": "yes"}[f.Info["aof_enabled"]])
}

// Persistence returns a short description of the persistence, or "" if unknown.
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
