package group

import (
	"slices"

	"github.com/narwhal-scheduler/narwhal/pkg/core/laws"
)

// Verify returns the first broken law, or nil: what is tried later of groups and gangs is listed for that.
func (s *Groups) Verify() error {
	v := laws.Check{Partition: s.Name}
	if asks := s.AsksWith(s.larger.Has); asks != s.larger.Count() {
		v.Breaks("%d asks are larger than their placeholders, of which %d wait", s.larger.Count(), asks)
	}
	for _, g := range s.Together {
		if g.Waits && !slices.Contains(s.waiting, g) {
			v.Breaks("group %s waits for nothing", g.Name)
		}
	}
	for app := range s.Applications.Ascend {
		if app.Gang == nil {
			continue
		}
		for _, task := range app.Gang.Groups {
			if r := s.nextToHold(task); s.Changes.None() && (r != nil || task.Held.Len() > task.Left()) {
				v.Breaks("task group %s: %d asks wait for %d placeholders, and another one is to: %t", task.Name, task.Held.Len(), task.Left(), r != nil)
			}
		}
	}
	return v.Err
}
