package landing

import (
	"context"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/framework"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/internal/scores"
)

// sampleMax is how many nodes are scored for a pod of another scheduler: kube-scheduler too looks at all nodes only in a cluster of
// so many.
const sampleMax = 100

// A tie is a replacement that kube-scheduler may have on other nodes than it is booked.
type tie struct {
	replacement types.UID
	pod         *v1.Pod // that was evicted
	nodes       []string
}

// scoring is the scores of kube-scheduler, which are told of the cluster from the first question on. By them pods of other
// schedulers are placed; for those of this project they count beside the order of the core.
type scoring struct {
	scores *scores.Cluster // nil: none
	others bool            // they count for pods of other schedulers alone
	packs  bool            // other schedulers prefer full nodes unless the policy says otherwise
	told   bool

	use      func() (time.Time, []framework.Measurement) // nil: what nodes use does not count
	now      time.Time                                   // of the last time that it was asked, and what was measured then
	measured []framework.Measurement
}

// measure asks what nodes use.
func (o *scoring) measure() {
	if o.use == nil || o.scores == nil {
		return
	}
	if o.now, o.measured = o.use(); o.told {
		o.scores.Measure(o.now, o.measured)
	}
}

func (o *scoring) pack(packs bool) {
	if o.scores != nil {
		o.scores.Pack(packs)
	}
}

func (o *scoring) setNode(node *v1.Node) {
	if o.told {
		o.scores.SetNode(node)
	}
}

func (o *scoring) removeNode(name string) {
	if o.told {
		o.scores.RemoveNode(name)
	}
}

func (o *scoring) setPod(pod *v1.Pod) {
	if o.told {
		o.scores.SetPod(pod)
	}
}

func (o *scoring) removePod(pod *v1.Pod) {
	if o.told {
		o.scores.RemovePod(pod.UID)
	}
}

// placeByScores says where kube-scheduler may run a replacement: on the node with the highest score. Where that will not do the pod
// stays, as with our own scheduler: it would come back, or go to and fro. Of nodes with the same score kube-scheduler takes any, so
// all of them have to do. In a large cluster it looks at a part of the nodes, which is chance: there it is the node with the highest score
// of those that will do.
func (c *Cluster) placeByScores(pod *v1.Pod, choice framework.Choice) (framework.Place, error) {
	if t := c.trial; t == nil || t.asked != pod || !t.scored {
		c.takeBack()
		if _, err := c.move(pod, &trial{scored: true, accept: choice.Accept, alike: choice.Alike}); err != nil {
			judged := c.trial == nil || c.trial.target == "" && !c.isLarge()
			if c.takeBack(); judged {
				return framework.Place{}, err
			}
			node, err := c.try(pod, choice.Accept) // no node that was looked at will do, or the core does not take it there
			return framework.Place{Node: node, Open: true}, err
		}
		c.trial.asked = pod
	}
	to := framework.Place{Node: c.trial.node(), Equals: c.trial.equals, Open: true}
	for _, node := range append(slices.Clone(to.Equals), to.Node) { // it is asked about last
		if err := choice.Accepts(node); err != nil {
			return framework.Place{}, framework.UnsuitedOn(pod, framework.Place{Node: node, Open: true}, err)
		}
	}
	return to, nil
}

// isLarge says whether kube-scheduler looks at a part of the nodes only.
func (c *Cluster) isLarge() bool { return len(c.nodes) > sampleMax }

// choose notes in the trial on which node the replacement of a pod is to stand. Where none has room beside the pods that
// end, those have ended that were evicted before: as long as the pod itself ends, what likes to be beside it may come to its node. It takes
// the first room there is, and which of several pods ends first is not known, so that each node with room then has to do. Where none has
// room then either, all have ended.
func (c *Cluster) choose(pod, replacement *v1.Pod) error {
	t := c.trial
	var err error
	if !t.over && len(c.lates) > 0 {
		if t.target, err = c.beforeLate(pod, replacement); t.target != "" || err != nil {
			return err
		}
	}
	t.target, err = c.preferred(pod, replacement)
	if t.target == "" && err == nil && !t.over && len(c.ending) > 0 {
		t.first = len(c.ending) > 1 && !c.isLarge()
		c.finish(c.others())
		t.target, err = c.preferred(pod, replacement)
		t.first = false
	}
	if t.target == "" && err == nil && !t.self {
		c.end()
		t.target, err = c.preferred(pod, replacement)
	}
	return err
}

