// Package main is the descheduler for Kubernetes.
package main

import (
	"os"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/command"
)

func main() { os.Exit(command.Main()) }
