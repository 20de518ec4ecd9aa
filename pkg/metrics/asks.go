package metrics

import (
	"github.com/narwhal-scheduler/narwhal/pkg/core"
	"github.com/narwhal-scheduler/narwhal/pkg/core/preemptor"
)

// reasonTexts are the values of the label reason. They are not the texts for
// people, which may change.
var reasonTexts = [...]string{
	core.NotTried:      "not_tried",
	core.QuotaExceeded: "quota",
	core.NoNodeFits:    "no_node_fits",
	core.Infeasible:    "refused_on_nodes",
	core.BindFailed:    "bind_failed",
	core.NodeUnknown:   "node_unknown",
	core.NodeFull:      "node_full",
	core.NodeHeld:      "node_held",
	core.RoomIsMade:    "nominated",
	core.LoopStopped:   "loop_stopped",
	core.KindUnknown:   "kind_unknown",

	core.AwaitsPlaceholder: "awaits_placeholder",
	core.AwaitsReplacement: "awaits_replacement",
	core.AwaitsGang:        "awaits_gang",
	core.UserLimit:         "user_limit",
	core.GroupLimit:        "group_limit",
	core.QueueApplications: "queue_applications",
	core.UserApplications:  "user_applications",
	core.GroupApplications: "group_applications",
	core.Impossible:        "impossible",
}

var reasonLabels = labelled("reason", reasonTexts[:])

// leafCounts are what is counted in one leaf queue.
type leafCounts struct {
	states      [len(stateTexts)]int
	allocations int
	reasons     [len(reasonTexts)]int // of pending asks
}

// asks goes over applications and their asks, and counts them by queue.
func (r *reading) asks() {
	var pending [len(reasonTexts)]int
	var byTrigger [preemptor.Triggers]int
	for _, app := range r.view.Applications {
		c := r.leaves[app.Queue]
		if c == nil {
			c = new(leafCounts)
			r.leaves[app.Queue] = c
		}
		c.states[app.State]++
		c.allocations += len(app.Allocations)
		for i := range app.Asks {
			ask := &app.Asks[i]
			c.reasons[ask.Reason]++
			pending[ask.Reason]++
			if ask.Nominated != "" {
				byTrigger[ask.Trigger]++
			}
		}
	}
	for reason, n := range pending {
		r.page.add(pendingAsks, float64(n), r.partition, reasonLabels[reason])
	}
	for trigger, n := range byTrigger {
		r.page.add(nominatedAsks, float64(n), r.partition, triggerLabels[trigger])
	}
}
