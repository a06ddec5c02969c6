package cli

import (
	"cmp"
	"context"
	"runtime"
	"runtime/debug"

	"github.com/urfave/cli/v3"

	"github.com/hilo-id/hilo/cli/internal/base"
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

func newVersionCommand(env base.Env) *cli.Command {
	return &cli.Command{
		Name:      "version",
		Usage:     "show which hilo this is",
		UsageText: "hilo version",
		Description: base.Describe("Shows the module's version, the revision it was built from, and the Go that built it.",
			[]string{"hilo version --output json"}),
		Action: base.Action(env, func(r *base.Reader) base.Runner {
			r.Arguments()
			return version{r.Serverless()}
		}),
	}
}

// version shows what the binary knows of itself.
type version struct{ *base.Session }

func (v version) Run(context.Context) error {
	b := build{Version: "unknown", Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
	if info, ok := debug.ReadBuildInfo(); ok {
		b.read(info)
	}
	return v.Show(b, func() error { return v.Printf("%s\n", b.String()) })
}

func (b *build) read(info *debug.BuildInfo) {
	said := make(map[string]string)
	for _, s := range info.Settings {
		said[s.Key] = s.Value
	}
	b.Version = cmp.Or(info.Main.Version, b.Version)
	b.Revision, b.Time, b.Modified = said["vcs.revision"], said["vcs.time"], said["vcs.modified"] == "true"
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
