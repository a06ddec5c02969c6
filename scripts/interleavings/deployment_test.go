package interleavings

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/hilo-id/hilo/scripts"
)

// A deployment is a name that is both a collection and an identity, on a server whose prefix is set and cleared, and that is
// restarted, replicated, stated to be durable, and exported. This model is separate from the one of a counter because here whole
// servers change, while there requests and returns are late.

// host is one process of a server.
type host struct {
	up       bool
	life     int8  // its replication id
	history  int8  // the life that master_replid2 names, plus 1; 0 for zeros
	since    int8  // the clock when the process was started
	runs     bool  // it was started
	third    bool  // another replica acknowledges, which is never promoted
	replicas bool  // the other host is its replica, and in sync
	backlog  bool  // it had a replica, so that another one changes no id
	heir     bool  // it was a replica, and issued nothing since
	aof      bool  // it is on
	data     int32 // in memory, and in the AOF as long as that is on
	disk     int32 // in the AOF since it was switched off
}

// clientState is the state of one client.
type clientState struct {
	sent                         int8
	pending                      bool  // the newest request for a range has no reply
	floor, epoch, bare           int32 // of the collection
	identityFloor, identityEpoch int32
}

// deployment is the complete state between two steps.
type deployment struct {
	hosts    [2]host
	clients  [2]clientState
	lives    int8
	kept     int8  // the life that took the snapshot
	snapshot int32 // an RDB file, a backup, or what a replica had; none before the first
	clock    int8
	issued   int32 // the texts that clients hold
	kinds    uint8 // that were ever issued: ranges, identities, bare ranges
	beside   bool  // the primary served a request while it had the replica
	lowered  bool  // the collection was set back, so that its own numbers may come again
	returned bool  // a prefix came back, since the loss of a server included its removal
	jumped   bool  // a counter jumped while Durable was set
}

// deploymentModel is the state that the deployments of one search share.
type deploymentModel struct {
	layers   layers
	server   *inProcess
	hasty    bool // Durable is set without settling the counters
	interval bool // the server has one, and clients are of several masters
	beyond   bool // also walks what the promise does not cover
	within   bool // a replica is restarted alone only where its primary or itself served a request since it attached
	data     interned[string]
	texts    interned[string]
	states   map[int32]hashes // of data, unpacked
	served   map[serving]answer
}

// hashes are the data of a server, by key and field.
type hashes = map[string]map[string]string

// serving is one run of scripts.
type serving struct {
	request         any
	data            int32
	life, clock     int8
	history, uptime int8
	replicas, aof   bool
}

// The bits of deployment.kinds.
const (
	issuedRanges = 1 << iota
	issuedIdentities
	issuedBare
)

// answer is the outcome of a request.
type answer struct {
	data int32
	got  scripts.Range
	err  error
}

func newDeploymentModel(l layers) *deploymentModel {
	m := &deploymentModel{layers: l, server: newInProcess(l.lua), states: map[int32]hashes{}, served: map[serving]answer{}}
	m.data.id("")
	m.texts.id("")
	return m
}

func newDeployment() deployment {
	d := deployment{lives: 1, snapshot: none}
	d.hosts[0] = host{up: true, aof: true, runs: true}
	return d
}

// bookkeeping are fields that affect nothing here, since so few numbers are issued that the minimum gap is always used.
var bookkeeping = []string{"Minute", "Issued", "IssuedBefore", "Name"}

