package scheduler

import (
	"fmt"

	siapi "github.com/apache/yunikorn-scheduler-interface/lib/go/api"
	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
)

// A dispatcher turns deliveries into callbacks. Consecutive deliveries of one kind
// share a response; different kinds never do, because a reader takes the lists
// of a response one after the other and would lose the order between them.
type dispatcher struct {
	callback       siapi.ResourceManagerCallback
	nominations    NominationCallback // nil if the callback is none
	waits          WaitCallback       // the same
	groups         GroupCallback      // the same
	allocationsMax int                // placed allocations in one response
	echoes         bool               // what was adopted is told too
	messages       messageMaker
	log            effectLog
	recorder       *recorder
	meter          meter
	singles        []single // memory for the next responses
}

func (s *Scheduler) newDispatcher(r *registration) *dispatcher {
	d := &dispatcher{
		callback:       r.callback,
		allocationsMax: s.config.BatchAllocations,
		echoes:         s.config.EchoAdopted,
		messages:       messageMaker{kinds: s.kinds},
		log:            newEffectLog(s.loggers, r.id),
		recorder:       s.newRecorder(r),
		meter:          s.meter,
	}
	d.nominations, _ = r.callback.(NominationCallback)
	d.waits, _ = r.callback.(WaitCallback)
	d.groups, _ = r.callback.(GroupCallback)
	return d
}

// deliver logs and makes the next callback, and returns how many deliveries were
// in it, at least one.
func (d *dispatcher) deliver(batch []delivery) int {
	switch first := batch[0]; first.kind {
	case placedMessage:
		return d.placed(batch)
	case adoptedMessage:
		return d.adopted(batch)
	case releasedMessage, allocationRejectedMessage:
		return d.allocations(runOf(batch, len(batch)))
	case applicationAcceptedMessage, applicationRejectedMessage, applicationChangedMessage:
		return d.applications(runOf(batch, len(batch)))
	case nodeAcceptedMessage, nodeRejectedMessage:
		return d.nodes(runOf(batch, len(batch)))
	case unschedulableMessage, nominatedMessage, nominationClearedMessage:
		return d.state(batch[:1])
	case waitsMessage:
		return d.askWaits(batch[:1])
	case groupMessage:
		return d.groupChanged(batch[:1])
	case stepMessage:
		d.recorder.record(first.step)
		return 1
	case unansweredMessage:
		d.log.write(batch[:1])
		return 1
	default:
		panic(fmt.Sprintf("scheduler: partition %s: %T has no message", first.step.from.name, first.what()))
	}
}

// runOf is the deliveries of one kind at the head of a batch, at most so many and
// at least one.
func runOf(batch []delivery, most int) []delivery {
	n := 1
	for n < len(batch) && n < most && batch[n].kind == batch[0].kind {
		n++
	}
	return batch[:n]
}

// messagesOf makes a message of each delivery.
func messagesOf[E, M any](run []delivery, message func(d delivery, event E) M) []M {
	list := make([]M, len(run))
	for i, d := range run {
		list[i] = message(d, d.what().(E))
	}
	return list
}

// single is a response with one placed allocation, in one piece of memory.
type single struct {
	response   si.AllocationResponse
	placed     [1]*si.Allocation
	allocation si.Allocation
}

// singlesMax is for how many responses memory is taken at once, which costs less than for one
// by one. A receiver that keeps one message keeps that of the others too, so it is few: 2 KiB.
const singlesMax = 7

// single is an empty response. So many placements wait at the head of a batch that memory for
// no more than them is taken.
func (d *dispatcher) single(batch []delivery) *single {
	if len(d.singles) == 0 {
		d.singles = make([]single, len(runOf(batch, singlesMax)))
	}
	one := &d.singles[0]
	d.singles = d.singles[1:]
	return one
}

// placed tells of the placements at the head of a batch.
func (d *dispatcher) placed(batch []delivery) int {
	run := runOf(batch, d.allocationsMax)
	if len(run) == 1 {
		one := d.single(batch)
		d.messages.placement(run[0].step.from.name, placedOf(run[0].what()), &one.allocation)
		one.placed[0] = &one.allocation
		one.response.New = one.placed[:]
		return d.updateAllocation(run, &one.response)
	}
	list := messagesOf(run, func(one delivery, event any) *si.Allocation {
		message := new(si.Allocation)
		d.messages.placement(one.step.from.name, placedOf(event), message)
		return message
	})
	return d.updateAllocation(run, &si.AllocationResponse{New: list})
}

// adopted tells of the adopted allocations at the head of a batch, if that is awaited.
func (d *dispatcher) adopted(batch []delivery) int {
	if d.echoes {
		return d.placed(batch)
	}
	d.log.write(batch[:1])
	return 1
}

