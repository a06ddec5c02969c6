package admin

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/redis/go-redis/v9"

	"github.com/hilo-id/hilo/prefix"
	"github.com/hilo-id/hilo/scripts"
)

// ServerPrefix returns the server's report about itself, its settings. The errors are ErrUnavailable and ErrCorrupt. Beside
// ErrCorrupt it returns the stored values, unless the error is about the interval: no new settings could keep that.
func (m *Admin) ServerPrefix(ctx context.Context) (prefix.Server, error) {
	key := m.keys.Server()
	values, err := m.client.HMGet(ctx, key, fieldPrefix, fieldTag, fieldHome, fieldDurable, fieldMin, fieldMax).Result()
	if err != nil {
		return prefix.Server{}, attemptError(ctx, key, err)
	}
	s := prefix.Server{Identities: values[2] != nil}
	s.ServerPrefix, _ = values[0].(string)
	s.NodeTag, _ = values[1].(string)
	durable, stated := values[3].(string)
	s.Durable = durable
	for i, into := range []*int64{&s.MinValue, &s.MaxValue} {
		text, there := values[4+i].(string)
		if !there {
			continue
		}
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil || n < 1 || strconv.FormatInt(n, 10) != text {
			return prefix.Server{}, fmt.Errorf("admin: %w: key %s field %s holds %.40q: must be a decimal of 1 or more, or absent",
				scripts.ErrCorrupt, key, [...]string{fieldMin, fieldMax}[i], text)
		}
		*into = n
	}
	if low, high := s.Interval(); high < low {
		return prefix.Server{}, fmt.Errorf("admin: %w: key %s field %s holds %d: must not be below %s, which is %d",
			scripts.ErrCorrupt, key, fieldMax, high, fieldMin, low)
	}
	if home, there := values[2].(string); there && home != homeHere {
		return s, fmt.Errorf("admin: %w: key %s field %s holds %q: must be %s, or absent", scripts.ErrCorrupt, key, fieldHome, home, homeHere)
	}
	if stated && durable != prefix.DurableAlways && s.Replicas() == 0 {
		return s, fmt.Errorf("admin: %w: key %s field %s holds %q: must be %s, replicas:N with N of 1 to 999, or absent",
			scripts.ErrCorrupt, key, fieldDurable, durable, prefix.DurableAlways)
	}
	if err := s.Validate(); err != nil {
		return s, fmt.Errorf("admin: %w: key %s: %w", scripts.ErrCorrupt, key, err)
	}
	return s, nil
}

// SetServerPrefix sets all settings of the server at once, and removes those that are empty. Ranges in use keep the prefix and
// the interval that they were issued with. If the server has neither prefix nor tag, the greatest number that each counter
// issued is recorded in it before the change takes effect, so that no identity repeats its text later.
//
// It waits until every connected replica has the write. With ErrNotConfirmed it is made, and a failover can lose it. Where
// that is the removal of a prefix, an identity can then repeat texts that were issued after it. Call it again first.
//
// An interval belongs to its server for ever. So MinValue may only rise, and MaxValue not fall below a counter (ErrInterval).
//
// Before Durable is set, also where it is set already, the server is checked: for prefix.DurableAlways it has to pass
// CheckDurable, and for replicas:N to have N replicas connected. Each counter that was written before a restart or a promotion
// of the server first jumps past one gap, within MaxValue and the limit of WithLimit, because afterwards its loss would not
// show, or would look small. KeepDurable leaves Durable as it is.
//
// The errors are ErrInvalidName, ErrCorrupt, ErrInterval, ErrNeedsTrust, ErrNotConfirmed, ErrIncomplete and ErrUnavailable.
// With Durable they are also ErrNotDurableServer, ErrSettingsUnknown, and those of a counter that cannot issue a number, such
// as ErrMixed.
func (m *Admin) SetServerPrefix(ctx context.Context, s prefix.Server) error {
	if err := s.Validate(); err != nil {
		return fmt.Errorf("admin: %w", err)
	}
	return m.ChangeServerPrefix(ctx, func(prefix.Server, error) (prefix.Server, error) { return s, nil })
}

