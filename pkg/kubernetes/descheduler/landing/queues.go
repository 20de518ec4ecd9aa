package landing

import (
	"math/big"

	v1 "k8s.io/api/core/v1"

	"github.com/narwhal-scheduler/narwhal/pkg/core"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/framework"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// readQueues notes how much the queues use.
func (c *Cluster) readQueues() {
	c.usage = map[core.QueuePath]*core.QueueView{}
	var walk func(q *core.QueueView)
	walk = func(q *core.QueueView) {
		c.usage[q.Path] = q
		for _, child := range q.Queues {
			walk(child)
		}
	}
	walk(c.partition.View().Root)
}

// ShareOf is how much the queue of a pod uses of what it is guaranteed. It is false for a
// pod of another scheduler. Evictions do not change it in a cycle, since replacements land
// in the same queue.
func (c *Cluster) ShareOf(pod *v1.Pod) (framework.QueueShare, bool) {
	if !c.rules.IsOurs(pod) {
		return framework.QueueShare{}, false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	app, _ := c.rules.ApplicationOf(pod, c.snapshot.Namespace(pod.Namespace))
	path, ok := c.queueOf[core.ApplicationID(app.ID)]
	if !ok {
		return framework.QueueShare{}, false
	}
	q := c.usage[path]
	if q == nil {
		return framework.QueueShare{}, false
	}
	share := framework.QueueShare{Queue: string(path)}
	share.Used, share.Guaranteed = largestShare(c.kinds, q.Used, q.Guaranteed)
	return share, true
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
func isGreater(a, b, c, d int64) bool {
	left := new(big.Int).Mul(big.NewInt(a), big.NewInt(d))
	return left.Cmp(new(big.Int).Mul(big.NewInt(c), big.NewInt(b))) > 0
}
