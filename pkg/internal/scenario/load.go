package scenario

import (
	"fmt"

	"github.com/narwhal-scheduler/narwhal/pkg/config"
	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
)

// load reads the configuration of the one partition of a scenario.
func (w *world) load(text string) (api.Config, error) {
	document, err := config.Load(text, w.kinds)
	if err != nil {
		return api.Config{}, fmt.Errorf("the configuration: %w", err)
	}
	if n := len(document.Partitions); n != 1 {
		return api.Config{}, fmt.Errorf("the configuration has %d partitions; a scenario is about one", n)
	}
	return document.Partitions[0], nil
}
