package recording

import (
	"fmt"
	"strings"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// shownMax is how many events of a step are described.
const shownMax = 5

// describe is a step for people.
func describe(s *Step, kinds *resources.Kinds) string {
	var text strings.Builder
	if s.Command == nil {
		fmt.Fprintf(&text, "Schedule, more %t", s.More)
	} else {
		fmt.Fprintf(&text, "%s", strings.TrimPrefix(fmt.Sprintf("%T", s.Command), "api."))
	}
	for i, event := range s.Effects {
		if i == shownMax {
			fmt.Fprintf(&text, " and %d more events", len(s.Effects)-shownMax)
			break
		}
		fmt.Fprintf(&text, "; %s", eventText(event, kinds))
	}
	return text.String()
}

// eventText is an event in a few words.
func eventText(event api.Event, kinds *resources.Kinds) string {
	name := strings.TrimPrefix(strings.TrimPrefix(fmt.Sprintf("%T", event), "*"), "api.")
	switch e := event.(type) {
	case api.Placed:
		return fmt.Sprintf("%s %s on %s (%s)", name, e.Key, e.Node, kinds.Format(e.Amounts))
	case *api.EvictionRequested:
		return fmt.Sprintf("%s %s on %s for %s by %s", name, e.Key, e.Node, e.For, e.Trigger)
	case *api.Ended:
		return fmt.Sprintf("%s %s on %s: %s", name, e.Key, e.Node, e.Text())
	case *api.AllocationRejected:
		return fmt.Sprintf("%s %s: %s", name, e.Key, e.Reason)
	}
	if a := allocationOf(event); a != nil {
		return fmt.Sprintf("%s %s", name, a.Key)
	}
	return name
}

// allocationOf is the allocation or ask that an event is about, of those that begin or end it; nil for others.
func allocationOf(event api.Event) *api.Allocation {
	switch e := event.(type) {
	case api.AskAdded:
		return e.Allocation
	case *api.AskEnded:
		return e.Allocation
	case api.Placed:
		return e.Allocation
	case api.Adopted:
		return e.Allocation
	case *api.Ended:
		return e.Allocation
	case *api.EvictionRequested:
		return e.Allocation
	case *api.Claimed:
		return e.Allocation
	case *api.ClaimEnded:
		return e.Allocation
	}
	return nil
}
