package explain

import (
	"fmt"
	"strings"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/explain/planned"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// Detail is what the reason is about for which an ask waits: a queue, a node, a text of the resource
// manager, or what was found out about its required node.
func Detail(w *api.Waiting, kinds *resources.Kinds) string {
	if w.Reason == api.NodeFull && w.Detail == "" && w.Decided != nil {
		return planned.Summary(w.Decided, kinds)
	}
	return w.Detail
}

// Attempt is a preemption attempt in one sentence with the numbers that matter; kinds must
// be those of the partition.
func Attempt(a *api.PreemptionAttempt, kinds *resources.Kinds) string {
	if a.Succeeded() {
		return fmt.Sprintf("by %s on node %s: %s", a.Trigger, a.Node, planned.Summary(a.Plan, kinds))
	}
	text := fmt.Sprintf("by %s on none of %d nodes", a.Trigger, a.Nodes)
	if a.Plan == nil {
		return text + leftOut(a)
	}
	if a.Refused > 0 {
		text += fmt.Sprintf(", %d refused", a.Refused)
	}
	return fmt.Sprintf("%s; nearest is %s: %s", text, a.Node, planned.Summary(a.Plan, kinds))
}

// leftOut says how many nodes were left out, by reason.
func leftOut(a *api.PreemptionAttempt) string {
	var parts []string
	for _, c := range []struct {
		nodes int
		text  string
	}{
		{a.Closed, "%d may not be used"},
		{a.TooSmall, "%d too small"},
		{a.Insufficient, "on %d too little can be freed"},
	} {
		if c.nodes > 0 {
			parts = append(parts, fmt.Sprintf(c.text, c.nodes))
		}
	}
	if len(parts) == 0 {
		return ""
	}
	return ": " + strings.Join(parts, ", ")
}
