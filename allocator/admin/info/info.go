// Package info reads what a server reports about itself: the fields of INFO, and the settings of CONFIG.
package info

import (
	"cmp"
	"strings"
)

// Fields returns the fields of a reply to INFO.
func Fields(text string) map[string]string {
	fields := make(map[string]string)
	for line := range strings.Lines(text) {
		if name, value, found := strings.Cut(strings.TrimSpace(line), ":"); found {
			fields[name] = value
		}
	}
	return fields
}

// Facts has the fields of INFO, nil if that is not permitted, and the settings of CONFIG that the user may read.
type Facts struct{ Info, Config map[string]string }

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