func (d *dispatcher) allocations(run []delivery) int {
	response := new(si.AllocationResponse)
	if run[0].kind == releasedMessage {
		response.Released = messagesOf(run, func(one delivery, event any) *si.AllocationRelease {
			return releaseOf(one.step.from.name, event)
		})
	} else {
		response.RejectedAllocations = messagesOf(run, func(_ delivery, e *api.AllocationRejected) *si.RejectedAllocation {
			return &si.RejectedAllocation{AllocationKey: string(e.Key), ApplicationID: string(e.Application), Reason: e.Reason}
		})
	}
	return d.updateAllocation(run, response)
}

func (d *dispatcher) updateAllocation(run []delivery, response *si.AllocationResponse) int {
	d.log.write(run)
	d.call("UpdateAllocation", func() error { return d.callback.UpdateAllocation(response) })
	return len(run)
}

func (d *dispatcher) applications(run []delivery) int {
	response := new(si.ApplicationResponse)
	switch run[0].kind {
	case applicationAcceptedMessage:
		response.Accepted = messagesOf(run, func(_ delivery, e *api.ApplicationAccepted) *si.AcceptedApplication {
			return &si.AcceptedApplication{ApplicationID: string(e.ID)}
		})
	case applicationRejectedMessage:
		response.Rejected = messagesOf(run, func(_ delivery, e *api.ApplicationRejected) *si.RejectedApplication {
			return &si.RejectedApplication{ApplicationID: string(e.ID), Reason: e.Reason}
		})
	default:
		response.Updated = messagesOf(run, func(one delivery, e *api.ApplicationChanged) *si.UpdatedApplication {
			return &si.UpdatedApplication{
				ApplicationID: string(e.ID), State: e.State.String(),
				StateTransitionTimestamp: one.step.Now.UnixNano(), Message: e.Message,
			}
		})
	}
	d.log.write(run)
	d.call("UpdateApplication", func() error { return d.callback.UpdateApplication(response) })
	return len(run)
}

func (d *dispatcher) nodes(run []delivery) int {
	response := new(si.NodeResponse)
	if run[0].kind == nodeAcceptedMessage {
		response.Accepted = messagesOf(run, func(_ delivery, e *api.NodeAdded) *si.AcceptedNode {
			return &si.AcceptedNode{NodeID: string(e.ID)}
		})
	} else {
		response.Rejected = messagesOf(run, func(_ delivery, e *api.NodeRejected) *si.RejectedNode {
			return &si.RejectedNode{NodeID: string(e.ID), Reason: e.Reason}
		})
	}
	d.log.write(run)
	d.call("UpdateNode", func() error { return d.callback.UpdateNode(response) })
	return len(run)
}

// state sends the state of an ask. A nomination is sent in two ways: as the state, which
// every resource manager receives and which names no node, and in full to a callback
// that is a NominationCallback.
func (d *dispatcher) state(one []delivery) int {
	d.log.write(one)
	d.protected("UpdateContainerSchedulingState", func() { d.callback.UpdateContainerSchedulingState(askState(one[0].what())) })
	if d.nominations == nil {
		return 1
	}
	switch e := one[0].what().(type) {
	case *api.Claimed:
		d.protected("Nominate", func() { d.nominations.Nominate(string(e.Key), string(e.Node)) })
	case *api.ClaimEnded:
		d.protected("ClearNomination", func() { d.nominations.ClearNomination(string(e.Key)) })
	}
	return 1
}

// askWaits tells a WaitCallback why an ask waits.
func (d *dispatcher) askWaits(one []delivery) int {
	if d.waits != nil {
		d.log.write(one)
		d.protected("AskWaits", func() { d.waits.AskWaits(waitsOf(one[0].what())) })
	}
	return 1
}

// groupChanged tells a GroupCallback what a group does.
func (d *dispatcher) groupChanged(one []delivery) int {
	if e, ok := one[0].what().(*api.GroupChanged); ok && d.groups != nil {
		d.log.write(one)
		d.protected("UpdateGroup", func() {
			d.groups.UpdateGroup(&UpdateGroupArgs{
				Name: e.Name, State: groupStates[e.State], Running: e.Running, Done: e.Done, Least: e.Least, Subgroups: e.Subgroups, BelowSince: e.Since, Message: e.Text(),
			})
		})
	}
	return 1
}

// protected makes a callback whose panic is a failure like any other.
func (d *dispatcher) protected(name string, callback func()) {
	d.call(name, func() error {
		callback()
		return nil
	})
}

// call makes a callback and logs its error. A panic is counted and logged like an error.
func (d *dispatcher) call(name string, callback func() error) {
	var err error
	if panicked := protected(func() { err = callback() }); panicked != nil {
		d.meter.panicked(name)
		err = panicked
	}
	d.log.failed(name, err)
}

// flush sends the resource manager the event records that it has not been sent.
func (d *dispatcher) flush() {
	if records := d.recorder.unsent(); len(records) > 0 {
		d.protected("SendEvent", func() { d.callback.SendEvent(records) })
	}
}
