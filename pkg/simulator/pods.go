package simulator

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/core/preemptor"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// podState is where a pod is in its life.
type podState uint8

// A pod waits, has a node and starts, runs, and is over. One that cannot be
// bound waits again.
const (
	waiting podState = iota
	starting
	running
	over
)

// A pod is one ask and what becomes of it.
//
//	node and devices are set if and only if it is starting or running
//	charged is whether the core has it on its books, which outlasts the pod
//	when its release is late
type pod struct {
	*podSpec
	key      api.AllocationKey
	serial   int64 // order of arrival
	attempt  int   // from one; more when it was lost before
	base     api.AllocationKey
	app      *application
	under    int  // the time that its application was registered before it was asked for
	twice    bool // it was asked for twice
	refusals int  // that are to come of what was sent before it was asked for again
	arrived  time.Duration
	leave    time.Duration // the moment it leaves, placed or not; negative is none
	runs     time.Duration // once it runs; negative is for ever
	required api.NodeID

	// plan is the last plan to make room for it that was taken down, and helped
	// whether it or an earlier one had victims. nominated is the node that it is
	// nominated to while it waits.
	plan      *preemptor.Decision
	helped    bool
	nominated api.NodeID

	done       bool // it ended in its own time
	silent     bool // it is over, and the core is never told
	unbound    bool // it could not be bound once
	releasing  bool // evicted, and charged still
	down       bool // it counts as down for its budgets
	state      podState
	on         api.NodeID    // where it was placed last
	at         time.Duration // of the placement
	node       *node
	devices    []int
	charged    bool
	generation int // counts changes of state, so that what was planned before does nothing
}

// A podSpec is what equal pods share.
type podSpec struct {
	wants
	amounts  resources.Amounts
	priority int32
	once     bool
	driver   bool
	optOut   bool
	spares   bool // no pod is to be evicted for it
	stubborn bool
	grace    time.Duration // that it takes to end after its eviction was requested
	budgets  []*budget
	daemon   *daemonSet // nil for all others
	tags     map[string]string

	taskGroup   string // empty if it is of no gang
	placeholder bool
}

// attemptKey is the key of a pod of which there were some before.
func attemptKey(base api.AllocationKey, attempt int) api.AllocationKey {
	if attempt <= 1 {
		return base
	}
	return api.AllocationKey(fmt.Sprintf("%s~%d", base, attempt))
}

// pods are those of the scenario: what waits, runs, or is still charged.
type pods struct {
	*simulation
	applications *applications
	budgets      *budgets
	byKey        map[api.AllocationKey]*pod
	serial       int64 // of the last that arrived
	// explain asks the core why a pod still waits.
	explain func(*pod) pendingReason
}

// arrive asks for a pod.
func (ps *pods) arrive(p *pod) {
	ps.serial++
	p.serial, p.arrived, p.under = ps.serial, ps.now, p.app.times
	if ps.byKey[p.key] != nil {
		ps.breach("the pod %s arrives twice", p.key)
		return
	}
	p.count(func(n *podCounts) { n.arrived++ })
	if p.placeholder {
		ps.counts.gangs.Asked++
	} else {
		p.app.arrived++
	}
	ps.books.wait(p, 1)
	ps.byKey[p.key] = p
	p.twice = ps.report(ps.allocation(p))
	if p.leave >= 0 {
		ps.events.plan(max(p.leave, ps.now), func() { ps.leave(p) })
	}
}

// allocation is what the core is told of a pod.
func (ps *pods) allocation(p *pod) *api.Allocation {
	return &api.Allocation{
		Key:         p.key,
		Application: p.app.id,
		Amounts:     p.amounts,
		Priority:    p.priority,
		Created:     epoch.Add(p.arrived),
		Required:    p.required,
		Originator:  p.driver,
		TaskGroup:   p.taskGroup,
		Placeholder: p.placeholder,
		Preemptable: api.Preemptable{Stated: p.optOut || p.spares, AllowSelf: !p.optOut, AllowOthers: !p.spares},
		Tags:        p.tags,
	}
}

// bind has a pod start on the node where it was placed: it gets its devices there, or
// cannot be bound.
func (ps *pods) bind(p *pod, n *node) {
	if !p.placeholder {
		ps.counts.placements++
	}
	ps.endNomination(p, n.ID)
	ps.books.wait(p, -1)
	p.moveTo(starting)
	p.at, p.on, p.node, p.devices = ps.now, n.ID, n, n.table.take(p.demand)
	n.pods[p.key] = p
	ps.charge(p)
	step, turn := ps.started, p.generation
	if ps.happens(ps.scenario.Faults.BindFails) || n.refuses > 0 {
		step = ps.unbind
	}
	delay := ps.pause(ps.scenario.Delays.Start)
	if p.leave >= 0 && ps.now+delay > p.leave {
		step = ps.started // the end of its time comes first
	}
	if delay == 0 {
		step(p)
		return
	}
	ps.after(delay, func() {
		if p.generation == turn {
			step(p)
		}
	})
}

func (p *pod) moveTo(state podState) { p.state, p.generation = state, p.generation+1 }

func (ps *pods) charge(p *pod) {
	p.charged = true
	ps.books.charge(p.app.queue, p.amounts, 1)
}

