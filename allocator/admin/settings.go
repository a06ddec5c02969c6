package admin

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/hilo-id/hilo/prefix"
	"github.com/hilo-id/hilo/scripts"
)

// The errors of settings, beside those of the allocator.
var (
	// ErrInitialized means that Init found settings.
	ErrInitialized = scripts.ErrInitialized
	// ErrChanged means that a forced seed or a change of settings found another state than the one that it was decided on.
	ErrChanged = scripts.ErrChanged
	// ErrInterval means that a server's new MinValue or MaxValue would leave numbers that were reserved outside of its interval.
	ErrInterval = errors.New("an interval belongs to its server for ever")
	// ErrNeedsTrust means that a change is safe only under a condition that cannot be seen, which the text states. It is made
	// by an Admin of TrustSettings.
	ErrNeedsTrust = errors.New("needs a confirmation")
)

// The values of fields that are no numbers, and the places of fields in scripts.Settings.
const (
	homeHere = "here"
	newNo    = "no"

	atPrefix, atTag, atHome, atDurable, atMin, atMax, atNew = 0, 1, 2, 3, 4, 5, 6
)

// settingsOf returns the texts of the fields of s.
func settingsOf(s prefix.Server) scripts.Settings {
	var texts scripts.Settings
	texts[atPrefix], texts[atTag], texts[atDurable] = s.ServerPrefix, s.NodeTag, s.Durable
	if s.Identities {
		texts[atHome] = homeHere
	}
	if s.SeededOnly {
		texts[atNew] = newNo
	}
	for at, n := range map[int]int64{atMin: s.MinValue, atMax: s.MaxValue} {
		if n != 0 {
			texts[at] = strconv.FormatInt(n, 10)
		}
	}
	return texts
}

// stored is what the key of the settings holds. corrupt is why it is unusable, or nil.
type stored struct {
	texts       scripts.Settings
	server      prefix.Server
	initialized bool // there are settings, or it was initialised without any
	corrupt     error
}

// stored reads the settings.
func (m *Admin) stored(ctx context.Context) (got stored, err error) {
	key := m.keys.Server()
	values, err := m.client.HMGet(ctx, key, append(scripts.SettingsFields[:], "Initialized")...).Result() // EXISTS takes one right more
	if err != nil {
		return got, attemptError(ctx, key, err)
	}
	for i, value := range values {
		text, is := value.(string)
		got.initialized = got.initialized || is
		if i < len(got.texts) {
			got.texts[i] = text
		}
	}
	got.server, got.corrupt = m.parse(got.texts)
	return got, nil
}

// parse returns the settings that texts are, with those that can be used beside an error.
func (m *Admin) parse(texts scripts.Settings) (s prefix.Server, err error) {
	corrupt := func(at int, rule string) error {
		return fmt.Errorf("admin: %w: key %s field %s holds %.40q: must be %s", scripts.ErrCorrupt, m.keys.Server(), scripts.SettingsFields[at], texts[at], rule)
	}
	s = prefix.Server{ServerPrefix: texts[atPrefix], NodeTag: texts[atTag], Identities: texts[atHome] != "", SeededOnly: texts[atNew] != ""}
	var errs []error
	switch durable := texts[atDurable]; {
	case durable == "" || durable == prefix.DurableEverysec || durable == prefix.DurableAlways:
		s.Durable = durable
	case strings.HasPrefix(durable, "replicas:"): // of hilo 0.1, and ignored, as by server.lua
	default:
		errs = append(errs, corrupt(atDurable, "everysec, always, or absent"))
	}
	for at, into := range map[int]*int64{atMin: &s.MinValue, atMax: &s.MaxValue} {
		n, err := strconv.ParseInt(texts[at], 10, 64)
		switch {
		case texts[at] == "":
		case err != nil || n < 1 || strconv.FormatInt(n, 10) != texts[at]:
			errs = append(errs, corrupt(at, "a decimal of 1 or more, or absent"))
		default:
			*into = n
		}
	}
	if texts[atHome] != "" && texts[atHome] != homeHere {
		errs = append(errs, corrupt(atHome, "here, or absent"))
	}
	if texts[atNew] != "" && texts[atNew] != newNo {
		errs = append(errs, corrupt(atNew, "no, or absent"))
	}
	if low, high := s.Interval(); high < low {
		errs = append(errs, corrupt(atMax, fmt.Sprintf("%d or more, which is MinValue", low)))
	} else if err := s.Validate(); err != nil {
		errs = append(errs, fmt.Errorf("admin: %w: key %s: %w", scripts.ErrCorrupt, m.keys.Server(), err))
	}
	return s, errors.Join(errs...)
}

