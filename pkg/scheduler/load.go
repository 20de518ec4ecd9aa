package scheduler

import (
	"errors"

	"github.com/narwhal-scheduler/narwhal/pkg/core"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// loadConfig reads the configuration of the partitions of one resource manager,
// at least one, and its checksum. It is all the scheduler knows of package
// config.
func loadConfig(text string, kinds *resources.Kinds) ([]core.Config, string, error) {
	if text != "" {
		return nil, "", errors.New("not built yet")
	}
	return []core.Config{{Name: "default", Root: core.QueueConfig{
		Name: "root", Parent: true, Queues: []core.QueueConfig{{Name: "default"}},
	}}}, "", nil
}
