package gateway

import "go.uber.org/zap/zapcore"

// quoting has messages logged with what does not print escaped: net/http puts
// into them what clients sent.
func quoting(core zapcore.Core) zapcore.Core { return quotingCore{core} }

type quotingCore struct{ zapcore.Core }

func (c quotingCore) With(fields []zapcore.Field) zapcore.Core {
	return quotingCore{c.Core.With(fields)}
}

func (c quotingCore) Check(entry zapcore.Entry, checked *zapcore.CheckedEntry) *zapcore.CheckedEntry {
	if c.Enabled(entry.Level) {
		return checked.AddCore(entry, c)
	}
	return checked
}

func (c quotingCore) Write(entry zapcore.Entry, fields []zapcore.Field) error {
	entry.Message = quoted(entry.Message)
	return c.Core.Write(entry, fields)
}