// ServerPrefix returns the settings of the server, which are zero if it has none: see Initialized. The errors are ErrUnavailable and
// ErrCorrupt, with the values that can be used beside the latter.
func (m *Admin) ServerPrefix(ctx context.Context) (prefix.Server, error) {
	got, err := m.stored(ctx)
	if err != nil {
		return prefix.Server{}, err
	}
	return got.server, got.corrupt
}

// Initialized reports whether the server has settings. One without them is new, or lost its data.
func (m *Admin) Initialized(ctx context.Context) (bool, error) {
	got, err := m.stored(ctx)
	return got.initialized, err
}

// Init makes the settings of a server that has none, once for each server that is new. Where settings exist it is ErrInitialized.
// Before Durable is set the server has to pass CheckDurable. If a counter passes MaxValue meanwhile, the settings are emptied again,
// and the server stays initialised.
//
// It waits until the write is confirmed, as SetServerPrefix does. The errors are ErrInitialized, those of CheckDurable, ErrInvalidName,
// ErrInterval, ErrNeedsTrust, ErrNotConfirmed and ErrUnavailable.
func (m *Admin) Init(ctx context.Context, s prefix.Server) error {
	if err := m.checkChange(ctx, prefix.Server{}, s); err != nil {
		if there, _ := m.Initialized(ctx); there {
			return fmt.Errorf("admin: %w: key %s exists", ErrInitialized, m.keys.Server())
		}
		return err
	}
	key := m.keys.Server()
	made := m.confirmed(ctx, key, s.Durable, nil, func(client redis.Scripter) error {
		return scripts.Initialize(ctx, client, key, time.Now(), settingsOf(s))
	})
	if made != nil && !errors.Is(made, ErrNotConfirmed) {
		return made
	}
	if err := m.checkInterval(ctx, prefix.Server{}, s); err != nil {
		return m.takeBack(ctx, err, s, stored{})
	}
	return made
}

// SetServerPrefix sets all settings of the server at once, and removes those that are empty. Ranges in use keep the prefix and
// the interval that they were issued with. It is refused where the settings change meanwhile (ErrChanged), and where the server has
// none (ErrNotSeeded): Init makes them.
//
// An interval belongs to its server for ever. So MinValue may only rise, and MaxValue not fall below the ceiling of a counter
// (ErrInterval). Before Durable is set, also to what it is, the server has to pass CheckDurable.
//
// It waits until every connected replica has the write and, at a durable server, until it is on disk. With ErrNotConfirmed it is
// made, and a failover or a crash can lose it.
//
// The errors are ErrInvalidName, ErrCorrupt, ErrChanged, ErrNotSeeded, ErrInterval, ErrNeedsTrust, ErrNotConfirmed, ErrIncomplete,
// ErrUnavailable, and those of CheckDurable.
func (m *Admin) SetServerPrefix(ctx context.Context, s prefix.Server) error {
	return m.ChangeServerPrefix(ctx, func(prefix.Server, error) (prefix.Server, error) { return s, nil })
}

