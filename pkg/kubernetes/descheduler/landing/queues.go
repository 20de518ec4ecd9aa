package landing

import (
	"slices"

	v1 "k8s.io/api/core/v1"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/framework"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/pods"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// A queueUse is how much a queue uses in this cycle. Pods that were evicted are gone, and
// their replacements do not run yet.
type queueUse struct {
	path             api.QueuePath
	parent           *queueUse // nil for the root
	used, guaranteed resources.Amounts
}

// readQueues notes how much the queues use.
func (c *Cluster) readQueues() {
	c.usage = map[api.QueuePath]*queueUse{}
	var walk func(q *api.QueueView, parent *queueUse)
	walk = func(q *api.QueueView, parent *queueUse) {
		use := &queueUse{path: q.Path, parent: parent, used: slices.Clone(q.Used), guaranteed: q.Guaranteed}
		c.usage[q.Path] = use
		for _, child := range q.Queues {
			walk(child, use)
		}
	}
	walk(c.partition.View().Root, nil)
	for _, p := range c.snapshot.InFlight() {
		if e := c.entries[api.AllocationKey(pods.Key(p))]; e != nil && e.allocation != nil {
			c.takeOff(e.allocation)
		}
	}
}

// takeOff takes a pod that was evicted off what its queues use.
func (c *Cluster) takeOff(a *api.Allocation) {
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
	leaf := c.usage[c.queueOf[api.ApplicationID(app.Qualified())]]
	if leaf == nil {
		return framework.QueueShare{}, false
	}
	least := framework.QueueShare{Queue: string(leaf.path)}
	for use := leaf; use != nil; use = use.parent {
		kind, used, guaranteed := largestShare(c.kinds, use.used, use.guaranteed)
		if guaranteed == 0 {
			continue
		}
		if least.Guaranteed == 0 || isGreater(least.Used, least.Guaranteed, used, guaranteed) {
			least = framework.QueueShare{Queue: string(use.path), Kind: kind, Used: used, Guaranteed: guaranteed}
		}
	}
	return least, true
}

// ShortWithout implements framework.Queues. It is false for a pod of another scheduler, and for
// one that does not run. No pod that was evicted in this cycle counts as used.
func (c *Cluster) ShortWithout(pod *v1.Pod) (framework.QueueShare, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e := c.entries[api.AllocationKey(pods.Key(pod))]
	if t := c.trial; t != nil && t.asked == pod {
		e = t.gone // a trial changes nothing of what queues use
	}
	if e == nil || e.allocation == nil || e.allocation.IsForeign() || e.allocation.Node == "" {
		return framework.QueueShare{}, false
	}
	for use := c.usage[c.queueOf[e.allocation.Application]]; use != nil; use = use.parent {
		for kind := range resources.Kind(c.kinds.Len()) {
			amount, guaranteed := e.allocation.Amounts.Of(kind), use.guaranteed.Of(kind)
			left := use.used.Of(kind) - amount
			if amount > 0 && left < guaranteed {
				return framework.QueueShare{
					Queue: string(use.path), Kind: c.kinds.Name(kind), Used: left, Guaranteed: guaranteed,
				}, true
			}
		}
	}
	return framework.QueueShare{}, false
}

// largestShare is the name, use and guarantee of the kind of which most is used in relation to
// the guarantee. Without any guarantee, both are zero.
func largestShare(kinds *resources.Kinds, used, guaranteed resources.Amounts) (name string, u, g int64) {
	uses, guarantees := kinds.Map(used), kinds.Map(guaranteed)
	for kind := range kinds.Len() {
		one := kinds.Name(resources.Kind(kind))
		if guarantees[one] <= 0 {
			continue
		}
		if g == 0 || isGreater(uses[one], guarantees[one], u, g) {
			name, u, g = one, uses[one], guarantees[one]
		}
	}
	return name, u, g
}

// isGreater says whether a/b is greater than c/d, exactly.
func isGreater(a, b, c, d int64) bool { return framework.CompareShares(a, b, c, d) > 0 }
