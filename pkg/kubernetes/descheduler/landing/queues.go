package landing

import (
	"slices"

	v1 "k8s.io/api/core/v1"

	"github.com/narwhal-scheduler/narwhal/pkg/core"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/framework"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// A queueUse is how much a queue uses in this cycle. Pods that were evicted are gone, and
// their replacements do not run yet.
type queueUse struct {
	path             core.QueuePath
	parent           *queueUse // nil for the root
	used, guaranteed resources.Amounts
}

// readQueues notes how much the queues use.
func (c *Cluster) readQueues() {
	c.usage = map[core.QueuePath]*queueUse{}
	var walk func(q *core.QueueView, parent *queueUse)
	walk = func(q *core.QueueView, parent *queueUse) {
		use := &queueUse{path: q.Path, parent: parent, used: slices.Clone(q.Used), guaranteed: q.Guaranteed}
		c.usage[q.Path] = use
		for _, child := range q.Queues {
			walk(child, use)
		}
	}
	walk(c.partition.View().Root, nil)
}

// takeOff takes a pod that was evicted off what its queues use.
func (c *Cluster) takeOff(a *core.Allocation) {
	for use := c.usage[c.queueOf[a.Application]]; use != nil && !a.IsForeign(); use = use.parent {
		use.used.Sub(a.Amounts)
	}
}

// ShareOf is how much the queue of a pod uses of what it is guaranteed, without the pods that
// were evicted in this cycle. Of the queue and those above, the one counts that uses least
// in relation to its guarantee. It is false for a pod of another scheduler.
func (c *Cluster) ShareOf(pod *v1.Pod) (framework.QueueShare, bool) {
	if !c.rules.IsOurs(pod) {
		return framework.QueueShare{}, false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	app, _ := c.rules.ApplicationOf(pod, c.snapshot.Namespace(pod.Namespace))
	leaf := c.usage[c.queueOf[core.ApplicationID(app.ID)]]
	if leaf == nil {
		return framework.QueueShare{}, false
	}
	least := framework.QueueShare{Queue: string(leaf.path)}
	for use := leaf; use != nil; use = use.parent {
		used, guaranteed := largestShare(c.kinds, use.used, use.guaranteed)
		if guaranteed == 0 {
			continue
		}
		if least.Guaranteed == 0 || isGreater(least.Used, least.Guaranteed, used, guaranteed) {
			least = framework.QueueShare{Queue: string(use.path), Used: used, Guaranteed: guaranteed}
		}
	}
	return least, true
}

// largestShare is the use and guarantee of the kind of which most is used in relation to
// the guarantee. Without any guarantee, both are zero.
func largestShare(kinds *resources.Kinds, used, guaranteed resources.Amounts) (u, g int64) {
	uses, guarantees := kinds.Map(used), kinds.Map(guaranteed)
	for kind := range kinds.Len() {
		name := kinds.Name(resources.Kind(kind))
		if guarantees[name] <= 0 {
			continue
		}
		if g == 0 || isGreater(uses[name], guarantees[name], u, g) {
			u, g = uses[name], guarantees[name]
		}
	}
	return u, g
}

// isGreater says whether a/b is greater than c/d, exactly.
func isGreater(a, b, c, d int64) bool { return framework.CompareShares(a, b, c, d) > 0 }
