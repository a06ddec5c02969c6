// Package slogging passes on what an allocator logs to a *slog.Logger. Its Options
// take a *zap.Logger. zap's own bridge, zapslog, is for the other direction: it makes
// zap write what a program logs with slog.
package slogging

import (
	"context"
	"log/slog"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
)

// Zap returns a logger for allocator.Options that writes to a *slog.Logger.
func Zap(logger *slog.Logger) *zap.Logger { return zap.New(core{logger.Handler()}) }

type core struct{ handler slog.Handler }

func (c core) Enabled(level zapcore.Level) bool {
	return c.handler.Enabled(context.Background(), levelOf(level))
}

func (c core) With(fields []zapcore.Field) zapcore.Core {
	return core{c.handler.WithAttrs(attrsOf(fields))}
}

func (c core) Check(entry zapcore.Entry, checked *zapcore.CheckedEntry) *zapcore.CheckedEntry {
	if c.Enabled(entry.Level) {
		return checked.AddCore(entry, c)
	}
	return checked
}

func (c core) Write(entry zapcore.Entry, fields []zapcore.Field) error {
	record := slog.NewRecord(entry.Time, levelOf(entry.Level), entry.Message, 0)
	record.AddAttrs(attrsOf(fields)...)
	return c.handler.Handle(context.Background(), record)
}

func (core) Sync() error { return nil }

// levelOf relies on the distances: 1 in zap, 4 in slog.
func levelOf(level zapcore.Level) slog.Level { return slog.Level(4 * level) }

// attrsOf does not keep zap.Namespace and zap.Inline, which hilo does not use.
func attrsOf(fields []zapcore.Field) []slog.Attr {
	attrs := make([]slog.Attr, len(fields))
	for i, field := range fields {
		value := zapcore.NewMapObjectEncoder()
		field.AddTo(value)
		attrs[i] = slog.Any(field.Key, value.Fields[field.Key])
	}
	return attrs
}
