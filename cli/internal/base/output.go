package base

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"github.com/hilo-id/hilo/cli/internal/exit"
	"github.com/hilo-id/hilo/cli/internal/term"
)

// WriteJSON writes one JSON value, indented for people, since machines do not mind.
func (g *Session) WriteJSON(value any) error {
	encoder := json.NewEncoder(g.Stdout)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	return exit.Written(encoder.Encode(value))
}

// Show writes a result, as JSON or by what writes its text.
func (g *Session) Show(value any, text func() error) error {
	if g.JSON {
		return g.WriteJSON(value)
	}
	return text()
}

// Printf writes a result as text: whole lines, broken between words on a terminal that is too narrow.
func (g *Session) Printf(format string, values ...any) error {
	_, err := fmt.Fprintf(term.Fold(g.Stdout, term.Indent), format, values...)
	return exit.Written(err)
}

// Prosef is Printf for sentences: what continues one is not indented.
func (g *Session) Prosef(format string, values ...any) error {
	_, err := fmt.Fprintf(term.Fold(g.Stdout, 0), format, values...)
	return exit.Written(err)
}

// WriteTable writes a table, as a result.
func (g *Session) WriteTable(t term.Table) error { return exit.Written(t.Write(g.Stdout)) }

// NewLogger writes for a person at a terminal.
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

// redisLogger makes debug messages of what go-redis says: the errors among them come back to the caller anyway.
type redisLogger struct{ log *zap.Logger }

func (l redisLogger) Printf(_ context.Context, format string, v ...any) {
	l.log.Debug("go-redis: " + fmt.Sprintf(format, v...))
}

// WithoutReturned drops the warnings that carry an error: the allocator logs an outage as such for a program that
// goes on, but a command that ends with this error says it itself. All else, a jump of a counter above all, stays.
func WithoutReturned(log *zap.Logger) *zap.Logger {
	if log.Core().Enabled(zapcore.InfoLevel) {
		return log // who asks for more gets everything
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
	if returned && entry.Level == zapcore.WarnLevel {
		return nil
	}
	return c.Core.Write(entry, fields)
}

// LogTo has all that is logged from now on go to log, also by go-redis.
func (g *Session) LogTo(log *zap.Logger) {
	g.Log = log
	if g.SetRedisLog != nil {
		g.SetRedisLog(redisLogger{log})
	}
}
