package cli

import "github.com/hilo-id/hilo/allocator/headroom"

// The types of this file are what the commands of package show print as JSON. clitest.Decode refuses a field that they lack.

type demoOutcome struct {
	Workers     int              `json:"workers"`
	Seconds     float64          `json:"seconds"`
	IDs         int64            `json:"ids"`
	Duplicates  int64            `json:"duplicates"`
	Failures    int64            `json:"failures"`
	RoundTrips  int64            `json:"roundTrips"`
	Reserved    int64            `json:"reserved"`
	Returned    int64            `json:"returned"`
	Unused      int64            `json:"unused"`
	Events      []demoEvent      `json:"events"`
	Alone       demoSpeedRun     `json:"alone"`
	Collections []demoCollection `json:"collections"`
}

type demoEvent struct {
	Seconds float64 `json:"seconds"`
	What    string  `json:"what"`
}

type demoSpeedRun struct {
	Collection string  `json:"collection"`
	IDs        int64   `json:"ids"`
	Seconds    float64 `json:"seconds"`
	PerSecond  int64   `json:"perSecond"`
	RoundTrips int64   `json:"roundTrips"`
}

type demoCollection struct {
	Server     string `json:"server"`
	Collection string `json:"collection"`
	IDs        int64  `json:"ids"`
	Duplicates int64  `json:"duplicates"`
	Ranges     int64  `json:"ranges"`
	Max        int64  `json:"max"`
	Gaps       int64  `json:"gaps"`
	Unused     int64  `json:"unused"`
}

type devStarted struct {
	URL string `json:"url"`
}

type topSnapshot struct {
	Time        string          `json:"time"`
	Began       string          `json:"began"`
	Namespace   string          `json:"namespace"`
	Interval    float64         `json:"intervalSeconds"`
	Alarms      string          `json:"alarmBound"`
	Summary     topSummary      `json:"summary"`
	Servers     []topServer     `json:"servers"`
	Collections []topCollection `json:"collections"`
	Identities  []topIdentity   `json:"identities"`
	Events      []topEvent      `json:"events"`
	Removed     []topRemoved    `json:"removed,omitempty"`
}

type topSummary struct {
	Servers  topFigure `json:"servers"`
	Headroom topFigure `json:"headroom"`
	Jumps    topFigure `json:"jumps"`
	Rate     topFigure `json:"rate"`
}

type topFigure struct {
	Figure string `json:"figure"`
	Detail string `json:"detail"`
	Alarm  bool   `json:"alarm"`
}

type topServer struct {
	Name         string `json:"name"`
	Up           bool   `json:"up"`
	State        string `json:"state"`
	Since        string `json:"since,omitempty"`
	Began        bool   `json:"sinceBegan,omitempty"`
	Fault        string `json:"fault,omitempty"`
	Brief        string `json:"brief,omitempty"`
	Role         string `json:"role,omitempty"`
	Version      string `json:"version,omitempty"`
	Prefix       string `json:"prefix"`
	Tag          string `json:"tag"`
	Identities   bool   `json:"identities"`
	Durable      string `json:"durable"`
	NoSettings   bool   `json:"noSettings,omitempty"`
	Corrupt      int    `json:"corrupt"`
	MemoryPolicy string `json:"memoryPolicy,omitempty"`
	Persistence  string `json:"persistence,omitempty"`
	Replicas     int    `json:"replicas"`
	Latency      int64  `json:"latencyNanoseconds"`
}

type topCollection struct {
	Server     string `json:"server"`
	Collection string `json:"collection"`
	Ranges     int64  `json:"ranges"`
	topCounter
}

type topIdentity struct {
	Server   string `json:"server"`
	Identity string `json:"identity"`
	topCounter
}

type topCounter struct {
	Max      int64               `json:"max"`
	Ceiling  int64               `json:"ceiling"`
	Epoch    int64               `json:"epoch"`
	Rate     *float64            `json:"perSecond,omitempty"`
	Headroom []headroom.Headroom `json:"headroom"`
	Left     string              `json:"left"`
	Low      bool                `json:"low,omitempty"`
	Jumped   *topJump            `json:"jumped,omitempty"`
	Rates    [][2]float64        `json:"rates,omitempty"`
}

type topJump struct {
	Time     string `json:"time"`
	By       int64  `json:"by"`
	Epoch    int64  `json:"epoch"`
	Evidence string `json:"evidence"`
}

type topEvent struct {
	Time    string `json:"time"`
	Text    string `json:"text"`
	Trouble bool   `json:"trouble"`
}

type topRemoved struct {
	Server     string `json:"server"`
	Collection string `json:"collection,omitempty"`
	Identity   string `json:"identity,omitempty"`
}

type topHistory struct {
	Readings []topReading `json:"readings"`
	Jumps    []topJump    `json:"jumps"`
}

type topReading struct {
	Time   string  `json:"time"`
	Max    int64   `json:"max"`
	Ranges int64   `json:"ranges"`
	Rate   float64 `json:"perSecond"`
}
