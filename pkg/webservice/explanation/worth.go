package explanation

import (
	"fmt"
	"strings"
	"time"

	"github.com/narwhal-scheduler/narwhal/pkg/archive"
	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
	"github.com/narwhal-scheduler/narwhal/pkg/webservice/encoder"
	"github.com/narwhal-scheduler/narwhal/pkg/webservice/object"
)

// worth says of a victim whether its eviction was worth it: whether the ask started for which it ended, the priorities of both, and the work
// that is lost.
func worth(view *api.View, kinds *resources.Kinds, p *archive.Plan, v *archive.Victim) []string {
	return inMargin("worth it", []string{whatCame(view, p, v), "it ran at " + priorities(v) + lostOf(kinds, v)})
}

// whatCame is what came of the plan that evicted a victim.
func whatCame(view *api.View, p *archive.Plan, v *archive.Victim) string {
	if p.Key == "" {
		return fmt.Sprintf("queue %s was over its max, and uses so much less", p.Queue)
	}
	who := string(p.Key)
	if priority := askPriority(view, p); priority != nil {
		who += fmt.Sprintf(" of priority %d", *priority)
	}
	switch {
	case v.Wasted != "":
		return fmt.Sprintf("no: %s does not run in its room: %s", who, v.Wasted)
	case p.Outcome == archive.Placed:
		return fmt.Sprintf("yes: %s started on node %s at %s, %s after", who, p.On, p.Until.UTC().Format(time.RFC3339), p.Until.Sub(p.At).Truncate(time.Second))
	case p.Outcome == archive.UnderWay:
		return "not yet: " + who + " has not started"
	}
	return strings.TrimSuffix(fmt.Sprintf("no: %s did not start in its room: %s: %s", who, p.Outcome, p.Reason), ": ")
}

// lostOf is the work of a victim that is lost, or would be.
func lostOf(kinds *resources.Kinds, v *archive.Victim) string {
	switch ran := v.Ran().Truncate(time.Second); {
	case v.Ended.IsZero():
		return "; it still runs, and nothing is lost yet"
	case ran == 0:
		return ""
	default:
		return fmt.Sprintf("; %s of %s are lost", ran, kinds.Format(v.Amounts))
	}
}

// askPriority is the priority of the ask of a plan, as the plan or the partition knows it; nil if neither does.
func askPriority(view *api.View, p *archive.Plan) *int32 {
	if p.Priority != nil {
		return p.Priority
	}
	app, ask := view.Ask(p.Application, p.Key)
	switch {
	case app == nil:
		return nil
	case ask != nil:
		return &ask.Priority
	}
	for _, placed := range app.Allocations {
		if placed.Key == p.Key {
			return &placed.Priority
		}
	}
	return nil
}

// came adds what came of the plan of an eviction.
func (e *evictionPlanJSON) came(at *object.Snapshot, p *archive.Plan, v *archive.Victim) {
	e.Outcome, e.Priority, e.ForPriority = p.Outcome.String(), &v.OwnPriority, askPriority(at.View, p)
	if p.Outcome == archive.Placed {
		e.ForStartTime = encoder.NanosecondsOf(p.Until)
	}
}
