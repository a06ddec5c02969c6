package cli

import "github.com/hilo-id/hilo/cli/internal/finding"

// The types of this file are what the commands of package examine print as JSON. clitest.Decode refuses a field that they lack.

type diagnosis struct {
	Namespace string           `json:"namespace"`
	Servers   []examinedServer `json:"servers"`
	finding.All
}

type examinedServer struct {
	Server  string `json:"server,omitempty"`
	Address string `json:"address"`
}

type benchReport struct {
	Namespace       string        `json:"namespace"`
	Workers         int           `json:"workers"`
	TargetRate      int64         `json:"targetRate"`
	Warmup          float64       `json:"warmupSeconds"`
	Interrupted     bool          `json:"interrupted"`
	Seconds         float64       `json:"seconds"`
	IDs             int64         `json:"ids"`
	PerSecond       float64       `json:"perSecond"`
	CallsThatWaited int64         `json:"callsThatWaited"`
	RoundTripsPerID float64       `json:"roundTripsPerId"`
	BurntPerID      float64       `json:"burntPerId"`
	Latency         benchLatency  `json:"latencyNanoseconds"`
	Sampling        benchSampling `json:"sampling"`
	Total           benchTallies  `json:"total"`
	Collections     []benchOf     `json:"collections"`
}

type benchOf struct {
	Collection string `json:"collection"`
	benchTallies
}

type benchTallies struct {
	Ranges   int64 `json:"ranges"`
	Reserved int64 `json:"reserved"`
	Issued   int64 `json:"issued"`
	Returned int64 `json:"returned"`
	Burnt    int64 `json:"burnt"`
	Held     int64 `json:"held"`
	Waits    int64 `json:"waits"`
	Failures int64 `json:"failures"`
}

type benchLatency struct {
	P50      int64 `json:"p50"`
	P99      int64 `json:"p99"`
	P999     int64 `json:"p999"`
	P9999    int64 `json:"p9999"`
	Greatest int64 `json:"greatest"`
}

type benchSampling struct {
	OneIn  int   `json:"oneIn"`
	Timed  int64 `json:"timed"`
	Waited int64 `json:"waited"`
	Clock  int64 `json:"clockNanoseconds"`
}

type verifyReport struct {
	Namespace   string           `json:"namespace"`
	Proven      bool             `json:"proven"`
	Interrupted bool             `json:"interrupted"`
	Processes   bool             `json:"processes"`
	Workers     int              `json:"workers"`
	Killed      int              `json:"killed"`
	Lost        int              `json:"lost"`
	IDs         int64            `json:"ids"`
	Duplicates  int64            `json:"duplicates"`
	Seconds     float64          `json:"seconds"`
	PerSecond   float64          `json:"perSecond"`
	Ranges      int64            `json:"ranges"`
	Jumps       int64            `json:"jumps"`
	Returned    int64            `json:"returned"`
	Burnt       int64            `json:"burnt"`
	Unused      int64            `json:"unused"`
	Failures    int64            `json:"failures"`
	Servers     []verifyServer   `json:"servers"`
	Outages     []verifyOutage   `json:"outages"`
	Collections []verifySeries   `json:"collections"`
	Repeated    []verifyRepeated `json:"repeated"`
}

type verifyServer struct {
	Name       string `json:"name"`
	Prefix     string `json:"prefix"`
	Tag        string `json:"tag"`
	Identities bool   `json:"identities"`
	Temporary  bool   `json:"temporary"`
	Left       int    `json:"left"`
}

type verifyOutage struct {
	Server  string  `json:"server"`
	From    string  `json:"from"`
	To      string  `json:"to"`
	Seconds float64 `json:"seconds"`
	Changed bool    `json:"changed"`
	Reason  string  `json:"reason"`
}

type verifySeries struct {
	Collection string `json:"collection"`
	Prefix     string `json:"prefix"`
	Tag        string `json:"tag"`
	IDs        int64  `json:"ids"`
	Duplicates int64  `json:"duplicates"`
	Greatest   int64  `json:"greatest"`
	Gaps       int64  `json:"gaps"`
	Missing    int64  `json:"missing"`
	Max        int64  `json:"max"`
	Ranges     int64  `json:"ranges"`
	Epoch      int64  `json:"epoch"`
}

type verifyRepeated struct {
	First   string `json:"first"`
	Last    string `json:"last"`
	IDs     int64  `json:"ids"`
	Times   int    `json:"times"`
	Workers []int  `json:"workers"`
}
