package scheduler

import (
	"errors"
	"fmt"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/api"
)

// StateDump is what a resource manager says of its own state, in JSON, if its
// callback is an api.StateDumpPlugin; if not, or if none of that name is registered,
// the error wraps errors.ErrUnsupported. The callback is called by this goroutine
// and may be called by several at once. Its panic is an error.
func (s *Scheduler) StateDump(resourceManager string) (text string, err error) {
	s.mu.RLock()
	r := s.registrations[resourceManager]
	s.mu.RUnlock()
	if r == nil {
		return "", fmt.Errorf("resource manager %q is not registered: %w", resourceManager, errors.ErrUnsupported)
	}
	plugin, ok := r.callback.(api.StateDumpPlugin)
	if !ok {
		return "", fmt.Errorf("resource manager %q tells no state: %w", resourceManager, errors.ErrUnsupported)
	}
	if failed := protected(func() { text, err = plugin.GetStateDump() }); failed != nil {
		s.meter.panicked("GetStateDump")
		return "", fmt.Errorf("GetStateDump: %w", failed)
	}
	return text, err
}