// preferred is a node with the highest score of those where a replacement fits, and notes the others with that score in the trial; empty if
// it fits nowhere. All of them have to do, also where replacements before came to stand on other nodes than it is booked.
func (c *Cluster) preferred(pod, replacement *v1.Pod) (string, error) {
	top, err := c.top(pod, replacement, nil)
	if err != nil || len(top) == 0 {
		return "", err
	}
	if others := c.otherwise(top); len(others) > 0 {
		var booked []*v1.Pod
		var same []string
		for _, other := range others {
			booked = append(booked, other.booked)
			if c.isSame(pod, other.pod) {
				same = append(same, other.booked.Spec.NodeName)
			}
			c.set(other.elsewhere)
		}
		_, err := c.top(pod, replacement, same)
		for _, b := range booked {
			c.set(b)
		}
		if err != nil {
			return "", err
		}
	}
	if len(top) > 1 {
		c.trial.equals = top[1:]
	}
	return top[0], nil
}

// top are the nodes with the highest score of those where a replacement fits, and after these all others if it takes the first room. An error
// is of one that will not do; that some do is known.
func (c *Cluster) top(pod, replacement *v1.Pod, known []string) ([]string, error) {
	fit := c.fitting(pod, replacement)
	top, err := c.scoring.scores.Top(context.Background(), replacement, fit)
	if c.trial.first {
		best := len(top)
		top = append(top, slices.DeleteFunc(fit, func(node string) bool { return slices.Contains(top[:best], node) })...)
	}
	for _, node := range top {
		if slices.Contains(known, node) {
			continue
		}
		if err := c.trial.accepts(node); err != nil {
			return nil, framework.UnsuitedOn(pod, framework.Place{Node: node, Open: true}, err)
		}
	}
	return top, err
}

// An other is a replacement that stands on a node by chance.
type other struct {
	tie
	booked, elsewhere *v1.Pod
}

// isSame says whether it makes no difference which of the replacements of two pods runs where.
func (c *Cluster) isSame(a, b *v1.Pod) bool {
	class := c.checker.Class(replacementOf(a))
	return class != "" && class == c.checker.Class(replacementOf(b)) && (c.trial.alike == nil || c.trial.alike(a, b))
}

// otherwise are replacements of this cycle on other nodes than they are booked, of those that kube-scheduler prefers as much: one on each of
// some nodes. There are none if too few would go there, and so one of the nodes stays what it is. One does not, if the same comes there after it,
// which would take its place in turn. In a large cluster chance decides anyway.
func (c *Cluster) otherwise(nodes []string) (others []other) {
	if c.isLarge() || len(nodes) > len(c.ties) {
		return nil
	}
	used := map[types.UID]bool{}
	for _, node := range nodes {
		i := slices.IndexFunc(c.ties, func(t tie) bool {
			return !used[t.replacement] && slices.Contains(t.nodes, node) && c.counted[t.replacement] != nil && !c.comes(t, node)
		})
		if i < 0 {
			return nil
		}
		o := other{tie: c.ties[i], booked: c.counted[c.ties[i].replacement]}
		o.elsewhere = o.booked.DeepCopy()
		o.elsewhere.Spec.NodeName = node
		others, used[o.replacement] = append(others, o), true
	}
	return others
}

// comes says whether a replacement that is the same as another one is booked on a node after that one.
func (c *Cluster) comes(after tie, node string) bool {
	i := slices.IndexFunc(c.bookings, func(b framework.Booking) bool { return b.Pod == after.pod })
	return slices.ContainsFunc(c.bookings[i+1:], func(b framework.Booking) bool { return b.Node == node && c.isSame(b.Pod, after.pod) })
}

// fitting are the nodes where a replacement fits, its own first. In a large cluster they are some of those that will do.
func (c *Cluster) fitting(pod, replacement *v1.Pod) []string {
	c.tellScores()
	var fit []string
	check := func(nodes []string) {
		for i, err := range c.checker.CheckNodes(replacement, nodes) {
			if err == nil {
				fit = append(fit, nodes[i])
			}
		}
	}
	refuses := func(node string) bool { return c.isLarge() && c.trial.accept != nil && c.trial.accept(node) != nil }
	if c.snapshot.Node(pod.Spec.NodeName) != nil && !refuses(pod.Spec.NodeName) {
		check([]string{pod.Spec.NodeName})
	}
	var some []string
	for node := range c.scoring.scores.Nodes() {
		if node == pod.Spec.NodeName || refuses(node) {
			continue
		}
		if some = append(some, node); len(some) < sampleMax {
			continue
		}
		if check(some); len(fit) >= sampleMax {
			return fit
		}
		some = some[:0]
	}
	check(some)
	return fit
}

// tellScores tells the scores of the cluster, once.
func (c *Cluster) tellScores() {
	if c.scoring.told {
		return
	}
	c.scoring.told = true
	for _, n := range c.snapshot.Nodes() {
		c.scoring.scores.SetNode(n)
	}
	for _, p := range c.counted {
		c.scoring.scores.SetPod(p)
	}
	c.scoring.scores.Measure(c.scoring.now, c.scoring.measured)
}
