package interleavings

import (
	"slices"
	"testing"

	"github.com/hilo-id/hilo/scripts"
)

// rule is a rule of the protection, under a case that shows what it is for.
type rule struct {
	name    string
	without layers
	scope   scope
}

// Jumps have no offset where a case has one loss only, since an offset hides collisions.
const (
	never    = "1 == 0" // of a literal false the interpreter may make a loop without end
	offset   = "place(redis.sha1hex(token .. replication), places)"
	noOffset = "'0'"
)

// layers returns the whole protection.
func (s setting) layers() layers {
	if s.losses > 0 {
		return running(offset, noOffset)
	}
	return whole
}

// counting returns a setting in which the clients request so many numbers, and one loss happens.
func counting(s setting, a, b int64) setting {
	s.counts, s.losses = [3]int64{a, b, 2}, 1
	return s
}

// times returns a step several times.
func times(n int, s step) []step { return slices.Repeat([]step{s}, n) }

// begun returns steps of node 1 and client 0.
func begun(events ...event) (all []step) {
	for _, e := range events {
		all = append(all, step{event: e})
	}
	return all
}

// wide is a durable server of which one client uses up what a raise reserves.
var wide = setting{aof: aofOn, counts: [3]int64{200, 200}, first: scripts.Settings{3: "everysec"}}

var wideAlways = setting{aof: aofOn, counts: [3]int64{200, 200}, first: scripts.Settings{3: "always"}, always: true}

// later returns a server with an AOF, which becomes durable later.
func later(n int64) setting { return setting{aof: aofOn, counts: [3]int64{n, n}} }

// tail is what shows that a permit came too early.
var tail = []event{take, ask, crash, reserve}

