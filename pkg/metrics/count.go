package metrics

import (
	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/outcomes"
	"github.com/narwhal-scheduler/narwhal/pkg/reports"
)

// counts are how much a step adds to the counters of its partition. Most steps touch two or
// three of them.
type counts struct {
	of      [countersMax]uint32
	touched uint64 // a bit for each that is not zero
}

func (n *counts) add(c counter) {
	n.of[c]++
	n.touched |= 1 << c
}

// A subject is what an event is about, as the label type says it.
type subject uint8

// The subjects, by the numbers of the interface.
const (
	aboutUnknown subject = iota
	aboutRequest
	aboutApplication
	aboutNode
	aboutQueue
)

// Numbers of the interface, as indexes of terminations and askStates.
const (
	stopped   = 1
	timedOut  = 2
	preempted = 3
	replaced  = 4
	askFailed = 4
)

// event counts one event, and says what it is about.
func (n *counts) event(event api.Event) subject {
	switch e := event.(type) {
	case api.Placed, api.Adopted:
		n.add(allocated)
	case *api.Ended:
		if e.Cause.IsTold() {
			n.add(released)
			n.add(releasedOwn + stopped)
		}
	case *api.EvictionRequested:
		n.add(released)
		if e.IsForeign() {
			n.add(releasedForeign + preempted)
		} else {
			n.add(releasedOwn + preempted)
		}
	case *api.ReleaseRequested:
		n.add(released)
		if e.Cause == api.CauseReplaced {
			n.add(releasedOwn + replaced)
		} else {
			n.add(releasedOwn + timedOut)
		}
	case *api.AllocationRejected:
		n.add(rejected)
	case *api.Unschedulable:
		n.add(askStated + askFailed)
	case *api.Claimed:
		if e.Plan == nil {
			return aboutNode
		}
		n.add(nominated)
	case *api.ClaimEnded:
		switch {
		case !e.Nominated:
			return aboutNode
		case e.Waits():
			n.add(cleared)
		}
	case api.AskAdded, api.AskResized, *api.AskEnded, *api.Resized, *api.PreemptionPlanned, *api.AskReport, *reports.AskWaits, *api.EvictionOverdue, *outcomes.VictimsWasted:
	default:
		return n.other(event)
	}
	return aboutRequest
}

// other counts an event that is not about an ask or allocation of this scheduler.
func (n *counts) other(event api.Event) subject {
	switch e := event.(type) {
	case *api.ApplicationAccepted:
		n.add(submitted)
		n.add(entered + counter(api.New))
	case *api.ApplicationRejected:
		n.add(refused)
	case *api.ApplicationChanged:
		n.add(entered + counter(e.State))
		if e.State == api.Accepted {
			n.add(accepted)
		}
	case *api.ApplicationGone, *api.ApplicationReport, *api.ApplicationGroup, *api.ApplicationHeld, *api.GroupChanged:
	case *api.NodeAdded:
		n.add(nodeAccepted)
		return aboutNode
	case *api.NodeRejected:
		n.add(nodeRejected)
		return aboutNode
	case *api.NodeRemoved:
		n.add(nodeRemoved)
		return aboutNode
	case *api.NodeResized, *api.NodeAttributes, *api.NodeSchedulable,
		api.ForeignAdded, api.ForeignRemoved:
		return aboutNode
	case *api.Reconfigured, *api.QueueAdded, *api.QueueRemoved, *api.QueueReport:
		return aboutQueue
	default:
		return aboutUnknown
	}
	return aboutApplication
}
