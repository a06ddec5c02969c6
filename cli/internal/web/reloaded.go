package web

import (
	"io/fs"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"go.uber.org/zap"
)

const (
	// checkInterval is the minimum time between two checks of the same files.
	checkInterval = time.Second
	// settleTime is the age at which a modification time identifies a version of a file. Two writes within a tick of the file
	// system's clock may have the same modification time.
	settleTime = 2 * time.Second
)

// reloaded is a value that is read from files. It needs no goroutine, since get reloads files that have changed.
type reloaded[T any] struct {
	files []string
	read  func() (T, error)
	log   *zap.Logger
	now   func() time.Time

	value atomic.Pointer[T]
	due   atomic.Int64 // time of the next check, in nanoseconds

	mu     sync.Mutex // guards what follows, and is held while files are read
	known  []fs.FileInfo
	failed string // last logged error
}

// load reads the files initially.
func (r *reloaded[T]) load() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.due.Store(r.now().Add(checkInterval).UnixNano())
	return r.reload()
}

// get returns the value. If changed files cannot be used, it logs a warning and returns the previous value.
func (r *reloaded[T]) get() T {
	now := r.now()
	if due := r.due.Load(); now.UnixNano() >= due && r.due.CompareAndSwap(due, now.Add(checkInterval).UnixNano()) && r.mu.TryLock() {
		defer r.mu.Unlock()
		if r.failed != "" || r.changed(now) {
			switch err := r.reload(); {
			case err == nil:
				r.failed = ""
				r.log.Info("files were read again", zap.Strings("files", r.files))
			case err.Error() != r.failed:
				r.failed = err.Error()
				r.log.Warn("files changed and cannot be used; continuing with what they held before", zap.Strings("files", r.files), zap.Error(err))
			}
		}
	}
	return *r.value.Load()
}

// reload reads the files. The caller holds mu.
func (r *reloaded[T]) reload() error {
	r.known = r.stat()
	value, err := r.read()
	if err == nil {
		r.value.Store(&value)
	}
	return err
}

// stat returns the FileInfo of each file, or nil.
func (r *reloaded[T]) stat() []fs.FileInfo {
	infos := make([]fs.FileInfo, len(r.files))
	for i, file := range r.files {
		infos[i], _ = os.Stat(file) // read reports the error
	}
	return infos
}

// changed reports whether a file may have changed since it was read. The caller holds mu.
func (r *reloaded[T]) changed(now time.Time) bool {
	return !slices.EqualFunc(r.stat(), r.known, func(info, known fs.FileInfo) bool {
		if info == nil || known == nil {
			return info == known
		}
		return os.SameFile(info, known) && info.ModTime().Equal(known.ModTime()) && info.Size() == known.Size() &&
			now.Sub(info.ModTime()) >= settleTime+checkInterval
	})
}
