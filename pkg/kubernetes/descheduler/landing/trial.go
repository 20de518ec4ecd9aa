package landing

import (
	v1 "k8s.io/api/core/v1"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/framework"
)

// A trial is what one question has changed.
type trial struct {
	asked   *v1.Pod  // of which the question was; nil while it is being answered
	gone    *entry   // the pod that was evicted
	next    *entry   // its replacement; nil where kept is it
	kept    *entry   // its replacement, which is counted already
	others  []*entry // that waited, and were placed in the room
	refused string   // why the core did not take the replacement in
}

// waits says whether the replacement waits.
func (t *trial) waits() bool { return t.next != nil && t.next.waits() }

// node is where the replacement stands.
func (t *trial) node() string {
	if t.kept != nil {
		return string(t.kept.allocation.Node)
	}
	return string(t.next.allocation.Node)
}

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
	c.set(t.gone.pod)
	c.entries[t.gone.allocation.Key] = t.gone
	again := *t.gone.allocation
	c.observe(c.partition.Apply(c.now, api.AddAllocation{Allocation: &again}))
}
