package simulator

import (
	"fmt"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"

	"github.com/narwhal-scheduler/narwhal/pkg/core"
)

// A step is what the core said in one step that has to do with preemption.
type step struct {
	told      []told
	nominated []*pod                // that have a node in view since
	cleared   []*pod                // that have it no more
	inVain    []core.AllocationKey  // asks that nobody makes room for
	givesBack []core.QueuePath      // queues beyond their max
	from      map[string]*queueBook // of those who were told, by key; nil for foreign ones
}

// A told is a pod that was told to go, and where.
type told struct {
	key  core.AllocationKey
	node core.NodeID
}

// victim notes that somebody was told to go. A foreign one has no queue.
func (s *step) victim(key core.AllocationKey, node core.NodeID, from *queueBook) {
	if s.from == nil {
		s.from = map[string]*queueBook{}
	}
	s.told = append(s.told, told{key, node})
	s.from[string(key)] = from
}

// asksForPlans reports whether there are plans to be taken down.
func (s *step) asksForPlans() bool {
	return len(s.told)+len(s.nominated)+len(s.inVain)+len(s.givesBack) > 0
}

// preempt ends a pod because the core says so. One that is over already has its
// release on the way.
func (c *cluster) preempt(p *pod) {
	if p.leaving {
		c.breach("the pod %s was told to go twice", p.key)
		return
	}
	c.step.victim(p.key, p.on, p.app.queue)
	p.leaving = true
	c.books.change(c.books.leaving, 1)
	if p.state == over {
		return
	}
	if p.stubborn {
		c.goDown(p)
		return
	}
	p.app.queue.count(func(n *podCounts) { n.preempted++ })
	c.evict(p, si.TerminationType_PREEMPTED_BY_SCHEDULER)
}

// preemptForeign ends a foreign pod because the core says so.
func (c *cluster) preemptForeign(p *foreignPod) {
	switch {
	case p.Static:
		c.breach("the static pod %s was told to go", p.key)
		return
	case p.leaving:
		c.breach("the foreign pod %s was told to go twice", p.key)
		return
	}
	c.step.victim(p.key, p.node.ID, nil)
	p.leaving = true
	c.books.change(c.books.leaving, 1)
	if p.gone {
		return
	}
	p.gone = true
	c.tally.foreignPreempted++
	c.confirm(0, func() { c.forget(p) })
}

// leftForeign ends the wait for a foreign pod that was told to go.
func (c *cluster) leftForeign(p *foreignPod) {
	if p.leaving {
		p.leaving = false
		c.books.change(c.books.leaving, -1)
	}
}

// nominated takes in that a pod has a node in view, or no more. Only a pod that
// waits may have one. A pod that was taken back may lose one still, as the core
// hears of that later.
func (c *cluster) nominated(e core.Nomination) {
	p := c.pods[e.Key]
	if e.Node == "" {
		if p != nil && p.nominated != "" {
			c.step.cleared = append(c.step.cleared, p)
			c.unnominate(p)
		}
		return
	}
	n := c.nodes[e.Node]
	switch {
	case p == nil || p.state != waiting:
		c.breach("the pod %s was nominated to %s and does not wait", e.Key, e.Node)
	case n == nil || !n.up:
		c.breach("the pod %s was nominated to %s, which is not there", e.Key, e.Node)
	case p.required != "":
		c.breach("the pod %s was nominated to %s and may run on %s only", e.Key, e.Node, p.required)
	case p.nominated != "":
		c.breach("the pod %s was nominated to %s while %s makes room for it", e.Key, e.Node, p.nominated)
	default:
		p.nominated = e.Node
		c.books.change(c.books.nominees, 1)
		c.step.nominated = append(c.step.nominated, p)
	}
}

// arrived ends the nomination of a pod that was placed, there or elsewhere.
func (c *cluster) arrived(p *pod, on core.NodeID) {
	if p.nominated != "" && p.nominated != on && p.plan != nil {
		c.tally.preemption.of(p.plan.Trigger).elsewhere++
	}
	c.unnominate(p)
}

func (c *cluster) unnominate(p *pod) {
	if p.nominated != "" {
		p.nominated = ""
		c.books.change(c.books.nominees, -1)
	}
}

// recorded looks for the events that say that a plan found nobody, and that a
// queue gives back.
func (c *cluster) recorded(e *si.EventRecord) {
	switch {
	case e.Type == si.EventRecord_REQUEST && e.EventChangeType == si.EventRecord_NONE:
		if p := c.pods[core.AllocationKey(e.ObjectID)]; p != nil && p.required != "" {
			c.step.inVain = append(c.step.inVain, p.key)
		}
	case e.Type == si.EventRecord_QUEUE && e.EventChangeDetail == si.EventRecord_QUEUE_PREEMPTION:
		c.step.givesBack = append(c.step.givesBack, core.QueuePath(e.ObjectID))
	}
}

// A budget is how many pods of some workloads may be down at once.
type budget struct {
	*Budget
	down *counter
}

// budgetsOf lists the budgets of a workload.
func (c *cluster) budgetsOf(workload string) []*budget {
	var list []*budget
	for _, b := range c.budgets {
		for _, name := range b.Workloads {
			if name == workload {
				list = append(list, b)
			}
		}
	}
	return list
}

// goDown counts a pod as down: one whose predecessor ended too early, until it
// runs or is given up, or one that does not go, until it has ended.
func (c *cluster) goDown(p *pod) { c.turnDown(p, true, 1) }

// backUp ends what goDown began.
func (c *cluster) backUp(p *pod) { c.turnDown(p, false, -1) }

func (c *cluster) turnDown(p *pod, down bool, sign int64) {
	if p.down == down {
		return
	}
	p.down = down
	for _, b := range p.budgets {
		c.books.change(b.down, sign)
	}
}

// allowances is the answer to the question which budgets pods count for: of each
// as much as is left of it.
func (c *cluster) allowances(keys []core.AllocationKey) []core.DisruptionBudget {
	all := make([]core.DisruptionBudget, len(c.budgets))
	at := map[*budget]*core.DisruptionBudget{}
	for i, b := range c.budgets {
		all[i] = core.DisruptionBudget{Name: b.Name, Allowed: max(b.Allowed-int(b.down.value), 0)}
		at[b] = &all[i]
	}
	for _, key := range keys {
		if p := c.pods[key]; p != nil {
			for _, b := range p.budgets {
				at[b].Allocations = append(at[b].Allocations, key)
			}
		}
	}
	return all
}

// simulate says whether a pod may run on a node to which some pods were added
// and from which some were taken away. Labels and models stay whoever goes.
func (c *cluster) simulate(key core.AllocationKey, id core.NodeID, add, remove []core.AllocationKey) error {
	p, n := c.pods[key], c.nodes[id]
	if p == nil || n == nil || !n.up {
		return &lasting{fmt.Errorf("pod %s or node %s is not known", key, id)}
	}
	if err := n.never(&p.wants); err != nil {
		return &lasting{err}
	}
	if p.demand.Count == 0 {
		return nil
	}
	table := n.table.clone()
	for _, gone := range remove {
		if q := c.pods[gone]; q != nil && q.node == n {
			table.give(q.demand, q.devices)
		}
	}
	for _, come := range add {
		if q := c.pods[come]; q != nil && table.check(&q.wants) == nil {
			table.take(q.demand)
		}
	}
	return table.check(&p.wants)
}

// A lasting refusal is one that holds whoever goes.
type lasting struct{ error }

// Unresolvable tells the core so.
func (*lasting) Unresolvable() bool { return true }
