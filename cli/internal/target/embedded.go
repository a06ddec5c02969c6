package target

import (
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/alicebob/miniredis/v2/server"

	"github.com/hilo-id/hilo/prefix"
)

// Embedded is a Redis stand-in in this process. Addr and the methods after it are for one that was started.
//
// It is new with each process, so nobody has to say so: a namespace without settings gets them before they are read, or before the
// first script that issues or seeds there. Settings that are removed later stay removed, as on any server.
type Embedded struct{ *miniredis.Miniredis }

// NewEmbedded returns an Embedded that is not started yet.
func NewEmbedded() Embedded { return Embedded{miniredis.NewMiniRedis()} }

// Start starts the server on a free port of the loopback.
func (e Embedded) Start() error { return e.StartAddr("127.0.0.1:0") }

// StartAddr starts the server at an address.
func (e Embedded) StartAddr(addr string) error {
	if err := e.Miniredis.StartAddr(addr); err != nil {
		return err
	}
	var seen sync.Map // keys of settings
	e.Server().SetPreHook(func(_ *server.Peer, cmd string, args ...string) bool {
		if key, configures := settingsOf(cmd, args); key != "" {
			if _, before := seen.LoadOrStore(key, true); !before && !configures {
				e.initialize(key)
			}
		}
		return false
	})
	return nil
}

// settingsOf returns the key of the settings that a command reads, or that a script on a counter has as its second key, or "".
// configures reports a script on the settings alone, which makes them itself. The commands of a script come here too, while it holds
// the lock of the server, so its keys have to be known before.
func settingsOf(cmd string, args []string) (key string, configures bool) {
	switch {
	case (cmd == "HMGET" || cmd == "EXISTS") && len(args) > 0:
		key = args[0]
	case (cmd == "EVAL" || cmd == "EVALSHA") && len(args) > 2:
		keys, err := strconv.Atoi(args[1])
		switch configures = keys == 1; {
		case err != nil:
		case configures:
			key = args[2]
		case keys > 1 && len(args) > 3:
			key = args[3]
		}
	}
	if !strings.HasSuffix(key, strings.TrimPrefix(prefix.NewKeys("").Server(), "{")) {
		return "", false
	}
	return key, configures
}

// Initialize makes the settings of a namespace, if there are none.
func (e Embedded) Initialize(namespace string) { e.initialize(prefix.NewKeys(namespace).Server()) }

func (e Embedded) initialize(key string) {
	if !e.Exists(key) {
		e.HSet(key, "Initialized", time.Now().UTC().Format(time.RFC3339))
	}
}

// Close stops the server, if it runs, after the commands in flight. That order is why it replaces the method of miniredis, which
// drops its listener first: an INFO in flight would then end the process.
func (e Embedded) Close() {
	if server := e.Server(); server != nil {
		e.CtxCancel() // ends commands that wait
		server.Close()
	}
	e.Miniredis.Close()
}
