package preferences

import (
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	deschedulerframework "github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/framework"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/pods"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/profile"
)

// settles is how long a pod must have been placed when its node is measured, so that its use is in what is measured. It has
// started then, and the averages of the metrics API have followed.
const settles = 2 * time.Minute

// amounts are thousandths of CPUs, and bytes of memory.
type amounts [2]int64

func (a *amounts) plus(b amounts, sign int64) {
	for i := range a {
		a[i] += sign * b[i]
	}
}

// load is the points of nodes by their use. A node that was measured uses what was measured, and what the pods request that were
// placed there since. Any other one uses what its pods request. A pod that requests nothing counts as kube-scheduler counts it,
// with 100m and 200 MB.
//
// It has no clock: a pod was placed when it started, or, before it has, at the time of the first Measure after it came.
type load struct {
	weights, most amounts // most: percent from which on a measured node has no points
	expiry        time.Duration
	nodes         map[string]*nodeUse
	young         map[types.UID]*counted // whose use may not have been measured
	points        []int64                // by slot
}

// A nodeUse is a node that is known, or on which pods are. It has room only if it is known.
type nodeUse struct {
	slot      int32 // -1: it is not known
	pods      int
	room      amounts
	requested amounts // by all pods
	young     amounts // requested by those which are young
	measured  amounts
	at        time.Time
	fresh     bool // what was measured is not too old
}

// A share is what a pod takes of its node.
type share struct {
	requests amounts
	placed   time.Time // zero: not known yet
}

func newLoad(args *profile.LoadAwareArgs) *load {
	if args == nil {
		return nil
	}
	return &load{
		weights: amounts{args.ResourceWeights.CPU, args.ResourceWeights.Memory},
		most:    amounts{args.UsageThresholds.CPU, args.UsageThresholds.Memory},
		expiry:  time.Duration(args.NodeMetricExpirationSeconds) * time.Second,
		nodes:   make(map[string]*nodeUse), young: make(map[types.UID]*counted),
	}
}

// Measure takes what nodes were measured to use, and the time. What was measured of other nodes before stays what it is until it is
// too old. It has no effect where measured use does not count, and nodes that are not known are left out.
func (s *Scorer) Measure(now time.Time, measured []deschedulerframework.Measurement) {
	s.mu.Lock()
	defer s.mu.Unlock()
	l := s.load
	if l == nil {
		return
	}
	for i := range measured {
		if n := l.nodes[measured[i].Node]; n != nil && n.slot >= 0 && !measured[i].At.Before(n.at) {
			n.at, n.measured = measured[i].At, n.amountsOf(measured[i].Use)
		}
	}
	for _, n := range l.nodes {
		n.fresh = !n.at.IsZero() && now.Sub(n.at) <= l.expiry
	}
	for uid, p := range l.young {
		if p.share.placed.IsZero() {
			p.share.placed = now
		}
		if n := l.nodes[p.node]; n.at.Sub(p.share.placed) >= settles {
			n.young.plus(p.share.requests, -1)
			delete(l.young, uid)
		}
	}
	for _, n := range l.nodes {
		l.rate(n)
	}
}

// Measures says where Measure is to have its measurements from, with what is known of Prometheus if that is it; false if the measured
// use of nodes does not count.
func (s *Scorer) Measures() (query deschedulerframework.UsageQuery, of *profile.PrometheusArgs, counts bool) {
	switch args := s.profile.Load; {
	case args == nil:
		return query, nil, false
	case args.Prometheus != nil:
		query.Source, query.Query = deschedulerframework.Prometheus, args.Prometheus.Query
		return query, args.Prometheus, true
	default:
		query.Source = deschedulerframework.KubernetesMetrics
		return query, nil, true
	}
}

// amountsOf is a use as amounts. A part of the node is that part of each.
func (n *nodeUse) amountsOf(use v1.ResourceList) (of amounts) {
	if part, ok := use[deschedulerframework.MetricResource]; ok {
		for i := range of {
			of[i] = n.room[i] * pods.Milli(part) / 1000
		}
		return of
	}
	return amountsIn(use)
}

func amountsIn(list v1.ResourceList) amounts {
	return amounts{pods.Milli(list[v1.ResourceCPU]), pods.Whole(list[v1.ResourceMemory])}
}

// rate works out the points of a node: percent that are free, of CPU and memory by their weights.
func (l *load) rate(n *nodeUse) {
	if n.slot < 0 {
		return
	}
	used := n.requested
	if n.fresh {
		used = n.measured
		used.plus(n.young, 1)
	}
	var sum, weights int64
	for i, room := range n.room {
		if most := l.most[i]; n.fresh && most > 0 && percent(n.measured[i], room) >= most {
			l.points[n.slot] = 0
			return
		}
		sum += l.weights[i] * max(pointsMax-percent(used[i], room), 0)
		weights += l.weights[i]
	}
	l.points[n.slot] = sum / weights
}

// percent is how much of some room is used; a node that does not say what it has is full.
func percent(used, room int64) int64 {
	if room <= 0 {
		return pointsMax
	}
	return used * pointsMax / room
}

// add adds the points of the nodes of a question.
func (l *load) add(on *scratch, weight int64) {
	for i, slot := range on.slots {
		on.total[i] += weight * l.points[slot]
	}
}

func (l *load) setNode(node *v1.Node, slot int32) {
	if l == nil {
		return
	}
	n := l.of(node.Name)
	n.slot, n.room = slot, amountsIn(node.Status.Allocatable)
	for len(l.points) <= int(slot) {
		l.points = append(l.points, 0)
	}
	l.rate(n)
}

// removeNode forgets what was measured there.
func (l *load) removeNode(name string) {
	if l == nil {
		return
	}
	n := l.nodes[name]
	n.slot, n.at, n.fresh = -1, time.Time{}, false
	l.drop(name, n)
}

func (l *load) of(name string) *nodeUse {
	n := l.nodes[name]
	if n == nil {
		n = &nodeUse{slot: -1}
		l.nodes[name] = n
	}
	return n
}

// drop forgets a node that is not known and has no pods.
func (l *load) drop(name string, n *nodeUse) {
	if n.slot < 0 && n.pods == 0 {
		delete(l.nodes, name)
	}
}

// shareOf is what a pod takes of a node. It is as young as it was if it was counted before on the same node.
func (l *load) shareOf(pod *v1.Pod, node string, before *counted) (of share) {
	if l == nil {
		return of
	}
	if before != nil && requestAlike(before.Pod, pod) {
		of.requests = before.share.requests
	} else {
		of.requests = requestsOf(pod)
	}
	switch {
	case before != nil && before.node == node:
		of.placed = before.share.placed
	case pod.Status.StartTime != nil:
		of.placed = pod.Status.StartTime.Time
	}
	return of
}

// count counts a pod. One that is not young any more is seen at the next Measure.
func (l *load) count(p *counted) {
	if l == nil {
		return
	}
	n := l.of(p.node)
	n.pods++
	n.requested.plus(p.share.requests, 1)
	if n.at.IsZero() || p.share.placed.IsZero() || n.at.Sub(p.share.placed) < settles {
		n.young.plus(p.share.requests, 1)
		l.young[p.Pod.UID] = p
	}
	l.rate(n)
}

func (l *load) uncount(p *counted) {
	if l == nil {
		return
	}
	n := l.nodes[p.node]
	n.pods--
	n.requested.plus(p.share.requests, -1)
	if l.young[p.Pod.UID] == p {
		n.young.plus(p.share.requests, -1)
		delete(l.young, p.Pod.UID)
	}
	l.rate(n)
	l.drop(p.node, n)
}
