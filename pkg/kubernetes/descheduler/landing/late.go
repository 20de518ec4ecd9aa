package landing

import (
	"context"
	"errors"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/framework"
)

// A late replacement is one that is made, or finds room, when the pods have ended that were evicted before it. Those of pods that are
// evicted after it are mostly placed before it: kube-scheduler does not see it then, but the pods that end.
type late struct {
	replacement types.UID
	pod         *v1.Pod  // that was evicted
	nodes       []string // with the same score, of which each will do where it stands on one
	accept      func(node string) error
	ended       []*v1.Pod // that had to end for it
}

// errTakes refuses a node that a late replacement needs.
var errTakes = errors.New("has no room beside the replacement of another pod, which comes later")

// lateOf is what the trial that is booked means for those that come after it.
func (c *Cluster) lateOf(pod *v1.Pod) {
	t := c.trial
	if !t.over || t.next == nil {
		return
	}
	l := late{replacement: t.next.pod.UID, pod: pod, nodes: append(slices.Clone(t.equals), t.node()), accept: t.accept}
	for _, e := range t.left() {
		l.ended = append(l.ended, c.endingOf(e.pod))
	}
	c.lates = append(c.lates, l)
}

// beforeLate is the node of a replacement that is placed before the late ones; empty if it fits nowhere then. Each late one must
// find a place nevertheless that will do. In a large cluster chance decides anyway.
func (c *Cluster) beforeLate(pod, replacement *v1.Pod) (string, error) {
	if c.isLarge() {
		return "", nil
	}
	r := c.rewind()
	node, err := c.preferred(pod, replacement)
	r.restore()
	if err != nil || node == "" {
		return "", err
	}
	for _, n := range append(slices.Clone(c.trial.equals), node) {
		placed := replacement.DeepCopy()
		placed.Spec.NodeName = n
		r := c.rewind()
		c.set(placed)
		err := r.play(n)
		c.unset(placed)
		r.restore()
		if err != nil {
			return "", framework.UnsuitedOn(pod, framework.Place{Node: n, Open: true}, err)
		}
	}
	return node, nil
}

// A replay is the cluster before the late replacements, which come to it again one after the other.
type replay struct {
	*Cluster
	booked []*v1.Pod
	taken  []bool    // the places where they are booked, by those that have come
	after  []*v1.Pod // that were evicted since, and end
}

// rewind takes the late replacements away, and has the pods there again that had ended for them.
func (c *Cluster) rewind() *replay {
	r := &replay{Cluster: c, taken: make([]bool, len(c.lates))}
	since := slices.Clone(c.ending)
	if c.trial.gone != nil {
		since = append(since, c.trial.gone)
	}
	for _, e := range since {
		r.after = append(r.after, c.counted[e.pod.UID])
	}
	for _, l := range c.lates {
		r.booked = append(r.booked, c.counted[l.replacement])
		c.unset(c.counted[l.replacement])
		for _, p := range l.ended {
			c.set(p)
		}
	}
	return r
}

// restore ends it.
func (r *replay) restore() {
	for i, l := range r.lates {
		for _, p := range l.ended {
			r.unset(p)
		}
		r.set(r.booked[i])
	}
	for _, p := range r.after {
		r.set(p)
	}
}

// play returns an error unless the late replacements come to nodes that will do, where another one came to a node before them. Those before the
// first one that is booked there are not concerned.
func (r *replay) play(node string) error {
	concerned := false
	var wait []int
	for i, l := range r.lates {
		for _, p := range l.ended {
			r.unset(p)
		}
		if concerned = concerned || r.booked[i].Spec.NodeName == node; !concerned {
			r.taken[i] = true
			r.set(r.booked[i])
		} else if found, err := r.place(i); err != nil {
			return err
		} else if !found {
			wait = append(wait, i)
		}
	}
	if len(wait) == 0 {
		return nil
	}
	for _, p := range r.after {
		r.unset(p)
	}
	for _, i := range wait { // all pods have ended
		if found, err := r.place(i); err != nil || !found {
			return errors.Join(err, errTakes)
		}
	}
	return nil
}

// place has a late replacement stand where kube-scheduler prefers to have it, and returns an error if that will not do; or finds no room.
func (r *replay) place(i int) (found bool, err error) {
	l, again := r.lates[i], r.booked[i].DeepCopy()
	again.Spec.NodeName = ""
	top, err := r.scoring.scores.Top(context.Background(), again, r.fitting(l.pod, again))
	if err != nil || len(top) == 0 {
		return false, err
	}
	node := top[0]
	j := r.placeOf(i, top)
	if j >= 0 {
		node, r.taken[j] = r.booked[j].Spec.NodeName, true
	}
	if j < 0 || j == i { // otherwise nothing is different but the names
		for _, n := range top {
			if known := j == i && slices.Contains(l.nodes, n); !known && (framework.Choice{Accept: l.accept}).Accepts(n) != nil {
				return false, errTakes
			}
		}
	}
	again.Spec.NodeName = node
	r.set(again)
	return true, nil
}

// placeOf is a place on one of some nodes that nothing has taken: where a late replacement is booked, or another one that is the same; -1 if
// there is none.
func (r *replay) placeOf(i int, nodes []string) int {
	free := func(j int) bool { return !r.taken[j] && slices.Contains(nodes, r.booked[j].Spec.NodeName) }
	if free(i) {
		return i
	}
	for j := range r.booked {
		if free(j) && r.isSame(r.lates[i].pod, r.lates[j].pod) {
			return j
		}
	}
	return -1
}
