package web

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"

	"github.com/hilo-id/hilo/cli/internal/exit"
)

// fixture is a reloaded value whose file holds its text. The text "broken" is invalid.
type fixture struct {
	*reloaded[string]
	t     *testing.T
	clock time.Time
	reads int
	logs  *observer.ObservedLogs
}

func newFixture(t *testing.T) *fixture {
	t.Helper()
	f := &fixture{t: t, clock: time.Now()}
	var core zapcore.Core
	core, f.logs = observer.New(zapcore.WarnLevel)
	file := filepath.Join(t.TempDir(), "value")
	f.reloaded = &reloaded[string]{files: []string{file}, log: zap.New(core), now: func() time.Time { return f.clock }, read: func() (string, error) {
		f.reads++
		text, err := os.ReadFile(file)
		if err == nil && string(text) == "broken" {
			err = exit.Usagef("a broken value")
		}
		return string(text), err
	}}
	f.write("first", -time.Hour)
	if err := f.load(); err != nil {
		t.Fatal(err)
	}
	return f
}

// write replaces the file and sets its modification time to age relative to the clock.
func (f *fixture) write(text string, age time.Duration) {
	f.t.Helper()
	if err := os.WriteFile(f.files[0], []byte(text), 0o600); err != nil {
		f.t.Fatal(err)
	}
	at := f.clock.Add(age)
	if err := os.Chtimes(f.files[0], at, at); err != nil {
		f.t.Fatal(err)
	}
}

func (f *fixture) expect(want string, reads int) {
	f.t.Helper()
	if got := f.get(); got != want || f.reads != reads {
		f.t.Errorf("got %q after %d reads, want %q after %d", got, f.reads, want, reads)
	}
}

func TestReloadedReadsChangedFiles(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.write("second", 0)
	f.expect("first", 1) // before the next check
	f.clock = f.clock.Add(checkInterval)
	f.expect("second", 2)
	f.write("secona", -checkInterval) // same size and modification time
	f.clock = f.clock.Add(checkInterval)
	f.expect("secona", 3)
	f.clock = f.clock.Add(time.Hour)
	f.expect("secona", 3)
}

func TestReloadedKeepsItsValueWhenFilesAreInvalid(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.write("broken", 0)
	for range 3 {
		f.clock = f.clock.Add(checkInterval)
		f.expect("first", f.reads+1)
	}
	if err := os.Remove(f.files[0]); err != nil {
		t.Fatal(err)
	}
	f.clock = f.clock.Add(checkInterval)
	f.expect("first", f.reads+1)
	if got := f.logs.Len(); got != 2 {
		t.Errorf("got %d warnings, want one for each error", got)
	}
	f.write("second", -time.Hour)
	f.clock = f.clock.Add(checkInterval)
	f.expect("second", f.reads+1)
}