// discharge follows the core, which takes a pod off its books.
func (ps *pods) discharge(p *pod) {
	if p.charged {
		p.charged = false
		ps.books.charge(p.app.queue, p.amounts, -1)
	}
	if p.releasing {
		p.releasing = false
		ps.books.change(ps.books.releasing, -1)
		ps.budgets.markUp(p)
	}
	if p.state == over {
		delete(ps.byKey, p.key)
	}
}

// vacate frees the node and the devices of a pod.
func (p *pod) vacate() {
	if p.node != nil {
		p.node.table.give(p.demand, p.devices)
		delete(p.node.pods, p.key)
		p.node, p.devices = nil, nil
	}
}

// started counts a pod as placed for good, and plans its end.
func (ps *pods) started(p *pod) {
	ps.countPlaced(p)
	ps.budgets.markUp(p)
	p.moveTo(running)
	if p.leave < 0 && p.runs >= 0 {
		turn := p.generation
		ps.after(p.runs, func() {
			if p.generation == turn {
				ps.ended(p)
			}
		})
	}
}

// countPlaced counts a pod as placed for good, once in its life.
func (ps *pods) countPlaced(p *pod) {
	if p.placeholder {
		ps.counts.gangs.Placed++
		return
	}
	for q := p.app.queue; q != nil; q = q.parent {
		q.pods.placed++
		q.waits = append(q.waits, p.at-p.arrived)
	}
	if p.daemon != nil {
		ps.counts.daemonWaits = append(ps.counts.daemonWaits, p.at-p.arrived)
	}
	if p.helped {
		one := ps.counts.preemption.of(p.plan.Trigger)
		one.waits = append(one.waits, p.at-p.arrived)
	}
}

// unbind reports that a placement could not be bound: the pod waits again.
func (ps *pods) unbind(p *pod) {
	if !p.placeholder {
		ps.counts.bindFailures++
	}
	p.unbound = true
	p.vacate()
	p.moveTo(waiting)
	ps.discharge(p)
	ps.books.wait(p, 1)
	ps.send(api.ReleaseAllocation{
		Application: p.app.id,
		Key:         p.key,
		Termination: api.SchedulingFailed,
		Message:     "the node refused the pod",
	})
}

// ended is a pod that is done.
func (ps *pods) ended(p *pod) {
	p.count(func(n *podCounts) { n.ended++ })
	p.done = true
	if p.tags[api.TagQuorum] != "" {
		p.app.done = append(p.app.done, p)
	}
	ps.stop(p, si.TerminationType_STOPPED_BY_RM)
}

// leave ends a pod of a trace at its time, also when it was never placed.
func (ps *pods) leave(p *pod) {
	switch p.state {
	case running:
		ps.ended(p)
	case starting:
		ps.started(p)
		ps.ended(p)
	case waiting:
		ps.giveUp(p)
	case over:
	}
}

// giveUp takes an ask back that was never placed.
func (ps *pods) giveUp(p *pod) {
	reason := ps.explain(p)
	pods := ps.counts.gaveUp[reason]
	if pods == nil {
		pods = &pendingPods{example: p.key}
		ps.counts.gaveUp[reason] = pods
	}
	pods.count++
	p.count(func(n *podCounts) { n.gaveUp++ })
	ps.withdraw(p)
}

// cancel takes an ask back that is not needed any more.
func (ps *pods) cancel(p *pod) {
	p.count(func(n *podCounts) { n.cancelled++ })
	ps.withdraw(p)
}

func (ps *pods) withdraw(p *pod) {
	ps.drop(p)
	ps.send(api.ReleaseAllocation{Application: p.app.id, Key: p.key, Termination: si.TerminationType_STOPPED_BY_RM})
}

// refuse ends a pod whose ask the core refused for a reason.
func (ps *pods) refuse(p *pod, reason string) {
	ps.counts.rejections[reason]++
	p.count(func(n *podCounts) { n.rejected++ })
	ps.drop(p)
}

// drop ends a pod that waits.
func (ps *pods) drop(p *pod) {
	ps.unnominate(p)
	ps.budgets.markUp(p)
	ps.books.wait(p, -1)
	p.moveTo(over)
	delete(ps.byKey, p.key)
}

// nominate notes the node that a pod is nominated to.
func (ps *pods) nominate(p *pod, to api.NodeID) {
	p.nominated = to
	ps.books.change(ps.books.nominated, 1)
}

// endNomination ends the nomination of a pod that was placed, there or elsewhere.
func (ps *pods) endNomination(p *pod, on api.NodeID) {
	if p.nominated != "" && p.nominated != on {
		ps.counts.preemption.of(p.plan.Trigger).elsewhere++
	}
	ps.unnominate(p)
}

func (ps *pods) unnominate(p *pod) {
	if p.nominated != "" {
		p.nominated = ""
		ps.books.change(ps.books.nominated, -1)
	}
}

// sortedPods lists pods in the order of their arrival, for loops whose order matters.
func sortedPods(pods map[api.AllocationKey]*pod) []*pod {
	list := slices.Collect(maps.Values(pods))
	slices.SortFunc(list, func(a, b *pod) int { return int(a.serial - b.serial) })
	return list
}
