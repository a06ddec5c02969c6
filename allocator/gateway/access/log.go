package access

import (
	"strconv"

	"go.uber.org/zap/zapcore"
)

// quoting returns a core that escapes what does not print in messages, because those of net/http quote clients.
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

// quoted returns text with everything escaped that does not print, so that it can be logged.
func quoted(text string) string {
	q := strconv.Quote(text)
	return q[1 : len(q)-1]
}
