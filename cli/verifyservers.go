package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/alicebob/miniredis/v2"

	"github.com/hilo-id/hilo/allocator"
	"github.com/hilo-id/hilo/prefix"
)

// host starts what is embedded, for workers of other processes to reach it.
func (s servers) host() (hosted servers, closeAll func(), err error) {
	var running []*miniredis.Miniredis
	closeAll = func() {
		for _, server := range running {
			server.Close()
		}
	}
	hosted = s
	hosted.targets = nil
	for _, t := range s.targets {
		if t.embedded {
			server := miniredis.NewMiniRedis()
			if err := server.StartAddr("127.0.0.1:0"); err != nil {
				closeAll()
				return s, nil, fmt.Errorf("the embedded server does not start: %w", err)
			}
			running = append(running, server)
			name, addr := t.name, t.addr
			if t, err = parseTarget("redis://" + server.Addr() + "/0"); err != nil {
				panic("bug: " + err.Error())
			}
			t.name, t.addr = name, addr
		}
		hosted.targets = append(hosted.targets, t)
	}
	return hosted, closeAll, nil
}

// prepare makes sure that all servers answer and let the keys of the proof be removed, before anything is written, and
// gives them in the proof's namespace the prefixes that they have in the user's.
func (v verify) prepare(ctx context.Context, o opened) ([]proofServer, error) {
	all := make([]proofServer, len(o.targets))
	for i := range o.targets {
		err := v.step(ctx, o, i, func(ctx context.Context) error {
			if err := o.clients[i].Del(ctx, v.keys()...).Err(); err != nil {
				return fmt.Errorf("%w: %w", allocator.ErrUnavailable, err)
			}
			m, err := allocator.NewAdmin(o.clients[i], v.Base)
			if err != nil {
				return err
			}
			has, err := m.ServerPrefix(ctx)
			all[i] = proofServer{Name: o.targets[i].label(), Prefix: has.ServerPrefix, Tag: has.NodeTag}
			if has.IsZero() && len(o.targets) > 1 {
				all[i].Prefix, all[i].Temporary = temporaryPrefix(o.targets[i].name), true
			}
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	return all, nil
}

// temporaryPrefix is made of a server's name, which is letters, digits and _ . - only.
func temporaryPrefix(name string) string {
	const most = 48
	return "verify-" + name[:min(most, len(name))] + "/"
}

// settle writes what has to be there before the first identifier is taken.
func (v verify) settle(ctx context.Context, o opened, all []proofServer) error {
	for i, s := range all {
		adds, m := s.adds(), v.admin(o, i)
		err := v.step(ctx, o, i, func(ctx context.Context) error {
			if adds.IsZero() {
				return nil
			}
			return m.SetServerPrefix(ctx, adds)
		})
		if err != nil {
			return err
		}
		if !o.requireSeeded {
			continue
		}
		for _, name := range v.Collections {
			err := v.step(ctx, o, i, func(ctx context.Context) error {
				_, err := m.Seed(ctx, name, 0, false)
				return err
			})
			if err != nil {
				return err
			}
		}
	}
	return nil
}

func (s proofServer) adds() prefix.Server {
	return prefix.Server{ServerPrefix: s.Prefix, NodeTag: s.Tag}
}

// admin works in the namespace of the proof.
func (v verify) admin(o opened, i int) *allocator.Admin {
	m, err := allocator.NewAdmin(o.clients[i], v.Namespace)
	if err != nil {
		panic("bug: " + err.Error()) // the user's namespace is valid, and is how this one begins
	}
	return m
}

// step asks one server for something.
func (v verify) step(ctx context.Context, o opened, i int, do func(context.Context) error) error {
	limited, cancel := context.WithTimeout(ctx, v.Timeout)
	defer cancel()
	return explained(ctx, do(limited), func(err error) string { return o.targets[i].sentence(err, v.Timeout) })
}

// counters reads what the servers say of the collections: by server and, folded, collection. One that is away is left
// out.
func (v verify) counters(ctx context.Context, o opened) []map[string]allocator.Counter {
	all := make([]map[string]allocator.Counter, len(o.targets))
	for i := range o.targets {
		all[i] = make(map[string]allocator.Counter)
		m := v.admin(o, i)
		for _, name := range v.Collections {
			var counter allocator.Counter
			err := v.step(ctx, o, i, func(ctx context.Context) (err error) {
				counter, err = m.Counter(ctx, name)
				return err
			})
			if err == nil {
				all[i][prefix.Fold(name)] = counter
			} else if exitCode(err) == exitUnavailable {
				break
			}
		}
	}
	return all
}

// keys are all that the proof writes.
func (v verify) keys() []string {
	keys := prefix.NewKeys(v.Namespace)
	all := []string{keys.Server()}
	for _, name := range v.Collections {
		all = append(all, keys.HiLo(name))
	}
	return all
}

// clean removes the keys, and says where it could not.
func (v verify) clean(ctx context.Context, o opened, all []proofServer) error {
	ctx = context.WithoutCancel(ctx)
	var left []error
	for i := range all {
		err := v.step(ctx, o, i, func(ctx context.Context) error {
			if err := o.clients[i].Del(ctx, v.keys()...).Err(); err != nil {
				return fmt.Errorf("%w: %w", allocator.ErrUnavailable, err)
			}
			return nil
		})
		if err == nil {
			continue
		}
		all[i].Left = len(v.keys())
		what, _ := o.targets[i].diagnose(err, v.Timeout)
		left = append(left, fmt.Errorf("the keys of the proof are still on %s (%s): remove them with redis-cli DEL %s",
			all[i].Name, what, quotedKeys(v.keys())))
	}
	return errors.Join(left...)
}

// quotedKeys are keys as a shell takes them.
func quotedKeys(keys []string) string {
	const most = 10
	var quoted []string
	for _, key := range keys[:min(most, len(keys))] {
		quoted = append(quoted, "'"+strings.ReplaceAll(key, "'", `'\''`)+"'")
	}
	if more := len(keys) - most; more > 0 {
		return fmt.Sprintf("%s, and %d more of these names up to %s", strings.Join(quoted, " "), more, keys[len(keys)-1])
	}
	return strings.Join(quoted, " ")
}
