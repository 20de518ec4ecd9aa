package simulator

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/outcomes"
	"github.com/narwhal-scheduler/narwhal/pkg/reports"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// A cluster is the virtual resource manager with its nodes and pods. It knows
// the core by its events only, which deliver takes in. Its parts answer with commands.
type cluster struct {
	*simulation
	applications *applications
	budgets      *budgets
	pods         *pods
	foreign      *foreignPods
	nodes        *nodes
	preemption   *preemption
	gangs        *gangs
	outcomes     outcomes.Book
	starts       starts

	come, expected int        // applications, or pods where these come one by one
	anew           func()     // makes the scheduler anew
	adopts         bool       // without telling so: it is at the other end of a connection
	config         api.Config // as the scheduler was told last
	changes        int        // of limits
}

func newCluster(s *Scenario, seed uint64) *cluster {
	c := &cluster{simulation: newSimulation(s, seed), config: s.Config, starts: starts{}}
	c.applications = &applications{simulation: c.simulation, byID: map[api.ApplicationID]*application{}}
	c.budgets = &budgets{books: c.books}
	c.pods = &pods{
		simulation: c.simulation, applications: c.applications, budgets: c.budgets,
		byKey: map[api.AllocationKey]*pod{},
	}
	c.gangs = &gangs{simulation: c.simulation, applications: c.applications, pods: c.pods}
	c.foreign = &foreignPods{simulation: c.simulation, byKey: map[api.AllocationKey]*foreignPod{}}
	c.nodes = &nodes{
		simulation: c.simulation, pods: c.pods, foreign: c.foreign,
		byID: make(map[api.NodeID]*node, len(s.Nodes)), groups: map[string][]*node{},
	}
	c.preemption = &preemption{
		simulation: c.simulation, pods: c.pods, foreign: c.foreign, nodes: c.nodes,
		step: step{chosen: map[api.AllocationKey]bool{}, from: map[string]*queueBook{}},
	}
	return c
}

// build makes what the scenario has, and plans what happens to it.
func (c *cluster) build() {
	for i := range c.scenario.Nodes {
		n := c.nodes.add(&c.scenario.Nodes[i])
		c.events.plan(n.Join, func() { c.nodes.join(n) })
	}
	for i := range c.scenario.DaemonSets {
		d := c.nodes.addDaemonSet(&c.scenario.DaemonSets[i])
		if d.At > 0 {
			c.events.plan(d.At, func() { c.nodes.rollOut(d) })
		}
	}
	for i := range c.scenario.Changes {
		c.events.plan(c.scenario.Changes[i].At, func() { c.change(i) })
	}
	for i := range c.scenario.Budgets {
		c.budgets.all = append(c.budgets.all, &budget{Budget: &c.scenario.Budgets[i], down: c.books.counter()})
	}
	for i := range c.scenario.Foreign {
		f := &c.scenario.Foreign[i]
		c.events.plan(f.At, func() { c.foreign.arrive(f, c.nodes.order) })
	}
	for i := range c.scenario.Incidents {
		one := &c.scenario.Incidents[i]
		random := stream(c.seed, fmt.Sprintf("incident %d", i))
		c.events.plan(one.At, func() { c.startIncident(one, random) })
	}
}

// deliver takes in the effects of one step of the partition.
func (c *cluster) deliver(effects api.Effects) {
	c.outcomes.Observe(effects)
	if !c.adopts { // messages are not steps
		for _, name := range c.starts.check(effects) {
			c.breach("the first members of group %s were placed, and they are fewer than must start together", name)
		}
	}
	for _, event := range effects {
		if len(c.inbox) == 0 || !c.overtaken(event) {
			c.observe(event)
		}
	}
	c.preemption.checkChosen()
}

// observe takes in an event. Those that say what the cluster has said itself, or
// what is of no use to it, are left alone; those that no scenario can bring about
// are breaches.
func (c *cluster) observe(event api.Event) {
	switch e := event.(type) {
	case api.Placed:
		c.placed(e.Allocation)
	case api.Adopted:
		c.adopted(e.Allocation)
	case *api.Ended:
		c.released(e)
	case *api.EvictionRequested:
		c.preemption.evictionRequested(e)
	case *api.AllocationRejected:
		c.rejected(e)
	case *api.Claimed:
		if e.Plan != nil {
			c.preemption.nominated(e)
		}
	case *api.ClaimEnded:
		if e.Nominated {
			c.preemption.nominationEnded(e)
		}
	case *outcomes.VictimsWasted:
		c.preemption.wasted(e)
	case *api.AskReport:
		c.preemption.reported(e)
	case *api.QueueReport:
		c.preemption.step.exceed(e.Queue)
	case *api.ApplicationAccepted:
		c.applications.accepted(e)
	case *api.ApplicationRejected:
		c.applications.refused(e)
	case *api.ApplicationChanged:
		c.applications.updated(e)
		c.gangs.follow(e)
	case *api.ReleaseRequested:
		c.gangs.releaseRequested(e)
	case *api.NodeRejected:
		c.breach("node %s was rejected: %s", e.ID, e.Reason)
	case api.AskAdded, *api.AskEnded, api.ForeignAdded, api.ForeignRemoved,
		*api.PreemptionPlanned, *api.EvictionOverdue, *api.Unschedulable, *reports.AskWaits, *api.ApplicationReport, *api.ApplicationGone, *api.ApplicationGroup, *api.ApplicationHeld, *api.GroupChanged,
		*api.NodeAdded, *api.NodeSchedulable, *api.NodeRemoved, *api.QueueAdded, *api.QueueRemoved, *api.Reconfigured:
	default:
		c.breach("the core answered with %T", event)
	}
}

