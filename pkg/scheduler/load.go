package scheduler

import (
	"github.com/narwhal-scheduler/narwhal/pkg/config"
	"github.com/narwhal-scheduler/narwhal/pkg/core"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// A loaded is a configuration of the partitions of one resource manager that
// passed validation.
type loaded struct {
	partitions []core.Config // at least one
	checksum   string
	warnings   []string // what is right but has no effect, for people to read
}

// load reads a configuration text; the empty one is the default. It is all that
// is known here of package config.
func load(text string, kinds *resources.Kinds) (loaded, error) {
	document, err := config.Load(text, kinds)
	if err != nil {
		return loaded{}, err
	}
	l := loaded{partitions: document.Partitions, checksum: document.Checksum}
	for _, problem := range document.Warnings {
		l.warnings = append(l.warnings, problem.String())
	}
	return l, nil
}
