package cluster

import "syscall"

// dieTogether makes a process end with this program, so that nothing is left when a test
// runs into its time limit, which skips what would be cleaned up.
func dieTogether() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
}
