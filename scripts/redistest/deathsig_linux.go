package redistest

import (
	"os/exec"
	"syscall"
)

// dieWithParent has the kernel kill cmd's process when this one dies without cleaning up: a panic, a timeout of go test, a
// kill -9. The signal comes when the thread that started the process ends, so that thread must stay.
func dieWithParent(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
}
