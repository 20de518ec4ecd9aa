package landing

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/framework"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/pods"
	"github.com/narwhal-scheduler/narwhal/pkg/reports"
)

// try moves a pod and leaves it so, as the next question is mostly about the same pod: what
// was asked for is asked again before it is evicted, and then booked. After an error, and
// with every question that may have another answer, the trial is taken back. Accept says which
// nodes will do; nil: all.
func (c *Cluster) try(pod *v1.Pod, accept func(node string) error) (string, error) {
	if t := c.trial; t != nil && t.asked == pod && !t.scored && t.answers(accept) {
		return t.node(), nil
	}
	c.takeBack()
	node, err := c.move(pod, &trial{accept: accept})
	if err != nil {
		c.takeBack()
		return "", err
	}
	c.trial.asked = pod
	if accept != nil {
		_ = accept(node) // it agreed, and is asked about this node last
	}
	return node, nil
}

// move evicts a pod and lets the core place its replacement. What it changed is noted in
// trial. Most owners make the replacement at once, while all pods that were evicted still end and hold
// their room: so it is placed beside them, if that is possible, and otherwise when they have gone. A pod
// that holds no room may be asked about too.
func (c *Cluster) move(pod *v1.Pod, t *trial) (string, error) {
	t.refusals = framework.Refusals{}
	if counts(pod) {
		if t.gone = c.entries[api.AllocationKey(pods.Key(pod))]; !t.gone.runs() {
			return "", framework.ErrUnknownPod
		}
	}
	c.trial = t
	if kept := c.entries[api.AllocationKey(framework.StandInUID(pod))]; kept.runs() {
		if err := t.refuses(string(kept.allocation.Node)); err != nil {
			return "", framework.UnsuitedOn(pod, framework.Place{Node: string(kept.allocation.Node)}, err)
		}
		t.kept = kept
		return t.node(), nil
	}
	if t.gone != nil {
		c.set(c.endingOf(pod))
	}
	if c.snapshot.ReplacedLate(pod) {
		c.end()
	}
	again := replacementOf(pod)
	again.CreationTimestamp = metav1.NewTime(c.snapshot.Now()) // younger than all that wait
	if t.scored {
		if err := c.choose(pod, again); err != nil {
			return "", err
		}
	}
	t.next = c.replace(again)
	if t.next.allocation == nil {
		return "", fmt.Errorf("the replacement would not be taken in: %s", t.refused)
	}
	c.settle()
	if t.waits() && !t.self {
		c.end()
	}
	switch {
	case t.waits() && len(t.refusals) > 0:
		return "", c.unsuited(pod)
	case t.waits():
		return "", errors.New(cmp.Or(reports.WhyWaits(c.partition, c.kinds, t.next.allocation.Key), "the replacement would wait for its turn"))
	}
	return t.node(), nil
}

// endingOf is a pod that was evicted and has not ended. It shares all else with the pod, as neither is changed.
func (c *Cluster) endingOf(pod *v1.Pod) *v1.Pod {
	ending := *pod
	ending.DeletionTimestamp = &metav1.Time{Time: c.snapshot.Now()}
	return &ending
}

// end has the pod of the trial end, and those that were evicted before.
func (c *Cluster) end() {
	c.trial.self = true
	ended := c.others()
	if gone := c.trial.gone; gone != nil {
		ended = append(slices.Clone(ended), gone)
	}
	c.finish(ended)
}

// others are the pods that were evicted before, which have ended from now on; none if they have already.
func (c *Cluster) others() []*entry {
	t := c.trial
	if t.over {
		return nil
	}
	t.over, t.ended, c.ending = true, c.ending, nil
	return t.ended
}

// finish takes pods away that have ended.
func (c *Cluster) finish(ended []*entry) {
	for _, e := range ended {
		delete(c.entries, api.AllocationKey(pods.Key(e.pod)))
		c.unset(e.pod)
		c.release(e.allocation)
		c.moved = append(c.moved, e.pod)
	}
	c.settle()
}

// runs says whether the pod is known and runs, and its eviction has not begun.
func (e *entry) runs() bool {
	return e != nil && e.allocation != nil && e.allocation.Node != "" && !e.leaves
}

// classOf is the name of pods that all filters treat alike.
func (c *Cluster) classOf(e *entry) string {
	if !e.classed {
		e.class, e.classed = c.checker.Class(e.pod), true
	}
	return e.class
}
