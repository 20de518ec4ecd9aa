package scheduler

import (
	"fmt"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/api"
	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"

	"github.com/narwhal-scheduler/narwhal/pkg/metrics"

	"github.com/narwhal-scheduler/narwhal/pkg/core"
)

// A courier turns deliveries into callbacks. Consecutive deliveries of one type
// share a response; different types never do, because a reader takes the lists
// of a response one after the other and would lose the order between them.
type courier struct {
	callback       api.ResourceManagerCallback
	nominations    NominationCallback // nil if the callback is none
	allocationsMax int                // placed allocations in one response
	journal        journal
	chronicle      *chronicle // nil where nobody asks for it
	meter          meter
}

// single is a response with one placed allocation, in one piece of memory.
type single struct {
	response si.AllocationResponse
	placed   [1]*si.Allocation
}

// deliver logs and makes the next callback, and returns how many deliveries were
// in it, at least one.
func (c *courier) deliver(batch []delivery) int {
	defer c.meter.took(metrics.Callback, c.meter.now())
	return c.hand(batch)
}

func (c *courier) hand(batch []delivery) int {
	switch first := batch[0].effect.(type) {
	case *si.Allocation:
		return c.placed(first, batch)
	case *si.AllocationRelease:
		run := runOf[*si.AllocationRelease](batch, len(batch))
		return c.allocations(batch, len(run), &si.AllocationResponse{Released: run})
	case *si.RejectedAllocation:
		run := runOf[*si.RejectedAllocation](batch, len(batch))
		return c.allocations(batch, len(run), &si.AllocationResponse{RejectedAllocations: run})
	case *si.AcceptedApplication:
		run := runOf[*si.AcceptedApplication](batch, len(batch))
		return c.applications(batch, len(run), &si.ApplicationResponse{Accepted: run})
	case *si.RejectedApplication:
		run := runOf[*si.RejectedApplication](batch, len(batch))
		return c.applications(batch, len(run), &si.ApplicationResponse{Rejected: run})
	case *si.UpdatedApplication:
		run := runOf[*si.UpdatedApplication](batch, len(batch))
		return c.applications(batch, len(run), &si.ApplicationResponse{Updated: run})
	case *si.AcceptedNode:
		run := runOf[*si.AcceptedNode](batch, len(batch))
		return c.nodes(batch, len(run), &si.NodeResponse{Accepted: run})
	case *si.RejectedNode:
		run := runOf[*si.RejectedNode](batch, len(batch))
		return c.nodes(batch, len(run), &si.NodeResponse{Rejected: run})
	case *si.UpdateContainerSchedulingStateRequest:
		c.journal.write(batch[:1])
		c.callback.UpdateContainerSchedulingState(first)
		return 1
	case core.Nomination:
		return c.nominated(first, batch)
	case core.Preemption: // for the chronicle; those who go are told
		return 1
	case *si.EventRecord:
		run := runOf[*si.EventRecord](batch, len(batch))
		if c.chronicle == nil || c.chronicle.history == nil {
			c.callback.SendEvent(run)
		}
		return len(run)
	case step:
		c.chronicle.take(batch[0].from, first)
		return 1
	case unanswered:
		c.journal.write(batch[:1])
		return 1
	default:
		panic(fmt.Sprintf("scheduler: partition %s: effect of unknown type %T", batch[0].from, first))
	}
}

// runOf is the deliveries of one type at the head of a batch, at most so many.
func runOf[T any](batch []delivery, most int) []T {
	n := 0
	for n < len(batch) && n < most {
		if _, ok := batch[n].effect.(T); !ok {
			break
		}
		n++
	}
	run := make([]T, n)
	for i := range run {
		run[i] = batch[i].effect.(T)
	}
	return run
}

func (c *courier) placed(first *si.Allocation, batch []delivery) int {
	if c.allocationsMax > 1 {
		run := runOf[*si.Allocation](batch, c.allocationsMax)
		return c.allocations(batch, len(run), &si.AllocationResponse{New: run})
	}
	one := new(single)
	one.placed[0] = first
	one.response.New = one.placed[:]
	return c.allocations(batch, 1, &one.response)
}

// nominated tells of a nomination in two ways: as the state of the ask, which every
// resource manager hears of but in which a node has no place, and in full to those
// who can hear it.
func (c *courier) nominated(n core.Nomination, batch []delivery) int {
	c.journal.write(batch[:1])
	state := si.UpdateContainerSchedulingStateRequest_RESERVED
	if n.Node == "" {
		state = si.UpdateContainerSchedulingStateRequest_SKIPPED
	}
	c.callback.UpdateContainerSchedulingState(&si.UpdateContainerSchedulingStateRequest{
		ApplicationID: string(n.Application), AllocationKey: string(n.Key), State: state, Reason: n.Reason,
	})
	switch {
	case c.nominations == nil:
	case n.Node == "":
		c.protected("ClearNomination", func() { c.nominations.ClearNomination(string(n.Key)) })
	default:
		c.protected("Nominate", func() { c.nominations.Nominate(string(n.Key), string(n.Node)) })
	}
	return 1
}

// protected makes a callback whose panic is a failure like any other.
func (c *courier) protected(name string, callback func()) {
	c.journal.failed(name, protected(callback))
}

func (c *courier) allocations(batch []delivery, n int, response *si.AllocationResponse) int {
	c.journal.write(batch[:n])
	c.journal.failed("UpdateAllocation", c.callback.UpdateAllocation(response))
	return n
}

func (c *courier) applications(batch []delivery, n int, response *si.ApplicationResponse) int {
	c.journal.write(batch[:n])
	c.journal.failed("UpdateApplication", c.callback.UpdateApplication(response))
	return n
}

func (c *courier) nodes(batch []delivery, n int, response *si.NodeResponse) int {
	c.journal.write(batch[:n])
	c.journal.failed("UpdateNode", c.callback.UpdateNode(response))
	return n
}
