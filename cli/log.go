package cli

import (
	"context"
	"fmt"
	"io"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
)

func logLevel(name string) (level zapcore.Level, ok bool) {
	switch name {
	case "debug", "info", "warn", "error":
		level, err := zapcore.ParseLevel(name)
		return level, err == nil
	}
	return level, false
}

// logIndent is before what continues a line.
const logIndent = 3

// newLogger writes for a person at a terminal.
func newLogger(w io.Writer, level zapcore.Level) *zap.Logger {
	if w == nil {
		return zap.NewNop()
	}
	config := zap.NewDevelopmentEncoderConfig()
	config.EncodeLevel = zapcore.LowercaseLevelEncoder
	config.EncodeTime = zapcore.TimeEncoderOfLayout("15:04:05.000")
	config.ConsoleSeparator = " "
	return zap.New(zapcore.NewCore(zapcore.NewConsoleEncoder(config), zapcore.Lock(zapcore.AddSync(folded{w, logIndent})), level))
}

// redisLog makes debug messages of what go-redis says: the errors among them come back to the caller anyway.
type redisLog struct{ log *zap.Logger }

func (l redisLog) Printf(_ context.Context, format string, v ...any) {
	l.log.Debug("go-redis: " + fmt.Sprintf(format, v...))
}

// withoutReturned drops the warnings that carry an error: the allocator logs an outage as such for a program that
// goes on, but a command that ends with this error says it itself. All else, a jump of a counter above all, stays.
func withoutReturned(log *zap.Logger) *zap.Logger {
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
	for _, field := range fields {
		if field.Type == zapcore.ErrorType && entry.Level == zapcore.WarnLevel {
			return nil
		}
	}
	return c.Core.Write(entry, fields)
}
