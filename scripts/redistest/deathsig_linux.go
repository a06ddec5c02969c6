package redistest

import (
	"os/exec"
	"syscall"
)

// dieWithParent makes the kernel end cmd's process when this one dies without cleaning up, by a panic, a timeout of go test
// or kill -9. The signal comes when the thread that started the process ends, so that thread must stay.
func dieWithParent(cmd *exec.Cmd) {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = new(syscall.SysProcAttr)
	}
	if cmd.SysProcAttr.Pdeathsig == 0 {
		cmd.SysProcAttr.Pdeathsig = syscall.SIGKILL
	}
}
