package cli

// The types of this file are what the commands of package run print as JSON. clitest.Decode refuses a field that they lack.

type probeAnswer struct {
	Ready  bool   `json:"ready"`
	Status int    `json:"status"`
	Answer string `json:"answer"`
}
