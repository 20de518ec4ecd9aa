// Package main is the scheduler for Kubernetes: the core with the shim, beside or in place
// of other schedulers.
package main

import (
	"os"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/command"
)

func main() { os.Exit(command.Main()) }