// packed converts the hashes of a server to a text. unpacked is its inverse.
func packed(state hashes) string {
	var lines []string
	for key, hash := range state {
		for field, value := range hash {
			if !slices.Contains(bookkeeping, field) {
				lines = append(lines, key+" "+field+" "+value)
			}
		}
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

func unpacked(text string) hashes {
	state := hashes{}
	for line := range strings.Lines(text) {
		parts := strings.SplitN(strings.TrimSuffix(line, "\n"), " ", 3)
		if state[parts[0]] == nil {
			state[parts[0]] = map[string]string{}
		}
		state[parts[0]][parts[1]] = parts[2]
	}
	return state
}

// state returns the data of a host. It is never modified.
func (m *deploymentModel) state(d *deployment, n int8) hashes {
	data := d.hosts[n].data
	state, ok := m.states[data]
	if !ok {
		state = unpacked(m.data.values[data])
		m.states[data] = state
	}
	return state
}

// field returns a field of the data of a host.
func (m *deploymentModel) field(d *deployment, n int8, key, name string) string {
	return m.state(d, n)[key][name]
}

// run runs scripts on a host. request identifies the scripts and their arguments.
func (m *deploymentModel) run(d *deployment, n int8, request any, scripts func(ctx context.Context) (scripts.Range, error)) (scripts.Range, error) {
	h := &d.hosts[n]
	key := serving{request, h.data, h.life, d.clock, h.history, d.clock - h.since, h.replicas || h.third, h.aof}
	a, ok := m.served[key]
	if !ok {
		m.server.replicationID, m.server.microseconds = fmt.Sprintf("%040x", h.life+1), microseconds(d.clock)
		m.server.clock, m.server.uptime = strconv.Itoa(epochStart+clockStep*int(d.clock)), clockStep*int(key.uptime)
		past := fmt.Sprintf("%040x", h.history)
		m.server.replication = fmt.Sprintf("master_replid2:%s\r\nconnected_slaves:%d\r\n", past, map[bool]int{true: 1}[key.replicas])
		m.server.persistence = fmt.Sprintf("aof_enabled:%d\r\n", map[bool]int{true: 1}[h.aof])
		m.server.state = unpacked(m.data.values[h.data])
		a.got, a.err = scripts(context.Background())
		a.data = m.data.id(packed(m.server.state))
		m.served[key] = a
	}
	m.write(d, n, a.data)
	return a.got, a.err
}

// write replaces the data of a host, and of the other one if that is its replica.
func (*deploymentModel) write(d *deployment, n int8, data int32) {
	d.hosts[n].data = data
	if d.hosts[n].aof {
		d.hosts[n].disk = data
	}
	if d.hosts[n].replicas {
		d.hosts[1-n].data, d.hosts[1-n].disk = data, data
	}
}

// byHand changes a field of the settings of a host, as redis-cli does.
func (m *deploymentModel) byHand(d *deployment, n int8, field, value string) bool {
	state := unpacked(m.data.values[d.hosts[n].data])
	key := hilo.keys.Server
	if state[key][field] == value {
		return false
	}
	hash := maps.Clone(state[key])
	if hash == nil {
		hash = map[string]string{}
	}
	hash[field] = value
	if value == "" {
		delete(hash, field)
	}
	state[key] = hash
	m.write(d, n, m.data.id(packed(state)))
	return true
}

// hold records that a client was issued texts. It returns the last of them that is invalid or was already issued.
func (m *deploymentModel) hold(d *deployment, identity bool, prefix string, got scripts.Range) (twice string) {
	held := strings.Fields(m.texts.values[d.issued])
	own, other := "collection:", "identity:"
	if identity {
		own, other = other, own
	}
	for n := got.Low; n <= got.High; n++ {
		text := fmt.Sprintf("orders/%s%d", prefix, n)
		again := slices.Contains(held, own+text)
		if m.interval && (n < intervalLow || n > intervalHigh) {
			twice = text + ", outside of the interval,"
		}
		if again && (identity || !d.lowered) || slices.Contains(held, other+text) {
			twice = text
		}
		if !again {
			held = append(held, own+text)
		}
	}
	slices.Sort(held)
	d.issued = m.texts.id(strings.Join(held, " "))
	return twice
}

// covered reports whether the promise covers a request. If a key is missing although numbers of it were issued, only a client
// that was issued some of them can detect that. The removal of a prefix is confirmed by every replica, and only a client that was
// issued bare numbers since can detect that it was lost.
func (m *deploymentModel) covered(d *deployment, n int8, p *clientState, identity bool) bool {
	state := m.state(d, n)
	bare := state[hilo.keys.Server]["ServerPrefix"] == ""
	ranges, values := state[hilo.keys.Counter] != nil, state[identities.keys.Counter] != nil
	if m.beyond {
		return true
	}
	if identity && d.returned && p.bare == 0 {
		return false
	}
	if identity {
		return (values || d.kinds&issuedIdentities == 0 || p.identityFloor > 0) && (ranges || d.kinds&issuedBare == 0 || p.bare > 0)
	}
	return (ranges || d.kinds&issuedRanges == 0 || p.floor > 0) && (values || !bare || d.kinds&issuedIdentities == 0 || p.identityFloor > 0)
}

// single sends one request at a time to a server in this process.
type single struct {
	redis.Cmdable

	server *inProcess
}

func (s single) EvalSha(ctx context.Context, sha string, keys []string, args ...any) *redis.Cmd {
	return s.server.EvalSha(ctx, sha, keys, args...)
}

func (s single) Eval(ctx context.Context, source string, keys []string, args ...any) *redis.Cmd {
	return s.server.Eval(ctx, source, keys, args...)
}

// epochStart and clockStep define the clock of a deployment, in seconds. A step takes longer than what the scripts regard as a
// moment.
const (
	epochStart = 1893456030
	clockStep  = 10
)

// live sets another replication id of a host. It follows that of the life past, or none.
func (d *deployment) live(n int8, past int8) {
	h := &d.hosts[n]
	h.up, h.life, h.history = true, d.lives, past
	d.lives++
	d.clock++
}

// started sets the state of a host whose process was started, with another replication id as live does.
func (d *deployment) started(n int8, past int8) {
	d.live(n, past)
	d.hosts[n].since, d.hosts[n].third = d.clock, false
}

// named returns the value of history for a life, or 0 if so is false.
func named(life int8, so bool) int8 {
	if !so {
		return 0
	}
	return life + 1
}