// ChangeServerPrefix is SetServerPrefix of the settings that change makes of the present ones. With stored values that are
// unusable, corrupt is ErrCorrupt. An unusable interval is not replaced, and so returned as ErrCorrupt. An error of change is
// returned, and nothing is written.
func (m *Admin) ChangeServerPrefix(ctx context.Context, change func(now prefix.Server, corrupt error) (prefix.Server, error)) error {
	now, corrupt := m.ServerPrefix(ctx)
	if corrupt != nil && !replaceable(now, corrupt) {
		return corrupt
	}
	s, err := change(now, corrupt)
	if err != nil {
		return err
	}
	if err := s.Validate(); err != nil {
		return fmt.Errorf("admin: %w", err)
	}
	if m.keeping {
		s.Durable = now.Durable
	}
	request, err := m.checkChange(ctx, now, s)
	if err != nil {
		return err
	}
	if !s.IsZero() && !m.filling {
		if err := m.noteBare(ctx, now); err != nil {
			return err
		}
	}
	if request.Origin == "" { // Durable is not set
		return m.configure(ctx, s.Replicas(), request)
	}
	if now.Durable == prefix.DurableAlways { // what it waived has to be settled without it
		removal := request
		removal.Durable = scripts.DurableRemove
		if err := m.configure(ctx, 0, removal); err != nil {
			return err
		}
	}
	if err := m.settle(ctx, request.Origin, s); err != nil {
		return err
	}
	if request.Durable == scripts.DurableSet {
		return m.stateDurable(ctx, request)
	}
	return m.configure(ctx, s.Replicas(), request)
}

// replaceable reports whether an error of ServerPrefix is about values that new settings replace, and not about the interval or
// a key that is no hash.
func replaceable(now prefix.Server, err error) bool {
	return errors.Is(err, scripts.ErrCorrupt) && now != (prefix.Server{})
}

// checkChange returns the request for a change of the settings, with an Origin if Durable is set, or why it may not be made.
func (m *Admin) checkChange(ctx context.Context, now, s prefix.Server) (r scripts.ConfigureRequest, err error) {
	r = scripts.ConfigureRequest{
		Prefix: s.ServerPrefix, Tag: s.NodeTag, Identities: s.Identities, MinValue: s.MinValue, MaxValue: s.MaxValue,
	}
	if err := m.checkInterval(ctx, now, s); err != nil {
		return r, err
	}
	switch {
	case m.keeping:
		r.Durable = scripts.DurableKeep
	case s.Replicas() > 0:
		r.Origin, err = m.checkReplicas(ctx, now, s)
		r.Durable = scripts.DurableChange(s.Durable)
	case s.Durable != "": // also where it is set: a replica that was promoted may have inherited it
		r.Origin, err = m.awaitDurable(ctx)
		r.Durable = scripts.DurableSet
	}
	if err == nil && s.Replicas() < now.Replicas() {
		err = m.checkAway(ctx, now)
	}
	return r, err
}

// configure sets all settings, confirmed by every connected replica, and by so many at least.
func (m *Admin) configure(ctx context.Context, replicas int, request scripts.ConfigureRequest) error {
	key := m.keys.Server()
	return m.confirmed(ctx, key, replicas, func(client redis.Scripter) error { return scripts.Configure(ctx, client, key, request) })
}

// KeepDurable returns an Admin whose SetServerPrefix leaves Durable as it is, whatever it is passed.
func (m *Admin) KeepDurable() *Admin { return m.with(func(other *Admin) { other.keeping = true }) }

// ForPrefix returns an Admin for a server that an import fills and that gets the prefix s afterwards. Numbers that Import
// raises to were issued elsewhere, so it does not record them as issued bare by this server. ForPrefix itself records what
// this server issued bare. Call SetServerPrefix last, so that a client that requires a prefix begins no counter at 1 that is
// still to be imported. The errors are those of SetServerPrefix.
func (m *Admin) ForPrefix(ctx context.Context, s prefix.Server) (*Admin, error) {
	if err := s.Validate(); err != nil {
		return nil, fmt.Errorf("admin: %w", err)
	}
	if !s.IsZero() {
		now, err := m.ServerPrefix(ctx)
		if err != nil && !replaceable(now, err) {
			return nil, err
		}
		if err := m.noteBare(ctx, now); err != nil {
			return nil, err
		}
	}
	return m.with(func(other *Admin) { other.filling = !s.IsZero() }), nil
}

// noteBare records in every counter the greatest number that it issued without prefix and tag, if the server has neither now.
// Ranges record that themselves, also those that are issued between this and the change, so a failure in between leaves every
// bare number recorded. This is for counters of an earlier version, and those that were set by hand.
func (m *Admin) noteBare(ctx context.Context, now prefix.Server) error {
	bare := m.WithFilter("*")
	bare.noting = true
	if now.Validate() != nil { // nothing is issued while it is so, and what was issued before may be bare
		now, bare.server = prefix.Server{}, m.server+"?" // a key that does not exist
	}
	if !now.IsZero() {
		return nil
	}
	var states []State
	for counter, err := range bare.Counters(ctx) {
		if err != nil {
			return err
		}
		states = append(states, State{Kind: KindHiLo, Counter: Counter{Name: counter.Name}}) // an import that raises nothing notes it
	}
	for _, result := range bare.Import(ctx, states) {
		if result.Err != nil && !errors.Is(result.Err, scripts.ErrMixed) { // a name that is both issues nothing
			return result.Err
		}
	}
	return nil
}
