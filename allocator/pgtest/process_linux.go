package pgtest

import (
	"errors"
	"os"
	"os/exec"
	"os/user"
	"strconv"
	"syscall"
)

// immediately is the signal at which PostgreSQL ends all its processes at once
// and still removes its shared memory, which it would leave behind if killed.
const immediately = syscall.SIGQUIT

// other returns the user that PostgreSQL runs as, or nil if it is the test's own.
func other() (*syscall.Credential, error) {
	if os.Geteuid() != 0 {
		return nil, nil // which os/exec takes for no change
	}
	for _, name := range []string{"postgres", "nobody"} {
		found, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, errUID := strconv.ParseUint(found.Uid, 10, 32)
		gid, errGID := strconv.ParseUint(found.Gid, 10, 32)
		if errUID == nil && errGID == nil && uid != 0 {
			return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, nil
		}
	}
	return nil, errors.New("PostgreSQL does not run as root, and there is neither a user postgres nor nobody")
}

// handOver makes dir that user's.
func handOver(dir string) error {
	credential, err := other()
	if err != nil || credential == nil {
		return err
	}
	return os.Chown(dir, int(credential.Uid), int(credential.Gid))
}

// asUser makes cmd run as that user, and end at once when this process does.
func asUser(cmd *exec.Cmd) error {
	credential, err := other()
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: credential, Pdeathsig: immediately}
	return err
}
