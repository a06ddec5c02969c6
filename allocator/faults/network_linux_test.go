package faults

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/hilo-id/hilo/scripts/redistest"
)

// isolatedEnv is set in a process that isolated started.
const isolatedEnv = "HILO_FAULTS_ISOLATED"

// requireNetworks skips or fails a test that needs isolated where networks cannot be made.
func requireNetworks(t *testing.T) {
	t.Helper()
	if os.Getuid() != 0 {
		redistest.Missing(t, "root, who may make networks")
	}
	if _, err := exec.LookPath("ip"); err != nil {
		redistest.Missing(t, "ip, of iproute2")
	}
}

// isolated runs the test again, in a process with additional variables and with a network and mounts of its own, and reports
// whether this is that process. A test returns where it is not. Networks and mounts have no names outside of the process, so the
// kernel removes them when it ends, in whatever way.
func isolated(t *testing.T, env ...string) bool {
	t.Helper()
	if os.Getenv(isolatedEnv) != "" {
		return true
	}
	var steps []string
	for step := range strings.SplitSeq(t.Name(), "/") {
		steps = append(steps, "^"+regexp.QuoteMeta(step)+"$")
	}
	var output bytes.Buffer
	cmd := exec.Command(os.Args[0], "-test.v", "-test.timeout", "5m", "-test.run", strings.Join(steps, "/"))
	cmd.Env = slices.Concat(os.Environ(), env, []string{isolatedEnv + "=1"})
	cmd.Stdout, cmd.Stderr = &output, &output
	cmd.SysProcAttr = &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNET | syscall.CLONE_NEWNS}
	gone, err := redistest.StartChild(cmd)
	if errors.Is(err, syscall.EPERM) {
		redistest.Missing(t, "the right to make a network") // root of a container may lack it
	} else if err != nil {
		t.Fatal(err)
	}
	<-gone
	if !cmd.ProcessState.Success() || !strings.Contains(output.String(), "--- PASS: "+t.Name()+" ") {
		t.Errorf("the isolated test: %v:\n%s", cmd.ProcessState, output.String())
	} else {
		t.Logf("the isolated test:\n%s", output.String())
	}
	return false
}

// site is a set of hosts on one network, and a name that moves between them. The clients are this process and its children.
type site struct {
	t     *testing.T
	hosts int
	// current is the address to which every name resolves.
	current atomic.Pointer[host]
}

// host is a network namespace with a Redis in it.
type host struct {
	*redistest.Server
	t       *testing.T
	name    string
	address net.IP
}

// port is the same for every Redis of a site, because a name resolves to an address without a port.
const port = "6379"

// newSite makes a network without hosts. The process is isolated.
func newSite(t *testing.T) *site {
	t.Helper()
	s := &site{t: t}
	if err := syscall.Mount("none", "/run", "tmpfs", 0, ""); err != nil { // where ip keeps the names of networks
		t.Fatal(err)
	}
	run(t, "ip", "link", "set", "lo", "up")
	run(t, "ip", "link", "add", "wire", "type", "bridge")
	run(t, "ip", "address", "add", "192.0.2.1/24", "dev", "wire")
	run(t, "ip", "link", "set", "wire", "up")
	s.answerNames()
	return s
}

