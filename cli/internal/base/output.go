package base

import (
	"encoding/json"
	"io"
	"slices"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"github.com/hilo-id/hilo/cli/internal/exit"
	"github.com/hilo-id/hilo/cli/internal/target"
	"github.com/hilo-id/hilo/cli/internal/term"
)

// WriteJSON writes one JSON value, indented.
func (g *Session) WriteJSON(value any) error {
	encoder := json.NewEncoder(g.Stdout)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	return exit.Written(encoder.Encode(value))
}

// Show writes a result as JSON, or else calls text, which writes it as text.
func (g *Session) Show(value any, text func() error) error {
	if g.JSON {
		return g.WriteJSON(value)
	}
	return text()
}

// Style returns the style of stdout or stderr. With JSON it is plain and shows no progress.
func (g *Session) Style(w io.Writer) term.Style {
	if g.JSON {
		return term.Style{}
	}
	return g.Env.Style(w)
}

// NewBar returns a progress bar on stderr.
func (g *Session) NewBar(what, unit string, total int64) *term.Bar {
	return g.Style(g.Stderr).NewLive(g.Stderr).NewBar(term.Progress{What: what, Unit: unit, Total: total})
}

// GoLive returns a line at the end of stderr that can be redrawn. Later output to stderr and the log appears above it.
func (g *Session) GoLive() *term.Live {
	live := g.Style(g.Stderr).NewLive(g.Stderr)
	g.Stderr = live
	g.LogTo(NewLogger(live, g.Log.Level()))
	return live
}

// Printf writes whole lines of a result, in the style of stdout. On a terminal, long lines are broken between words.
func (g *Session) Printf(format string, values ...any) error {
	return g.write(term.Indent, format, values)
}

// Prosef is like Printf, without an indent after a break.
func (g *Session) Prosef(format string, values ...any) error { return g.write(0, format, values) }

func (g *Session) write(indent int, format string, values []any) error {
	_, err := io.WriteString(term.Fold(g.Stdout, indent), g.Style(g.Stdout).Sprintf(format, values...))
	return exit.Written(err)
}

// Table returns a table in the style of stdout, for WriteTable.
func (g *Session) Table(head ...string) term.Table {
	return term.Table{Head: head, Style: g.Style(g.Stdout)}
}

// WriteTable writes a table to stdout.
func (g *Session) WriteTable(t term.Table) error { return exit.Written(t.Write(g.Stdout)) }

// NewLogger returns a logger for people, which writes to w. It is silent if w is nil.
func NewLogger(w io.Writer, level zapcore.Level) *zap.Logger {
	if w == nil {
		return zap.NewNop()
	}
	config := zap.NewDevelopmentEncoderConfig()
	config.EncodeLevel = zapcore.LowercaseLevelEncoder
	config.EncodeTime = zapcore.TimeEncoderOfLayout("15:04:05.000")
	config.ConsoleSeparator = " "
	return zap.New(zapcore.NewCore(zapcore.NewConsoleEncoder(config), zapcore.Lock(zapcore.AddSync(term.Fold(w, term.Indent))), level))
}

// WithoutReturned returns log without entries that have an error. The allocator logs outages and refusals in this way, for programs
// that continue, but a command that ends with the error prints it itself. Other entries stay, such as jumps of a counter.
func WithoutReturned(log *zap.Logger) *zap.Logger {
	if log.Core().Enabled(zapcore.InfoLevel) {
		return log // the level was lowered to see everything
	}
	return log.WithOptions(zap.WrapCore(func(core zapcore.Core) zapcore.Core { return returnedCore{core} }))
}

type returnedCore struct{ zapcore.Core }

func (c returnedCore) With(fields []zapcore.Field) zapcore.Core {
	return returnedCore{c.Core.With(fields)}
}

func (c returnedCore) Check(entry zapcore.Entry, checked *zapcore.CheckedEntry) *zapcore.CheckedEntry {
	if c.Enabled(entry.Level) {
		return checked.AddCore(entry, c)
	}
	return checked
}

func (c returnedCore) Write(entry zapcore.Entry, fields []zapcore.Field) error {
	returned := slices.ContainsFunc(fields, func(f zapcore.Field) bool { return f.Type == zapcore.ErrorType })
	if returned {
		return nil
	}
	return c.Core.Write(entry, fields)
}

// LogTo sets the log of the session and of go-redis.
func (g *Session) LogTo(log *zap.Logger) {
	g.Log = log
	if g.SetRedisLog != nil {
		g.SetRedisLog(target.RedisLog{Logger: log})
	}
}
