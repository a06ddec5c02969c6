package cli

import (
	"cmp"
	"context"
	"runtime"
	"runtime/debug"

	"github.com/urfave/cli/v2"

	"github.com/hilo-id/hilo/cli/internal/base"
)

// build describes the binary. A field that the build did not record is empty.
type build struct {
	Version  string `json:"version"`
	Revision string `json:"revision,omitempty"`
	Time     string `json:"time,omitempty"`
	Modified bool   `json:"modified,omitempty"` // the work tree had uncommitted changes
	Go       string `json:"go"`
	Platform string `json:"platform"`
}

func newVersionCommand(env base.Env) *cli.Command {
	return &cli.Command{
		Name:      "version",
		Usage:     "print the version",
		UsageText: "hilo version",
		Description: base.Describe("Shows the module's version, the revision it was built from, and the Go that built it.",
			[]string{"hilo version --output json"}),
		Action: base.Action(env, func(r *base.Reader) base.Runner {
			r.Arguments()
			return version{r.SessionWithoutRedis()}
		}),
	}
}

// version is the command that shows the build of the binary.
type version struct{ *base.Session }

func (v version) Run(context.Context) error {
	b := build{Version: "unknown", Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
	if info, ok := debug.ReadBuildInfo(); ok {
		b.read(info)
	}
	return v.Show(b, func() error { return v.Printf("%s\n", b.String()) })
}

func (b *build) read(info *debug.BuildInfo) {
	settings := make(map[string]string)
	for _, s := range info.Settings {
		settings[s.Key] = s.Value
	}
	b.Version = cmp.Or(info.Main.Version, b.Version)
	b.Revision, b.Time, b.Modified = settings["vcs.revision"], settings["vcs.time"], settings["vcs.modified"] == "true"
}

func (b *build) String() string {
	revision := b.Revision
	if b.Modified {
		revision += ", modified"
	}
	if b.Revision != "" {
		revision = " (" + revision + ")"
	}
	return "hilo " + b.Version + revision + " " + b.Go + " " + b.Platform
}