// placed takes in a placement.
func (c *cluster) placed(a *api.Allocation) {
	p, n := c.pods.byKey[a.Key], c.nodes.byID[a.Node]
	switch {
	case p == nil || p.state != waiting:
		c.breach("pod %s was placed on %s and does not wait", a.Key, a.Node)
		return
	case n == nil || !n.up:
		c.breach("pod %s was placed on %s, which is not there", a.Key, a.Node)
		return
	case p.required != "" && p.required != n.ID:
		c.breach("pod %s was placed on %s and may run on %s only", p.key, n.ID, p.required)
		return
	}
	if err := n.check(&p.wants); err != nil {
		c.breach("pod %s was placed on %s although: %w", p.key, n.ID, err)
		return
	}
	c.pods.bind(p, n)
}

// released takes in that an allocation has ended, which only this side can bring
// about: by a release, a failed node, or a pod that could not be bound and waits.
func (c *cluster) released(e *api.Ended) {
	p := c.pods.byKey[e.Key]
	if p == nil || e.Cause == api.CauseBindFailed {
		return
	}
	if p.state != over {
		c.breach("pod %s was released without a request: %s", p.key, e.Message)
		return
	}
	c.pods.discharge(p)
}

// rejected takes in that the core refused an ask.
func (c *cluster) rejected(e *api.AllocationRejected) {
	p := c.pods.byKey[e.Key]
	if p == nil {
		c.counts.rejections[e.Reason]++ // a foreign pod
		return
	}
	if p.state != waiting {
		c.breach("pod %s was rejected and does not wait: %s", p.key, e.Reason)
		return
	}
	if p.refusals > 0 {
		p.refusals--
		return
	}
	if c.refusalCrossed(e) {
		return
	}
	// An application whose placeholders time out may fail, and one may find no queue.
	if c.scenario.Ends > 0 && p.app.gathers.ID == "" && (p.app.rejected == "" || !c.removed(p.app.command.Queue)) {
		c.breach("pod %s was rejected, and all pods are to end: %s", p.key, e.Reason)
	}
	reason := e.Reason
	if p.app.rejected != "" {
		reason = p.app.rejected
	}
	c.pods.refuse(p, reason)
}

// unfinished is the law of a scenario that says when all has ended: the first pod of a workload
// that has not. It is nil without that law.
func (c *cluster) unfinished() error {
	if c.scenario.Ends == 0 {
		return nil
	}
	for _, p := range sortedPods(c.pods.byKey) {
		switch {
		case p.daemon != nil || p.state == over:
		case p.state == waiting:
			why := c.pods.explain(p)
			return fmt.Errorf("the pod %s has not ended: %s %s", p.key, why.reason, why.detail)
		default:
			return fmt.Errorf("the pod %s has not ended: it runs", p.key)
		}
	}
	for _, id := range slices.Sorted(maps.Keys(c.applications.byID)) {
		if c.applications.byID[id].gang != nil {
			return fmt.Errorf("the pods of %s have not come: it gathers", id)
		}
	}
	return nil
}

// agree compares the books of the resource manager with a view of the core.
func (c *cluster) agree(view *api.View) error {
	format := c.scenario.Kinds.Format
	compare := func(what string, ours []*counter, theirs resources.Amounts) error {
		if values(ours).Equal(theirs) {
			return nil
		}
		return fmt.Errorf("%s: the resource manager counts %s, the core %s", what, format(values(ours)), format(theirs))
	}
	var errs []error
	var walk func(q *api.QueueView)
	walk = func(q *api.QueueView) {
		if book := c.books.queues[q.Path]; book != nil {
			errs = append(errs, compare("queue "+string(q.Path), book.used, q.Used))
		}
		for _, child := range q.Queues {
			walk(child)
		}
	}
	walk(view.Root)
	errs = append(errs,
		compare("nodes", c.books.capacity, view.Capacity),
		compare("foreign pods", c.books.occupied, view.Occupied))
	return errors.Join(errs...)
}
