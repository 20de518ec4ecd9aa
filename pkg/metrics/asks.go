package metrics

import (
	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/core/preemptor"
)

// reasonTexts are the values of the label reason. They are not the texts for
// people, which may change.
var reasonTexts = [...]string{
	api.NotTried:      "not_tried",
	api.QuotaExceeded: "quota",
	api.NoNodeFits:    "no_node_fits",
	api.Infeasible:    "refused_on_nodes",
	api.BindFailed:    "bind_failed",
	api.NodeUnknown:   "node_unknown",
	api.NodeFull:      "node_full",
	api.NodeHeld:      "node_held",
	api.RoomIsMade:    "nominated",
	api.LoopStopped:   "loop_stopped",
	api.KindUnknown:   "kind_unknown",

	api.AwaitsPlaceholder: "awaits_placeholder",
	api.AwaitsReplacement: "awaits_replacement",
	api.AwaitsGang:        "awaits_gang",
	api.UserLimit:         "user_limit",
	api.GroupLimit:        "group_limit",
	api.QueueApplications: "queue_applications",
	api.UserApplications:  "user_applications",
	api.GroupApplications: "group_applications",
	api.Impossible:        "impossible",
	api.GroupBelow:        "group_below_minimum",
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
