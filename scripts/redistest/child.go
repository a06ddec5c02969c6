package redistest

import (
	"os/exec"
	"runtime"
)

// StartChild starts a command that ends with this process, however that ends, and closes gone when it has ended. On Linux
// the command receives the Pdeathsig of its SysProcAttr, or else SIGKILL. Elsewhere nothing ties it to its parent.
func StartChild(cmd *exec.Cmd) (gone <-chan struct{}, err error) {
	dieWithParent(cmd)
	started, ended := make(chan error), make(chan struct{})
	go func() {
		defer close(ended)
		// What the kernel takes for the parent is the thread that forked, not the process (see dieWithParent). The
		// lock keeps that thread alive, and out of other hands, for as long as the child runs.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		started <- err
		if err == nil {
			_ = cmd.Wait()
		}
	}()
	return ended, <-started
}
