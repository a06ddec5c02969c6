package base

import (
	"io"

	"github.com/hilo-id/hilo/cli/internal/target"
	"github.com/hilo-id/hilo/cli/internal/term"
)

// Env holds the streams and the environment of the process, for commands.
type Env struct {
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	// LookupEnv reads an environment variable; nil means that there are none.
	LookupEnv func(name string) (string, bool)
	// SetRedisLog sets the logger of go-redis for the whole process; nil leaves it as it is.
	SetRedisLog func(target.RedisLog)
}

// Lookup reads an environment variable.
func (e Env) Lookup(name string) (string, bool) {
	if e.LookupEnv == nil {
		return "", false
	}
	return e.LookupEnv(name)
}

// Style returns the style of stdout or stderr.
func (e Env) Style(w io.Writer) term.Style { return term.StyleOf(w, e.Lookup) }
