package web

import (
	"io/fs"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"go.uber.org/zap"
)

const (
	// lookInterval is the least time between two looks at the same files.
	lookInterval = time.Second
	// settled is the age from which a file's time of modification tells it from a later version. A file that was written
	// twice within a tick of the file system's clock may have the same time.
	settled = 2 * time.Second
)

// reloaded is a value that files hold. get reads them again when they changed, so that no goroutine is needed.
type reloaded[T any] struct {
	files []string
	read  func() (T, error)
	log   *zap.Logger
	now   func() time.Time

	value atomic.Pointer[T]
	due   atomic.Int64 // when the files are looked at next, in nanoseconds

	mu     sync.Mutex // guards what follows, and is held while files are read
	known  []fs.FileInfo
	failed string // the last error that was logged
}

// load reads the files for the first time.
func (r *reloaded[T]) load() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.due.Store(r.now().Add(lookInterval).UnixNano())
	r.known = r.look()
	value, err := r.read()
	if err == nil {
		r.value.Store(&value)
	}
	return err
}

// get returns the value. If the files changed and cannot be used, it is the one before, with a warning in the log.
func (r *reloaded[T]) get() T {
	now := r.now()
	if due := r.due.Load(); now.UnixNano() >= due && r.due.CompareAndSwap(due, now.Add(lookInterval).UnixNano()) && r.mu.TryLock() {
		defer r.mu.Unlock()
		if infos := r.look(); r.failed != "" || r.changed(infos, now) {
			r.known = infos
			r.reload()
		}
	}
	return *r.value.Load()
}

// reload reads the files again, with mu held.
func (r *reloaded[T]) reload() {
	value, err := r.read()
	if err != nil {
		if err.Error() != r.failed {
			r.failed = err.Error()
			r.log.Warn("files changed and cannot be used; continuing with what they held before", zap.Strings("files", r.files), zap.Error(err))
		}
		return
	}
	r.failed = ""
	r.value.Store(&value)
	r.log.Info("files were read again", zap.Strings("files", r.files))
}

// look returns what the file system has of each file, or nil.
func (r *reloaded[T]) look() []fs.FileInfo {
	infos := make([]fs.FileInfo, len(r.files))
	for i, file := range r.files {
		infos[i], _ = os.Stat(file) // reading it reports the error
	}
	return infos
}

// changed reports whether a file may differ from what was read, with mu held.
func (r *reloaded[T]) changed(infos []fs.FileInfo, now time.Time) bool {
	for i, info := range infos {
		known := r.known[i]
		switch {
		case info == nil || known == nil:
			if info != nil || known != nil {
				return true
			}
		case !os.SameFile(info, known), !info.ModTime().Equal(known.ModTime()), info.Size() != known.Size():
			return true
		case now.Sub(info.ModTime()) < settled+lookInterval:
			return true
		}
	}
	return false
}
