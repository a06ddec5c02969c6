package cli

import "github.com/hilo-id/hilo/cli/internal/workload"

// The types of this file are what the commands of package run print as JSON. clitest.Decode refuses a field that they lack.

type workerReport struct {
	Worker      string         `json:"worker"`
	Stopped     string         `json:"stopped"`
	Seconds     float64        `json:"seconds"`
	IDs         int64          `json:"ids"`
	PerSecond   float64        `json:"perSecond"`
	NotReturned int64          `json:"notReturned"`
	Errors      int64          `json:"errors"`
	Prefixes    []workerPrefix `json:"prefixes"`
	workload.Report
}

type workerPrefix struct {
	Prefix string `json:"prefix"`
	Tag    string `json:"tag"`
	IDs    int64  `json:"ids"`
}

type probeAnswer struct {
	Ready  bool   `json:"ready"`
	Status int    `json:"status"`
	Answer string `json:"answer"`
}
