package interleavings

import (
	"context"
	"crypto/sha1"
	"encoding/hex"
	"fmt"
	"maps"
	"strconv"
	"strings"
	"sync"

	"github.com/redis/go-redis/v9"
	lua "github.com/yuin/gopher-lua"
	"github.com/yuin/gopher-lua/parse"
)

// inProcess runs the scripts as they are over a map, in the interpreter that miniredis uses too, with only the commands that the
// scripts call. It is a thousand times as fast as a server. Replaying its sequences on servers checks that it behaves as they do.
//
// mutate changes the source of a script before it is run.
type inProcess struct {
	redis.Cmdable // for methods that are not called here

	mutate func(source string) string
	node   environment
	clock  int32                        // milliseconds since begin
	state  map[string]map[string]string // the hashes by key

	lua     *lua.LState
	scripts map[string]*lua.FunctionProto // by SHA1
}

func newInProcess(mutate func(source string) string) *inProcess {
	p := &inProcess{
		mutate: mutate, scripts: map[string]*lua.FunctionProto{}, state: map[string]map[string]string{},
		lua: lua.NewState(),
	}
	table := p.lua.NewTable()
	p.lua.SetFuncs(table, map[string]lua.LGFunction{
		"call": p.call, "pcall": p.call, // no command fails here
		"sha1hex": func(l *lua.LState) int {
			sum := sha1.Sum([]byte(l.CheckString(1)))
			l.Push(lua.LString(hex.EncodeToString(sum[:])))
			return 1
		},
		"error_reply": func(l *lua.LState) int {
			reply := l.NewTable()
			reply.RawSetString("err", lua.LString(l.CheckString(1)))
			l.Push(reply)
			return 1
		},
	})
	p.lua.SetGlobal("redis", table)
	return p
}

// begin is the clock at the start of each sequence, in seconds.
const begin = 1893456030

// time returns the reply of TIME.
func (p *inProcess) time() (seconds, microseconds string) {
	return strconv.Itoa(begin + int(p.clock)/1000), strconv.Itoa(int(p.clock) % 1000 * 1000)
}

// replicationID returns the replication id of a life, or zeros.
func replicationID(life int8) string { return fmt.Sprintf("%040x", life+1) }

// info returns a section of INFO.
func (e environment) info(section string) string {
	bit := map[bool]int{true: 1}
	switch section {
	case "replication":
		role, replica := "master", ""
		if e.follows {
			role = "slave"
		}
		if e.connected {
			replica = "slave0:ip=127.0.0.1,port=6380,state=online,offset=1,lag=0\r\n"
		}
		return fmt.Sprintf("# Replication\r\nrole:%s\r\nconnected_slaves:%d\r\n%smaster_replid:%s\r\nmaster_replid2:%s\r\n",
			role, bit[e.connected], replica, replicationID(e.life), replicationID(e.past-1))
	case "persistence":
		status := map[bool]string{true: "err", false: "ok"}
		return fmt.Sprintf("# Persistence\r\naof_enabled:%d\r\naof_rewrite_in_progress:%d\r\naof_rewrite_scheduled:%d\r\n"+
			"aof_last_write_status:%s\r\naof_pending_bio_fsync:%d\r\n",
			bit[e.aof != aofOff], bit[e.aof == aofRewriting], bit[e.aof == aofScheduled], status[e.aof == aofFailing], bit[e.pending])
	case "server":
		return fmt.Sprintf("# Server\r\nuptime_in_seconds:%d\r\n", e.uptime)
	case "cluster":
		return "# Cluster\r\ncluster_enabled:0\r\n"
	}
	panic("bug: no script reads INFO " + section)
}

// replied is the text of an error reply.
type replied string

func (r replied) Error() string { return string(r) }

// RedisError marks it as an error that go-redis recognises.
func (replied) RedisError() {}

