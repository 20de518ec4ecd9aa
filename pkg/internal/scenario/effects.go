package scenario

import (
	"fmt"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"

	"github.com/narwhal-scheduler/narwhal/pkg/core"
)

// schedulingFailed is how the termination type is written that the interface
// module has no name for.
const schedulingFailed = "SCHEDULING_FAILED"

// print adds a line for each effect but events, which wait until somebody looks,
// and preemptions, which the lines of those who go tell of.
func (w *world) print(fx core.Effects) {
	for _, effect := range fx {
		w.manager.hear(effect)
		if event, ok := effect.(*si.EventRecord); ok {
			w.events = append(w.events, event)
			continue
		}
		if _, ok := effect.(core.Preemption); ok {
			continue
		}
		w.printf("%s%s\n", w.indent, w.line(effect))
	}
}

// line is an effect in words.
func (w *world) line(effect any) string {
	switch m := effect.(type) {
	case *si.Allocation:
		return fmt.Sprintf("placed %s on %s", m.AllocationKey, m.NodeID)
	case *si.AllocationRelease:
		return fmt.Sprintf("released %s %s: %s", m.AllocationKey, terminationName(m.TerminationType), m.Message)
	case *si.RejectedAllocation:
		return fmt.Sprintf("rejected %s: %s", m.AllocationKey, m.Reason)
	case *si.AcceptedApplication:
		return "accepted application " + m.ApplicationID
	case *si.RejectedApplication:
		return fmt.Sprintf("rejected application %s: %s", m.ApplicationID, m.Reason)
	case *si.UpdatedApplication:
		return fmt.Sprintf("application %s is %s", m.ApplicationID, m.State) + unlessEmpty(": ", m.Message)
	case *si.AcceptedNode:
		return "accepted node " + m.NodeID
	case *si.RejectedNode:
		return fmt.Sprintf("rejected node %s: %s", m.NodeID, m.Reason)
	case core.Nomination:
		if m.Node == "" {
			return fmt.Sprintf("not nominated %s: %s", m.Key, m.Reason)
		}
		return fmt.Sprintf("nominated %s to %s: %s", m.Key, m.Node, m.Reason)
	case *si.UpdateContainerSchedulingStateRequest:
		return fmt.Sprintf("hint %s: %s", m.AllocationKey, m.Reason)
	}
	return fmt.Sprintf("an effect without words: %T", effect)
}

// eventLine is an event in words: what, to whom, because of whom, how much.
func (w *world) eventLine(event *si.EventRecord) (string, error) {
	amounts, err := core.AmountsOf(w.kinds, event.Resource)
	if err != nil {
		return "", fmt.Errorf("event on %s: %w", event.ObjectID, err)
	}
	line := fmt.Sprintf("%s %s %s", event.EventChangeType, event.EventChangeDetail, event.ObjectID)
	line += unlessEmpty(" ", event.ReferenceID)
	if !amounts.IsZero() {
		line += " " + w.amounts(amounts)
	}
	return line + unlessEmpty(": ", event.Message), nil
}

func terminationName(termination si.TerminationType) string {
	if termination == core.SchedulingFailed {
		return schedulingFailed
	}
	return termination.String()
}

func unlessEmpty(before, text string) string {
	if text == "" {
		return ""
	}
	return before + text
}
