package descheduler

import (
	"fmt"
	"maps"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/framework"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/policy"
)

// coolDown keeps a workload on a node to which its replacements come back. A pod came
// back where it was made within Initial of an eviction of the same workload, and is on
// the node of that eviction. The workload is then not evicted from that node for Initial;
// each time that this repeats, for twice as long, Max at most. What did not happen again
// for Max after the end of a cool-down is forgotten.
type coolDown struct {
	of      policy.CoolDown
	watched []watch             // in the order of time
	left    map[place]time.Time // when a plugin at balance last took a pod of a workload from a node
	cooling map[place]*cooling
}

// A place is a workload on a node.
type place struct {
	workload framework.Workload
	node     string
}

// A watch is an eviction whose replacement may come back.
type watch struct {
	at    time.Time
	from  place
	known []types.UID // pods of the workload that were on the node
}

// cooling is a cool-down; it holds until a time.
type cooling struct {
	length time.Duration
	until  time.Time
}

func newCoolDown() coolDown {
	return coolDown{cooling: map[place]*cooling{}, left: map[place]time.Time{}}
}

func (c *coolDown) set(of policy.CoolDown) { c.of = of }

// placeOf is where a pod is; false where it has no workload or no node.
func placeOf(pod *v1.Pod) (place, bool) {
	w, ok := framework.WorkloadOf(pod)
	return place{w, pod.Spec.NodeName}, ok && pod.Spec.NodeName != ""
}

// check returns why a pod is kept, or nil.
func (c *coolDown) check(now time.Time, pod *v1.Pod) error {
	at, ok := placeOf(pod)
	if !ok {
		return nil
	}
	if k := c.cooling[at]; k != nil && now.Before(k.until) {
		return &framework.RefusedError{By: "cool-down", Reason: fmt.Sprintf(
			"a replacement came back to node %s, so %s is not evicted from there for %s, until %s",
			at.node, at.workload, k.length, k.until.UTC().Format(time.RFC3339))}
	}
	return nil
}

// evicted begins to watch for the replacement of a pod. Mates are the pods of the same
// workload on the same node.
func (c *coolDown) evicted(now time.Time, pod *v1.Pod, mates []*v1.Pod) {
	from, ok := placeOf(pod)
	if !ok || c.of.Initial <= 0 {
		return
	}
	w := watch{at: now, from: from, known: []types.UID{pod.UID}}
	for _, mate := range mates {
		w.known = append(w.known, mate.UID)
	}
	c.watched = append(c.watched, w)
}

// leave notes that a pod was evicted for the sake of its node. For Max nothing balances a pod of its
// workload onto that node again: two plugins of which each has its own view would move it to and fro.
func (c *coolDown) leave(now time.Time, pod *v1.Pod) {
	if from, ok := placeOf(pod); ok && c.of.Initial > 0 {
		c.left[from] = now
	}
}

// observe looks for replacements that came back. The time at which a pod was made has no
// fractions of a second.
func (c *coolDown) observe(now time.Time, pods []*v1.Pod) {
	for at, k := range c.cooling {
		if !now.Before(k.until.Add(c.of.Max)) {
			delete(c.cooling, at)
		}
	}
	maps.DeleteFunc(c.left, func(_ place, at time.Time) bool { return !now.Before(at.Add(c.of.Max)) })
	if len(c.watched) == 0 {
		return
	}
	open := make(map[place][]*v1.Pod, len(c.watched))
	for _, w := range c.watched {
		open[w.from] = nil
	}
	for _, pod := range pods {
		if at, ok := placeOf(pod); ok {
			if on, watched := open[at]; watched {
				open[at] = append(on, pod)
			}
		}
	}
	var kept []watch
	back := map[place]bool{}
	for _, w := range c.watched {
		switch {
		case c.cameBack(w, open[w.from]):
			back[w.from] = true
		case now.Before(w.at.Add(c.of.Initial)):
			kept = append(kept, w)
		}
	}
	c.watched = kept
	for at := range back {
		c.cool(now, at)
	}
}

// cameBack says whether a replacement of an eviction is among the pods of its place.
func (c *coolDown) cameBack(w watch, pods []*v1.Pod) bool {
	known := make(map[types.UID]bool, len(w.known))
	for _, uid := range w.known {
		known[uid] = true
	}
	for _, pod := range pods {
		made := pod.CreationTimestamp.Time
		if !known[pod.UID] && !made.Before(w.at.Truncate(time.Second)) && made.Before(w.at.Add(c.of.Initial)) {
			return true
		}
	}
	return false
}

// cool begins a cool-down, twice as long as the last one of that place.
func (c *coolDown) cool(now time.Time, at place) {
	k := c.cooling[at]
	if k == nil {
		k = &cooling{}
		c.cooling[at] = k
	}
	k.length = min(max(2*k.length, c.of.Initial), max(c.of.Max, c.of.Initial))
	k.until = now.Add(k.length)
}
