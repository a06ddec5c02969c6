package cli

import (
	"runtime"
	"runtime/debug"

	"github.com/urfave/cli/v2"
)

// build is what the binary knows of itself. A field is empty where the build did not say.
type build struct {
	Version  string `json:"version"`
	Revision string `json:"revision,omitempty"`
	Time     string `json:"time,omitempty"`
	Modified bool   `json:"modified,omitempty"` // the work tree had changes that no revision holds
	Go       string `json:"go"`
	Platform string `json:"platform"`
}

func newVersionFlag() cli.Flag {
	return &cli.BoolFlag{Name: "version", Usage: "show the version", DisableDefaultText: true}
}

func newVersionCommand(env Env) *cli.Command {
	return command(&cli.Command{
		Name:      "version",
		Usage:     "show which hilo this is",
		UsageText: "hilo version",
		Description: describe("Shows the module's version, the revision it was built from, and the Go that built it.",
			[]string{"hilo version --output json"}),
		Action: func(c *cli.Context) error { return runVersion(c, env) },
	})
}

func runVersion(c *cli.Context, env Env) error {
	if _, err := takeArguments(c); err != nil {
		return err
	}
	g, err := readServerless(c, env)
	if err != nil {
		return err
	}
	b := build{Version: "unknown", Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
	if info, ok := debug.ReadBuildInfo(); ok {
		b.read(info)
	}
	if g.JSON {
		return g.writeJSON(b)
	}
	return g.printf("%s\n", b.String())
}

func (b *build) read(info *debug.BuildInfo) {
	if info.Main.Version != "" {
		b.Version = info.Main.Version
	}
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			b.Revision = s.Value
		case "vcs.time":
			b.Time = s.Value
		case "vcs.modified":
			b.Modified = s.Value == "true"
		}
	}
}

func (b *build) String() string {
	text := "hilo " + b.Version
	if b.Revision != "" {
		text += " (" + b.Revision
		if b.Modified {
			text += ", modified"
		}
		text += ")"
	}
	return text + " " + b.Go + " " + b.Platform
}