// EvalSha runs a script that was run before.
func (p *inProcess) EvalSha(ctx context.Context, sha string, keys []string, args ...any) *redis.Cmd {
	cmd := redis.NewCmd(ctx)
	proto, ok := p.scripts[sha]
	if !ok {
		cmd.SetErr(replied("NOSCRIPT No matching script"))
		return cmd
	}
	return p.run(cmd, proto, keys, args)
}

// Eval runs a script that was not run before.
func (p *inProcess) Eval(ctx context.Context, source string, keys []string, args ...any) *redis.Cmd {
	proto := compile(p.mutate(source))
	p.scripts[redis.NewScript(source).Hash()] = proto
	return p.run(redis.NewCmd(ctx), proto, keys, args)
}

// compiled caches the scripts by their source, since many models run the same few scripts.
var compiled sync.Map

func compile(source string) *lua.FunctionProto {
	if proto, ok := compiled.Load(source); ok {
		return proto.(*lua.FunctionProto)
	}
	chunk, err := parse.Parse(strings.NewReader(source), "script")
	if err != nil {
		panic(fmt.Sprint("bug: ", err))
	}
	proto, err := lua.Compile(chunk, "script")
	if err != nil {
		panic(fmt.Sprint("bug: ", err))
	}
	compiled.Store(source, proto)
	return proto
}

func (p *inProcess) run(cmd *redis.Cmd, proto *lua.FunctionProto, keys []string, args []any) *redis.Cmd {
	l := p.lua
	for name, texts := range map[string][]string{"KEYS": keys, "ARGV": texts(args)} {
		table := l.CreateTable(len(texts), 0)
		for _, text := range texts {
			table.Append(lua.LString(text))
		}
		l.SetGlobal(name, table)
	}
	l.Push(l.NewFunctionFromProto(proto))
	if err := l.PCall(0, 1, nil); err != nil {
		cmd.SetErr(err)
		return cmd
	}
	reply := l.CheckTable(-1)
	l.Pop(1)
	if text, ok := reply.RawGetString("err").(lua.LString); ok {
		cmd.SetErr(replied(text))
		return cmd
	}
	items := make([]any, reply.Len())
	for i := range items {
		items[i] = reply.RawGetInt(i + 1).String()
	}
	cmd.SetVal(items)
	return cmd
}

// texts returns arguments as go-redis sends them.
func texts(args []any) []string {
	out := make([]string, len(args))
	for i, arg := range args {
		out[i] = fmt.Sprint(arg)
	}
	return out
}

// call implements redis.call.
func (p *inProcess) call(l *lua.LState) int {
	args := make([]string, l.GetTop())
	for i := range args {
		args[i] = l.Get(i + 1).String()
	}
	switch command, rest := args[0], args[1:]; command {
	case "HMGET":
		hash, reply := p.state[rest[0]], l.NewTable()
		for _, field := range rest[1:] {
			if value, ok := hash[field]; ok {
				reply.Append(lua.LString(value))
			} else {
				reply.Append(lua.LFalse)
			}
		}
		l.Push(reply)
	case "HSET":
		if p.state[rest[0]] == nil {
			p.state[rest[0]] = map[string]string{}
		}
		for i := 1; i < len(rest); i += 2 {
			p.state[rest[0]][rest[i]] = rest[i+1]
		}
		l.Push(lua.LNumber(0))
	case "HDEL":
		maps.DeleteFunc(p.state[rest[0]], func(field, _ string) bool {
			return strings.Contains(" "+strings.Join(rest[1:], " ")+" ", " "+field+" ")
		})
		l.Push(lua.LNumber(0))
	case "EXISTS":
		l.Push(lua.LNumber(min(1, len(p.state[rest[0]]))))
	case "TIME":
		seconds, microseconds := p.time()
		reply := l.NewTable()
		reply.Append(lua.LString(seconds))
		reply.Append(lua.LString(microseconds))
		l.Push(reply)
	case "INFO":
		l.Push(lua.LString(p.node.info(rest[0])))
	default:
		panic("bug: no script calls " + command)
	}
	return 1
}
