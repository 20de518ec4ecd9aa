package landing

import (
	"slices"

	v1 "k8s.io/api/core/v1"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/feasibility"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/pods"
)

// A waitingClass is pods that waited when the cycle began and are alike for the filters.
type waitingClass struct {
	ties *feasibility.Ties
	pods []*entry
}

// waits says whether any of the pods waits still.
func (w *waitingClass) waits() bool { return slices.ContainsFunc(w.pods, (*entry).waits) }

func (e *entry) waits() bool { return e.allocation != nil && e.allocation.Node == "" }

// watch notes the pods that wait, by class.
func (c *Cluster) watch(waiting []*v1.Pod) {
	c.waiting, c.tied = nil, nil
	known := map[string]*waitingClass{}
	for _, p := range waiting {
		e := c.entries[api.AllocationKey(pods.Key(p))]
		class := c.classOf(e)
		w := known[class]
		if w == nil || class == "" {
			w = &waitingClass{ties: feasibility.TiesOf(p)}
			known[class] = w
			c.waiting = append(c.waiting, w)
			if w.ties.Any() {
				c.tied = append(c.tied, w)
			}
		}
		w.pods = append(w.pods, e)
	}
}

// settle lets the core place what can be placed after changes. What the core remembers of the
// answers of the filters holds then: what it is asked next does not depend on what it was
// asked before. Time passes first, so that pods which wait have their turn before a replacement.
func (c *Cluster) settle() {
	c.now = c.now.Add(retryDelay)
	c.renew()
	c.schedule()
	for c.renew() {
		c.schedule()
	}
}

// schedule has the core place pods, and ask again about nodes that were freed, until it has
// nothing more to ask.
func (c *Cluster) schedule() {
	for {
		effects, more := c.partition.Schedule(c.now)
		c.observe(effects)
		if more {
			continue
		}
		at, ok := c.partition.Due()
		if !ok || at.After(c.now.Add(retryDelay)) {
			return
		}
		if at.After(c.now) {
			c.now = at
		}
	}
}

// renew has the core ask about all nodes again where pods that came or went may have changed the
// answers about one that waits, and says whether that is so. About their own nodes it asks anyway.
func (c *Cluster) renew() bool {
	moved := c.moved
	c.moved = nil
	if !slices.ContainsFunc(moved, c.decides) {
		return false
	}
	c.now = c.now.Add(retryMax)
	return true
}

// decides says whether a pod decides about one that waits on nodes where it does not run itself.
func (c *Cluster) decides(pod *v1.Pod) bool {
	ties, among := feasibility.TiesOf(pod), c.tied
	if ties.Any() {
		among = c.waiting
	}
	if c.trial != nil && c.trial.waits() && feasibility.TiesOf(c.trial.next.pod).To(ties) {
		return true
	}
	return slices.ContainsFunc(among, func(w *waitingClass) bool { return w.waits() && w.ties.To(ties) })
}
