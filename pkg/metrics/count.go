package metrics

import (
	"github.com/narwhal-scheduler/narwhal/pkg/core"
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
func (n *counts) event(event core.Event) subject {
	switch e := event.(type) {
	case core.Placed, core.Adopted:
		n.add(allocated)
	case *core.Ended:
		if e.Cause.IsTold() {
			n.add(released)
			n.add(releasedOwn + stopped)
		}
	case *core.EvictionRequested:
		n.add(released)
		if e.IsForeign() {
			n.add(releasedForeign + preempted)
		} else {
			n.add(releasedOwn + preempted)
		}
	case *core.ReleaseRequested:
		n.add(released)
		if e.Cause == core.CauseReplaced {
			n.add(releasedOwn + replaced)
		} else {
			n.add(releasedOwn + timedOut)
		}
	case *core.AllocationRejected:
		n.add(rejected)
	case *core.Unschedulable:
		n.add(askStated + askFailed)
	case *core.Claimed:
		if e.Plan == nil {
			return aboutNode
		}
		n.add(nominated)
	case *core.ClaimEnded:
		switch {
		case !e.Nominated:
			return aboutNode
		case e.Waits():
			n.add(cleared)
		}
	case core.AskAdded, core.AskResized, *core.AskEnded, *core.Resized, *core.PreemptionPlanned, *core.AskReport, *reports.AskWaits, *core.EvictionOverdue, *outcomes.VictimsWasted:
	default:
		return n.other(event)
	}
	return aboutRequest
}

// other counts an event that is not about an ask or allocation of this scheduler.
func (n *counts) other(event core.Event) subject {
	switch e := event.(type) {
	case *core.ApplicationAccepted:
		n.add(submitted)
		n.add(entered + counter(core.New))
	case *core.ApplicationRejected:
		n.add(refused)
	case *core.ApplicationChanged:
		n.add(entered + counter(e.State))
		if e.State == core.Accepted {
			n.add(accepted)
		}
	case *core.ApplicationGone, *core.ApplicationReport, *core.ApplicationGroup, *core.ApplicationHeld:
	case *core.NodeAdded:
		n.add(nodeAccepted)
		return aboutNode
	case *core.NodeRejected:
		n.add(nodeRejected)
		return aboutNode
	case *core.NodeRemoved:
		n.add(nodeRemoved)
		return aboutNode
	case *core.NodeResized, *core.NodeAttributes, *core.NodeSchedulable,
		core.ForeignAdded, core.ForeignRemoved:
		return aboutNode
	case *core.Reconfigured, *core.QueueAdded, *core.QueueRemoved, *core.QueueReport:
		return aboutQueue
	default:
		return aboutUnknown
	}
	return aboutApplication
}
