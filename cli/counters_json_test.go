package cli

import (
	"github.com/hilo-id/hilo/allocator/admin"
	"github.com/hilo-id/hilo/allocator/headroom"
	"github.com/hilo-id/hilo/cli/internal/finding"
)

// The types of this file are what the commands of package counters print as JSON. clitest.Decode refuses a field that they lack.

type listed struct {
	Server     string              `json:"server,omitempty"`
	Collection string              `json:"collection"`
	Max        int64               `json:"max"`
	Ceiling    int64               `json:"ceiling"`
	Ranges     int64               `json:"ranges"`
	Jumps      int64               `json:"jumps"`
	Born       string              `json:"born,omitempty"`
	Headroom   []headroom.Headroom `json:"headroom"`
}

type listedIdentity struct {
	Server   string              `json:"server,omitempty"`
	Name     string              `json:"name"`
	Value    int64               `json:"value"`
	Ceiling  int64               `json:"ceiling"`
	Jumps    int64               `json:"jumps"`
	Born     string              `json:"born,omitempty"`
	Headroom []headroom.Headroom `json:"headroom"`
}

type inspected struct {
	Server     string              `json:"server,omitempty"`
	Collection string              `json:"collection"`
	Kind       admin.Kind          `json:"kind"`
	Max        int64               `json:"max"`
	Ceiling    int64               `json:"ceiling"`
	Ranges     int64               `json:"ranges"`
	Jumps      int64               `json:"jumps"`
	Born       string              `json:"born,omitempty"`
	Origin     string              `json:"origin"`
	Durable    string              `json:"durable"`
	Key        string              `json:"key"`
	Headroom   []headroom.Headroom `json:"headroom"`
}

type seeded struct {
	Collection string `json:"collection"`
	Max        int64  `json:"max"`
	Before     int64  `json:"before"`
	Requested  int64  `json:"requested"`
	Applied    bool   `json:"applied"`
}

type seededIdentity struct {
	Name      string `json:"name"`
	Value     int64  `json:"value"`
	Before    int64  `json:"before"`
	Requested int64  `json:"requested"`
	Applied   bool   `json:"applied"`
}

type plannedChange struct {
	Collection string     `json:"collection"`
	Kind       admin.Kind `json:"kind"`
	Requested  int64      `json:"requested"`
	Before     *int64     `json:"before"`
	After      int64      `json:"after"`
}

type plannedChanges struct {
	DryRun   bool            `json:"dryRun"`
	New      int             `json:"new"`
	Raised   int             `json:"raised"`
	Stay     int             `json:"stay"`
	Lost     int             `json:"lost"`
	Counters []plannedChange `json:"counters"`
}

type scanned struct {
	Scanned int64 `json:"scanned"`
	Matched int64 `json:"matched"`
	LeftOut int64 `json:"leftOut"`
	plannedChanges
}

type imported struct {
	Prefix     string `json:"prefix"`
	Tag        string `json:"tag"`
	Identities bool   `json:"identities"`
	PrefixSet  bool   `json:"prefixSet"`
	plannedChanges
}

type shownSettings struct {
	Initialized bool   `json:"initialized"`
	Prefix      string `json:"prefix"`
	Tag         string `json:"tag"`
	Identities  bool   `json:"identities"`
	Durable     string `json:"durable"`
	MinValue    int64  `json:"minValue,omitempty"`
	MaxValue    int64  `json:"maxValue,omitempty"`
	SeededOnly  bool   `json:"seededOnly"`
	Example     string `json:"example"`
}

type initialized struct {
	shownSettings
	Restart string   `json:"restart"`
	Notes   []string `json:"notes"`
}

type comparedServers struct {
	Servers []comparedServer `json:"servers"`
	finding.All
}

type comparedServer struct {
	Server string `json:"server,omitempty"`
	shownSettings
}