// ChangeServerPrefix is SetServerPrefix of the settings that change makes of the present ones. With stored values that are
// unusable, corrupt is ErrCorrupt. An error of change is returned, and nothing is written. change is called again when the new
// settings stand, because what it looked at may have changed before that. If it then returns an error or other settings, the
// change is taken back.
func (m *Admin) ChangeServerPrefix(ctx context.Context, change func(now prefix.Server, corrupt error) (prefix.Server, error)) error {
	before, err := m.stored(ctx)
	if err != nil {
		return err
	}
	decide := func() (prefix.Server, error) {
		s, err := change(before.server, before.corrupt)
		if err == nil {
			err = m.checkChange(ctx, before.server, s)
		}
		return s, err
	}
	s, err := decide()
	if err != nil {
		return err
	}
	made := m.configure(ctx, before.texts, settingsOf(s))
	if made != nil && !errors.Is(made, ErrNotConfirmed) {
		return made
	}
	again, err := decide()
	if err == nil && again != s {
		err = fmt.Errorf("admin: key %s: %w: what the change was decided on is something else now; look again, and repeat it", m.keys.Server(), ErrChanged)
	}
	if err != nil {
		return m.takeBack(ctx, err, s, before)
	}
	return made
}

// configure writes settings in place of those that were read.
func (m *Admin) configure(ctx context.Context, read, wanted scripts.Settings) error {
	key := m.keys.Server()
	return m.confirmed(ctx, key, wanted[atDurable], nil, func(client redis.Scripter) error {
		return scripts.Configure(ctx, client, key, time.Now(), read, wanted)
	})
}

// takeBack writes the settings from before in place of s, which may not stay because of err.
func (m *Admin) takeBack(ctx context.Context, err error, s prefix.Server, before stored) error {
	if before.corrupt == nil {
		before.texts[atDurable] = before.server.Durable // without what hilo 0.1 wrote, which no script writes
	}
	if failed := m.configure(ctx, settingsOf(s), before.texts); failed != nil {
		return fmt.Errorf("%w; taking the change back failed: %w", err, failed)
	}
	return fmt.Errorf("%w; the change was taken back", err)
}

// checkChange returns why the settings may not change from now to s, or nil.
func (m *Admin) checkChange(ctx context.Context, now, s prefix.Server) error {
	if err := s.Validate(); err != nil {
		return fmt.Errorf("admin: %w", err)
	}
	if err := m.checkInterval(ctx, now, s); err != nil {
		return err
	}
	if s.Durable == "" {
		return nil
	}
	if err := m.CheckDurable(ctx, s.Durable); !errors.Is(err, ErrSettingsUnknown) || !m.mode.Trust {
		return err
	}
	return nil
}

// leastInterval is the least number of numbers in an interval that needs no confirmation. A restart of a server that is not durable
// costs a counter 65,536 of them and more.
const leastInterval = 1 << 24

// checkInterval returns why the interval may not change from that of now to that of s, or nil.
func (m *Admin) checkInterval(ctx context.Context, now, s prefix.Server) error {
	low, high := s.Interval()
	nowLow, nowHigh := now.Interval()
	switch {
	case low == nowLow && high == nowHigh:
		return nil
	case low < nowLow:
		become := "be removed"
		if s.MinValue != 0 {
			become = fmt.Sprint("become ", low)
		}
		return fmt.Errorf("admin: %w: MinValue is %d, and may only rise, not %s; where no other server ever issued the numbers below, remove field %s of key %s by hand",
			ErrInterval, nowLow, become, scripts.SettingsFields[atMin], m.keys.Server())
	case high-low < leastInterval-1 && !m.mode.Trust:
		return fmt.Errorf("admin: %w: %d to %d has fewer than 16,777,216 numbers, and a restart of the server may cost each counter more than 65,536", ErrNeedsTrust, low, high)
	case high == math.MaxInt64:
		return nil
	}
	for state, err := range m.With(Mode{Filter: "*"}).States(ctx) {
		if err != nil {
			return err
		}
		if ceiling := max(state.Max, state.Raised); ceiling > high && (high < nowHigh || state.Max > high) {
			return fmt.Errorf("admin: %w: MaxValue may not be %d: key %s has reserved numbers up to %d", ErrInterval, high, m.storage(state.Kind).keys(state.Name).Counter, ceiling)
		}
	}
	return nil
}