var rules = []rule{
	// What is lost, late or repeated.
	{
		"the token of a request", sending(func(r *scripts.NextRequest) { r.Token = "one for all" }),
		scope{clients: 3, depth: 3, events: []event{take}},
	},
	{
		"the lease in the return", running("lease ~= token or", "", "written ~= range_written or", ""),
		scope{clients: 3, depth: 5, events: []event{take, unused, unusedLate, unusedTwice, arrive}},
	},
	{
		"the time in the return", running("written ~= range_written", never),
		scope{clients: 3, depth: 4, events: []event{take, arrive}, begin: begun(take, takeLate, again, unusedTwice)},
	},
	{
		"what a forced seed expects", running("stood ~= wanted and (stood", "1 == 0 and (stood"),
		scope{clients: 2, depth: 4, events: []event{take, force, forceTwice, arrive}},
	},
	{
		"an exact value is above those that were issued", running("not above(exact, base)", never, "(MODE == 'take' or above(exact, base))", "true"),
		scope{clients: 2, depth: 4, events: []event{value, exact}},
	},

	// Evidence.
	{
		"the floor", sending(func(r *scripts.NextRequest) { r.Floor = 0 }),
		scope{clients: 2, depth: 5, events: []event{take, keep, quiet}},
	},
	{
		"the floor of an identity", sending(func(r *scripts.NextRequest) { r.Floor = 0 }),
		scope{clients: 2, depth: 5, events: []event{value, keep, quiet}},
	},
	{
		"the greatest ceiling", sending(func(r *scripts.NextRequest) { r.Ceiling = 0 }),
		scope{
			clients: 2, depth: 3, events: []event{take, quiet}, setting: counting(plain, 20_000, 2),
			begin: slices.Concat([]step{tookB}, begun(keep, take, unused)),
		},
	},
	{
		"the epoch", sending(func(r *scripts.NextRequest) { r.Epoch = 0 }),
		scope{clients: 3, depth: 5, events: []event{take, takeLost, lose}},
	},
	{
		"the birth of a counter", running("or seen_epoch ~= '0' and seen_epoch ~= epoch and sub(epoch, -6) == '000000'", ""),
		scope{clients: 3, depth: 5, events: []event{take, takeLost, lose}},
	},
	{
		"the replication id", running("origin ~= '' and origin ~= replication, ''", "false, ''"),
		scope{clients: 2, depth: 5, events: []event{take, flush, crash}, setting: plainAOF},
	},
	{
		"the replication id of an identity", running("origin ~= '' and origin ~= replication, ''", "false, ''"),
		scope{clients: 2, depth: 5, events: []event{value, flush, crash}, setting: plainAOF},
	},
	{
		"a seed writes Origin", running("if not origin and replication ~= '' then put('Origin', replication) end", ""),
		scope{clients: 2, depth: 5, events: []event{take, seed, flush, crash}, setting: plainAOF},
	},
	{
		"an import writes Origin", running("if origin == '' and replication ~= '' then\n  write", "if 1 == 0 then\n  write"),
		scope{clients: 2, depth: 5, events: []event{take, flush, crash, ended}, setting: plainAOF, begin: begun(take, move)},
	},
	{
		"a replica issues nothing", running("if is_replica then return redis.error_reply(ON_REPLICA) end\nif bare", "if bare"),
		scope{clients: 2, depth: 3, events: []event{take, attach, atReplica}},
	},

	// A jump.
	{
		"the offset of a jump", running(offset, noOffset),
		scope{clients: 2, depth: 6, events: []event{take, attach, promote, restart}},
	},
	{
		"the offset of an identity's jump", running(offset, noOffset),
		scope{clients: 2, depth: 6, events: []event{value, attach, promote, restart}},
	},
	{
		"the replication id in the offset", running("token .. replication", "token"),
		scope{clients: 2, depth: 5, events: []event{take, takeLost, again}, begin: []step{{event: attach}, took, {event: promote, node: 1}, {event: restart}}},
	},
	{
		"a jump begins above Raised", running("base = raised\n  if above", "base = max\n  if above"),
		scope{clients: 3, depth: 2, events: []event{take, crash}, begin: slices.Concat(begun(take, flush), times(2, tookB)), setting: counting(plainAOF, 2, 38_000)},
	},
	{
		"a jump is four blocks", running("unit = plus(unit, unit)", ""),
		scope{clients: 3, depth: 2, events: []event{take, crash}, begin: slices.Concat(begun(take, flush), times(2, tookB)), setting: counting(plainAOF, 2, 38_000)},
	},
	{
		"the greatest block", sending(func(r *scripts.NextRequest) { r.Block = 0 }),
		scope{
			clients: 1, depth: 2, events: []event{take, lose}, setting: counting(plain, 2, 38_000),
			begin: slices.Concat([]step{took, tookB, tookB, took}, times(5, tookB)),
		},
	},
	{
		"a jump begins above the greatest ceiling", running("if above(seen_ceiling, base) then base = seen_ceiling end", ""),
		scope{clients: 1, depth: 2, events: []event{take, lose}, begin: []step{took, tookB, tookB}, setting: counting(plain, 2, 38_000)},
	},
	{
		"what is requested counts in a jump", running("local unit, units = count,", "local unit, units = '1',"),
		scope{clients: 1, depth: 2, events: []event{again, crash}, begin: []step{tookB, {event: flush}, {event: takeLost}, tookB}, setting: counting(plainAOF, 300_000, 2)},
	},
	{
		"a margin for each minute", running("1 + math.floor(age / 60)", "1"),
		scope{clients: 1, depth: 2, events: []event{take, lose}, begin: slices.Concat(begun(take), times(6, step{event: minute})), setting: counting(plain, 2, 2)},
	},
	{
		"a counter that was seen long ago", running("above(age, '600')", never),
		scope{clients: 1, depth: 2, events: []event{take, lose}, begin: slices.Concat(begun(take, eleven), times(3, tookB)), setting: counting(plain, 2, 300_000)},
	},
	{
		"the margin of an old snapshot", running("then units = 15 end", "then units = 1 end"),
		scope{clients: 3, depth: 2, events: []event{take, crashRDB}, begin: slices.Concat(begun(take, keep), times(6, step{event: minute})), setting: counting(plain, 2, 2)},
	},
	{
		"the margin of an old snapshot of a server with replicas",
		running(" and uptime and uptime * 1000 + 60000 > clock - before", ""),
		scope{
			clients: 3, depth: 2, events: []event{take, crashRDB}, setting: counting(plain, 2, 2),
			begin: slices.Concat(begun(attach, take, keep), times(6, step{event: minute}), begun(detach)),
		},
	},

	// Settings.
	{
		"a server without settings makes no counter", running("if not (new or settings[2] or", "if 1 == 0 and not (new or settings[2] or"),
		scope{clients: 2, depth: 3, events: []event{take, emptied}},
	},
	{
		"NewCounters", running("elseif new then", "elseif 1 == 0 then"),
		scope{clients: 2, depth: 4, events: []event{take, emptied, initSeeded}},
	},
	{
		"a server that lost its settings", running("settled == '1'", never),
		scope{clients: 2, depth: 3, events: []event{take, value, quiet}, begin: slices.Concat([]step{{event: value, client: 1}}, begun(keep, setPrefix, setMin, take))},
	},
	{
		"a change of settings is compared", running("verb == 'set' and (stored[i] or '') ~= ARGV[1 + i]", never),
		scope{clients: 2, depth: 4, events: []event{take, setMin, setMinLate, arrive}},
	},
	{
		"one name is one kind", running("if bare and other_key ~= server_key and", "if 1 == 0 and"),
		scope{clients: 2, depth: 2, events: []event{take, value}},
	},
	{
		"a client remembers the other kind", sending(func(r *scripts.NextRequest) { r.Mixed = false }),
		scope{clients: 2, depth: 3, events: []event{take, value, lose}},
	},
	{
		"Bare", running("bare_before == '0' and (bare or", "bare_before == '0' and (1 == 0 or"),
		scope{clients: 2, depth: 4, events: []event{take, value, prefixByHand}},
	},
	{
		"Bare of a counter that was set by hand", running("stored ~= '0' and read[3] == '0' and before == '0'", never),
		scope{clients: 2, depth: 4, events: []event{take, value, prefixByHand, maxByHand}},
	},
	{
		"Bare of a counter that was lost", running("evidence ~= '' and (missing or", "1 == 0 and (missing or"),
		scope{clients: 2, depth: 4, events: []event{take, value}, begin: begun(take, prefixByHand, lose)},
	},

	// A durable server.
	{
		"the ceiling", running("elseif is_durable and issue and (evidence", "elseif 1 == 0 and (evidence"),
		scope{clients: 2, depth: 4, events: []event{take, reserve, crash}, setting: everysec, begin: begun(reserve, take, take)},
	},
	{
		"Raised is never lowered", running("if above(to, raised) then raised = to end", "raised = to"),
		scope{
			clients: 3, depth: 4, events: []event{take, reserve, crash}, begin: []step{{event: reserve}, took, {event: take, client: 2}, {event: reserve, client: 1}, {event: ended}, {event: ended, client: 2}},
			setting: setting{aof: aofOn, counts: [3]int64{240, 200, 40}, limit: 290, first: wide.first},
		},
	},
	{
		"a raise waits for the disk", running("if durable == 'always' then ceiling = raised end", "ceiling = raised"),
		scope{clients: 2, depth: 6, events: []event{take, reserve, raise, crash}, setting: wide, begin: begun(reserve, take, take)},
	},
	{
		"a restart continues above Raised", running("base = raised\nelseif", "base = max\nelseif"),
		scope{clients: 2, depth: 5, events: []event{take, reserve, crash}, setting: everysec},
	},
	{
		"no permit without the AOF", running("elseif not find(persistence, 'aof_enabled:1\\r', 1, true) then", "elseif 1 == 0 then"),
		scope{clients: 2, depth: 6, events: []event{take, reserve, switchOff, crash}, setting: wide, begin: begun(reserve, take, take)},
	},
	{
		"no permit while a rewrite is scheduled", running("or not find(persistence, 'aof_rewrite_scheduled:0\\r', 1, true)", ""),
		scope{clients: 2, depth: 5, events: []event{take, reserve, crash}, setting: wide, begin: begun(reserve, take, take, switchOff, switchOn)},
	},
	{
		"no permit during a rewrite", running("not find(persistence, 'aof_rewrite_in_progress:0\\r', 1, true) or", ""),
		scope{clients: 2, depth: 5, events: []event{take, reserve, crash}, setting: wide, begin: begun(reserve, take, take, switchOff, switchOn, rewrite)},
	},
	{
		"no permit with a full disk", running("elseif not find(persistence, 'aof_last_write_status:ok\\r', 1, true) then", "elseif 1 == 0 then"),
		scope{clients: 2, depth: 5, events: []event{take, reserve, crash}, setting: wide, begin: begun(reserve, take, take, full)},
	},
	{
		"no permit by a raise during a rewrite", running("if way and (durable == 'always' or not passing) then", "if 1 == 0 then"),
		scope{clients: 2, depth: 5, events: []event{take, raise, crash}, setting: wideAlways, begin: begun(raise, take, take, switchOff, switchOn)},
	},
	{
		"no permit while a sync is pending", running("if durable == 'everysec' and not", "if 1 == 0 and not"),
		scope{clients: 2, depth: 5, events: tail, setting: wide, begin: begun(reserve, take, take, raise, ask, second, ask)},
	},
	{
		"the first question", asking(map[stage]stage{stageRaised: stageSure}),
		scope{clients: 2, depth: 6, events: tail, setting: wide, begin: begun(reserve, take, take, raise)},
	},
	{
		"the second between two questions", asking(map[stage]stage{stageRaised: stageApart, stageApart: stageSure}),
		scope{clients: 2, depth: 6, events: tail, setting: wide, begin: begun(reserve, take, take, raise, ask)},
	},
	{
		"the last question", asking(map[stage]stage{stageRaised: stageAsked}),
		scope{clients: 2, depth: 6, events: tail, setting: wide, begin: begun(reserve, take, take, raise, ask, second)},
	},
	{
		"the replication id of a permit", running("expected ~= '' and expected ~= replication", never),
		scope{
			clients: 2, depth: 5, events: tail, setting: setting{aof: aofOn, counts: [3]int64{2, 200}, first: wide.first},
			begin: slices.Concat([]step{{event: reserve, client: 1}, tookB, tookB}, begun(raise, ask, crash, second, ask, prefixByHand, synced), []step{{event: raise, client: 1}}),
		},
	},
	{
		"the look for replicas", running("if not find(info, 'connected_slaves:0\\r', 1, true) and", "if 1 == 0 and"),
		scope{
			clients: 2, depth: 3, events: []event{take, reserve, restart}, setting: later(200),
			begin: append(begun(attach, detach, setDurable, reserve, take, attach, take, detach, reserve, take), step{event: promote, node: 1}),
		},
	},
	{
		"the removal of Durable", running("if state ~= durable then redis.call('HDEL', server_key, 'Durable') end", ""),
		scope{
			clients: 2, depth: 3, events: []event{take, reserve, restart}, setting: later(40_000),
			begin: append(begun(attach, detach, setDurable, reserve, take, attach, take, detach, reserve, take, attach, detach, take, take, reserve, take), step{event: promote, node: 1}),
		},
	},
	{
		"the history of a promoted replica", running("if not find(info, 'master_replid2:0000000000000000000000000000000000000000\\r', 1, true) or", "if"),
		scope{clients: 2, depth: 6, events: []event{take, reserve, promote}, setting: wide, begin: begun(reserve, take, take, attach, detach)},
	},
	{
		"a restart without the AOF", running("type(persistence) == 'string' and find(persistence, 'aof_enabled:0\\r', 1, true) then -- from", "1 == 0 then -- from"),
		scope{
			clients: 2, depth: 7, events: []event{take, raise, switchOn, rewrite, rewritten, crashRDB}, setting: wideAlways,
			begin: begun(raise, keep, take, take, raise, take, switchOff),
		},
	},
	{
		"other evidence than a restart", running("elseif evidence ~= '' and evidence ~= 'origin' then\n    state", "elseif 1 == 0 then\n    state"),
		scope{clients: 2, depth: 5, events: []event{take, reserve, quiet}, setting: wide, begin: begun(reserve, keep, take, take, reserve, take)},
	},
	{
		"a statement that was withdrawn", running("if ceiling and not is_durable and evidence == '' then evidence = 'origin' end", ""),
		scope{clients: 2, depth: 4, events: []event{take, reserve, setDurable, older}, setting: wide, begin: begun(reserve, unsetDurable, keep, take, take)},
	},
}

func TestEachRuleIsNeeded(t *testing.T) {
	t.Parallel()
	for _, r := range rules {
		t.Run(r.name, func(t *testing.T) {
			t.Parallel()
			with := r.scope.setting.layers()
			for _, l := range []layers{with, r.without} {
				if part := l.missing(); part != "" {
					t.Fatalf("no script has the text %q", part)
				}
			}
			without := r.without
			without.lua = func(source string) string { return with.lua(r.without.lua(source)) }
			seen := search(newModel(without, r.scope.setting), r.scope)
			if seen.found == nil {
				words, _ := describe(newModel(without, r.scope.setting), r.scope.begin)
				t.Fatalf("without it no text is issued twice: %v, from%s", seen, words)
			}
			fault, _ := describe(newModel(without, r.scope.setting), seen.found)
			t.Logf("without it, after %v:%s", seen, fault)
			if seen := search(newModel(with, r.scope.setting), r.scope); seen.found != nil {
				words, _ := describe(newModel(with, r.scope.setting), seen.found)
				t.Errorf("with it:%s", words)
			}
		})
	}
}
