// Package once answers a request that is sent again as it was answered before.
package once

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"sync"
	"time"
)

const (
	// maxAnswers is the number of answers that are remembered at once, and memory for how long.
	maxAnswers = 100_000
	memory     = time.Minute
)

// ID is a digest of what identifies a request, whose length clients choose. The zero ID is of a request that cannot be identified.
type ID [sha256.Size]byte

// IDOf returns the digest of texts.
func IDOf(texts ...string) ID { return sha256.Sum256([]byte(strings.Join(texts, "\x00"))) }

// String returns the digest as text, which is empty for the zero ID.
func (id ID) String() string {
	if id == (ID{}) {
		return ""
	}
	return hex.EncodeToString(id[:16])
}

// Answers remembers answers. The zero value has none. It is safe for concurrent use.
type Answers struct {
	mu  sync.Mutex // guards what follows
	all map[ID]*answer
}

type answer struct {
	mu    sync.Mutex // held while the request is in flight; guards what follows
	known bool
	value int64
}

// Do returns what send returns, or what it returned without an error for the same ID within the last minute. Requests with one ID
// wait for each other. Beyond maxAnswers an answer is not remembered.
func (a *Answers) Do(id ID, send func() (int64, error)) (_ int64, err error) {
	one := a.get(id)
	one.mu.Lock()
	defer one.mu.Unlock()
	if !one.known {
		one.value, err = send()
		one.known = err == nil
	}
	return one.value, err
}

func (a *Answers) get(id ID) *answer {
	a.mu.Lock()
	defer a.mu.Unlock()
	if one := a.all[id]; one != nil {
		return one
	}
	one := new(answer)
	if id != (ID{}) && len(a.all) < maxAnswers {
		if a.all == nil {
			a.all = make(map[ID]*answer)
		}
		a.all[id] = one
		time.AfterFunc(memory, func() { a.forget(id) })
	}
	return one
}

func (a *Answers) forget(id ID) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.all, id)
}