// add starts a Redis on a host of its own.
func (s *site) add(b redistest.Binary) *host {
	s.t.Helper()
	s.hosts++
	h := &host{t: s.t, name: fmt.Sprint("host", s.hosts), address: net.IPv4(192, 0, 2, byte(1+s.hosts)).To4()}
	run(s.t, "ip", "netns", "add", h.name)
	run(s.t, "ip", "link", "add", h.name, "type", "veth", "peer", "name", "eth0", "netns", h.name)
	run(s.t, "ip", "link", "set", h.name, "master", "wire", "up")
	run(s.t, "ip", "-netns", h.name, "address", "add", h.address.String()+"/24", "dev", "eth0")
	run(s.t, "ip", "-netns", h.name, "link", "set", "eth0", "up")
	run(s.t, "ip", "-netns", h.name, "link", "set", "lo", "up")

	script := filepath.Join(s.t.TempDir(), "server")
	text := fmt.Sprintf("#!/bin/sh\nexec ip netns exec %s '%s' \"$@\"\n", h.name, b.Path)
	if err := os.WriteFile(script, []byte(text), 0o700); err != nil {
		s.t.Fatal(err)
	}
	h.Server = redistest.Start(s.t, redistest.Binary{Path: script, Name: b.Name}, "--protected-mode", "no")
	client := redistest.NewClient(s.t, h.Server) // by the socket of the server, which needs no network
	for setting, value := range map[string]string{"bind": h.address.String(), "port": port} {
		if err := client.ConfigSet(s.t.Context(), setting, value).Err(); err != nil {
			s.t.Fatal(err)
		}
	}
	return h
}

// follow makes the host a replica of another and returns when it is in sync.
func (h *host) follow(primary *host) {
	h.t.Helper()
	client := redistest.NewClient(h.t, h.Server)
	if err := client.Do(h.t.Context(), "REPLICAOF", primary.address.String(), port).Err(); err != nil {
		h.t.Fatal(err)
	}
	h.Await("to be in sync", func(ctx context.Context) bool { return info(ctx, client, "master_link_status") == "up" })
}

// die drops all packets from and to the host. None of its connections ends.
func (h *host) die() {
	h.t.Helper()
	run(h.t, "ip", "-netns", h.name, "link", "set", "eth0", "down")
}

// answerNames starts a DNS server that resolves every name to the current host, and makes this process use it.
func (s *site) answerNames() {
	s.t.Helper()
	conn, err := net.ListenPacket("udp4", "127.0.0.1:53")
	if err != nil {
		s.t.Fatal(err)
	}
	var running sync.WaitGroup
	running.Go(func() {
		query := make([]byte, 512)
		for {
			n, from, err := conn.ReadFrom(query)
			if err != nil {
				return
			}
			if reply := answer(query[:n], s.current.Load().address); reply != nil {
				_, _ = conn.WriteTo(reply, from)
			}
		}
	})
	s.t.Cleanup(func() {
		_ = conn.Close()
		running.Wait()
	})
	config := filepath.Join(s.t.TempDir(), "resolv.conf")
	if err := os.WriteFile(config, []byte("nameserver 127.0.0.1\n"), 0o600); err != nil {
		s.t.Fatal(err)
	}
	// Without such a file that server is the default.
	if err := syscall.Mount(config, "/etc/resolv.conf", "", syscall.MS_BIND, ""); err != nil && !os.IsNotExist(err) {
		s.t.Fatal(err)
	}
}

// answer returns the reply to a DNS query. It contains the address with a TTL of 0, or nothing if the query is for another type.
func answer(query []byte, address net.IP) []byte {
	const header, record = 12, 1
	end := header
	for end < len(query) && query[end] != 0 { // the labels of the name
		end += 1 + int(query[end])
	}
	if end += 5; end > len(query) {
		return nil
	}
	reply := bytes.Clone(query[:end])
	copy(reply[2:], []byte{0x81, 0x80, 0, 1, 0, 0, 0, 0, 0, 0}) // a response without an error to one question
	if binary.BigEndian.Uint16(query[end-4:]) != record {
		return reply
	}
	reply[7] = 1
	reply = append(reply, 0xc0, header, 0, record, 0, 1, 0, 0, 0, 0, 0, 4) // of the name in the question
	return append(reply, address...)
}

func run(t *testing.T, command ...string) {
	t.Helper()
	if output, err := exec.Command(command[0], command[1:]...).CombinedOutput(); err != nil {
		t.Fatalf("%v: %v: %s", command, err, output)
	}
}
