package main

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/hilo-id/hilo/scripts/redistest"
)

// TestThePasswordIsNotInTheTitle looks at the process as ps would, and that it knows the password all the same.
func TestThePasswordIsNotInTheTitle(t *testing.T) {
	t.Parallel()
	hilo := binary(t)
	server := redistest.StartMini(t)
	server.RequireLogin("ann", "S3cr3t")
	login := strings.Replace(server.URL(), "redis://", "redis://ann:S3cr3t@", 1)
	tests := []struct {
		name string
		args []string
		want string
	}{
		{"a flag and its value", []string{"--redis", login}, "--redis redis://**********@127.0.0.1:"},
		{"one word", []string{"--redis=north=" + login}, "--redis=north=redis://**********@127.0.0.1:"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			args := append([]string{"next", "orders", "--count", "1000000000"}, test.args...)
			command := exec.CommandContext(t.Context(), hilo, args...)
			stdout, err := command.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := command.Start(); err != nil {
				t.Fatal(err)
			}
			defer func() { _ = command.Process.Kill(); _ = command.Wait() }()
			if _, err := bufio.NewReader(stdout).ReadString('\n'); err != nil { // it knew the password
				t.Fatal(err)
			}
			title, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", command.Process.Pid))
			if err != nil {
				t.Fatal(err)
			}
			shown := strings.ReplaceAll(string(title), "\x00", " ")
			if strings.Contains(shown, "S3cr3t") || !strings.Contains(shown, test.want) {
				t.Errorf("%q, want %q in it", shown, test.want)
			}
		})
	}
}

func TestSecretsOfAnArgumentAreFound(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, arg, want string }{
		{"no URL", "orders", "orders"},
		{"no login", "redis://h:1/0", "redis://h:1/0"},
		{"user and password", "redis://ann:pw@h", "redis://******@h"},
		{"a password that is not escaped", "a=redis://ann:p/w@x@h", "a=redis://*********@h"},
		{"options", "redis+sentinel://h/m?password=pw&sentinel_password=pw", "redis+sentinel://h/m?password=**&sentinel_password=**"},
		{"an empty option", "redis://h/m?password=", "redis://h/m?password="},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			got := []byte(test.arg)
			for _, s := range secrets(test.arg) {
				for i := s.from; i < s.to; i++ {
					got[i] = '*'
				}
			}
			if string(got) != test.want {
				t.Errorf("%q, want %q", got, test.want)
			}
		})
	}
}
