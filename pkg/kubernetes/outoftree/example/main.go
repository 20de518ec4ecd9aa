// Package main is narwhal-scheduler with a plugin of the scheduling framework of Kubernetes compiled in, as one outside of
// this project would be built. README.md says how.
package main

import (
	"os"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/command"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/outoftree"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/outoftree/example/licences"
)

func main() {
	os.Exit(command.Main(outoftree.Plugin{Name: licences.Name, New: licences.New}))
}
