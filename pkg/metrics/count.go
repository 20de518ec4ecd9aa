package metrics

import (
	"github.com/narwhal-scheduler/narwhal/pkg/core"
)

// counts are how much a step adds to the counters of its partition.
type counts [countersMax]uint64

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
		n[allocated]++
	case *core.Ended:
		if e.Cause.IsTold() {
			n[released]++
			n[releasedOwn+stopped]++
		}
	case *core.EvictionRequested:
		n[released]++
		if e.IsForeign() {
			n[releasedForeign+preempted]++
		} else {
			n[releasedOwn+preempted]++
		}
	case *core.ReleaseRequested:
		n[released]++
		if e.Cause == core.CauseReplaced {
			n[releasedOwn+replaced]++
		} else {
			n[releasedOwn+timedOut]++
		}
	case *core.AllocationRejected:
		n[rejected]++
	case *core.Unschedulable:
		n[askStated+askFailed]++
	case *core.Nominated:
		n[nominated]++
	case *core.NominationEnded:
		if e.Waits {
			n[cleared]++
		}
	case core.AskAdded, core.AskResized, *core.AskEnded, *core.Resized, *core.PreemptionPlanned, *core.AskReport, *core.AskWaits, *core.VictimsWasted:
	default:
		return n.other(event)
	}
	return aboutRequest
}

// other counts an event that is not about an ask or allocation of this scheduler.
func (n *counts) other(event core.Event) subject {
	switch e := event.(type) {
	case *core.ApplicationAccepted:
		n[submitted]++
		n[entered+counter(core.New)]++
	case *core.ApplicationRejected:
		n[refused]++
	case *core.ApplicationChanged:
		n[entered+counter(e.State)]++
		if e.State == core.Accepted {
			n[accepted]++
		}
	case *core.ApplicationGone, *core.ApplicationReport, *core.ApplicationGroup, *core.ApplicationHeld:
	case *core.NodeAdded:
		n[nodeAccepted]++
		return aboutNode
	case *core.NodeRejected:
		n[nodeRejected]++
		return aboutNode
	case *core.NodeRemoved:
		n[nodeRemoved]++
		return aboutNode
	case *core.NodeResized, *core.NodeAttributes, *core.NodeSchedulable,
		core.ForeignAdded, core.ForeignRemoved, *core.Reserved, *core.Unreserved:
		return aboutNode
	case *core.Reconfigured, *core.QueueAdded, *core.QueueRemoved, *core.QueueReport:
		return aboutQueue
	default:
		return aboutUnknown
	}
	return aboutApplication
}
