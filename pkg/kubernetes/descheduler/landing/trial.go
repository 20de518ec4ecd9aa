package landing

import (
	"errors"
	"maps"
	"slices"

	v1 "k8s.io/api/core/v1"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/framework"
)

// A trial is what one question has changed.
type trial struct {
	asked   *v1.Pod  // of which the question was; nil while it is being answered
	gone    *entry   // the pod that was evicted; nil: it holds no room
	over    bool     // those that were evicted before have ended
	self    bool     // so has it
	ended   []*entry // those that were evicted before
	next    *entry   // its replacement; nil where kept is it
	kept    *entry   // its replacement, which is counted already
	others  []*entry // that waited, and were placed in the room
	refused string   // why the core did not take the replacement in

	scored   bool                    // the scores of kube-scheduler decide
	target   string                  // where it is to stand by these; empty: nowhere
	equals   []string                // other nodes with the same score, or with room that may come first
	first    bool                    // it takes the first room there is
	accept   func(node string) error // says which nodes will do; nil: all
	alike    func(a, b *v1.Pod) bool // see framework.Choice
	refusals framework.Refusals      // of it
}

// refuses returns why a node will not do, and notes that.
func (t *trial) refuses(node string) error {
	switch {
	case t.target != "" && t.target != node:
		return errOther
	case t.scored: // scores look at all nodes, and what they find is judged
		return nil
	}
	err := t.accepts(node)
	if err != nil {
		t.refusals[node] = err
	}
	return err
}

func (t *trial) accepts(node string) error { return framework.Choice{Accept: t.accept}.Accepts(node) }

// answers says whether the place is the answer for another choice too: it will do, and no node
// that was passed over would.
func (t *trial) answers(accept func(node string) error) bool {
	if accept == nil {
		return len(t.refusals) == 0
	}
	for node := range t.refusals { // all of them are looked at, or the answer is no
		if accept(node) == nil {
			return false
		}
	}
	return accept(t.node()) == nil
}

var errOther = errors.New("is another one")

// waits says whether the replacement waits.
func (t *trial) waits() bool { return t.next != nil && t.next.waits() }

// left are the pods that have ended.
func (t *trial) left() []*entry {
	if t.gone == nil || !t.self {
		return t.ended
	}
	return append(slices.Clone(t.ended), t.gone)
}

// node is where the replacement stands.
func (t *trial) node() string {
	if t.kept != nil {
		return string(t.kept.allocation.Node)
	}
	return string(t.next.allocation.Node)
}

// unsuited is why a replacement found no node that will do. The filters were not asked about those that will
// not, so they are now: where none of these has a place for it, that is the reason.
func (c *Cluster) unsuited(pod *v1.Pod) error {
	refusals := c.trial.refusals
	nodes := slices.Sorted(maps.Keys(refusals))
	for i, err := range c.checker.CheckNodes(c.trial.next.pod, nodes) {
		if err != nil {
			delete(refusals, nodes[i])
		}
	}
	if len(refusals) > 0 {
		return refusals.Unsuited()
	}
	c.takeBack()
	if _, err := c.move(pod, new(trial)); err != nil {
		return err
	}
	return errNoPlace
}

// errNoPlace is of a replacement for which other pods that wait leave no room.
var errNoPlace = errors.New("other pods take the room")

// replacementOf is the pod that a controller would make in place of another: equal in all
// that scheduling looks at, and not placed.
func replacementOf(pod *v1.Pod) *v1.Pod { return framework.StandIn(pod, "") }

// takeBack undoes what a question has changed.
func (c *Cluster) takeBack() {
	t := c.trial
	c.trial = nil
	if t == nil {
		return
	}
	if t.next != nil && t.next.allocation != nil {
		c.unset(t.next.pod)
		c.release(t.next.allocation)
		delete(c.entries, t.next.allocation.Key)
	}
	for _, e := range t.others {
		c.unset(e.pod)
		c.release(e.allocation)
		ask := *e.allocation
		ask.Node = ""
		e.allocation = &ask
		c.observe(c.partition.Apply(c.now, api.AddAllocation{Allocation: &ask}))
	}
	if t.gone != nil {
		c.set(t.gone.pod)
	}
	if !t.over {
		return
	}
	for _, e := range t.left() {
		c.entries[e.allocation.Key] = e
		if e.leaves {
			c.set(c.endingOf(e.pod))
		}
		again := *e.allocation
		c.observe(c.partition.Apply(c.now, api.AddAllocation{Allocation: &again}))
	}
	c.ending = t.ended
}
