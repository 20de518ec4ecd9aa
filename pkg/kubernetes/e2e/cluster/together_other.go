//go:build !linux

package cluster

import "syscall"

// dieTogether does nothing here: only Linux can end a process with its parent.
func dieTogether() *syscall.SysProcAttr { return nil }
