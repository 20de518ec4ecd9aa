package preferences

import (
	"fmt"
	"iter"
	"maps"
	"sync"

	"github.com/hashicorp/golang-lru/v2/simplelru"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/informers"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"
	"k8s.io/kubernetes/pkg/scheduler/apis/config"
	"k8s.io/kubernetes/pkg/scheduler/framework"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/internal/podlabels"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/pods"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/profile"
)

// A Scorer knows which nodes suit a pod best. All its methods may be called at any time from
// any goroutine; one waits for the other.
type Scorer struct {
	profile Profile
	devices func(*v1.Pod, []string) []int64
	points  func(pod *v1.Pod, nodes []string) []int64 // nil is none
	added   *nodeaffinity.PreferredSchedulingTerms    // of all pods; nil if there are none
	objects *objects

	mu         sync.Mutex
	nodes      []*v1.Node // by slot; nil if the slot is free
	slots      map[string]int32
	free       []int32
	pods       podSet
	labelled   podlabels.Index[*counted] // the same by each of their labels
	choosy     podSet                    // those with a say about where others are placed
	named      podlabels.Numbers         // by their terms, or by those of a pod that is gone
	topologies map[string]*topology
	load       *load   // nil: it does not count
	images     *images // nil: they do not count
	layout     uint64  // counts changes of nodes and namespaces after which classes are made anew
	classes    *simplelru.LRU[string, *class]
	listeners  listeners // of these
	scratch    scratch
	last       scratch // of the question before
}

// A counted pod is on a node, which need not be known.
type counted struct {
	*framework.PodInfo
	node   string
	choosy bool
	share  share
}

// A podSet is some of the pods that are counted.
type podSet = podlabels.Set[*counted]

// Options is what may be chosen. The zero value is the default.
type Options struct {
	// Profile says what counts, and how much (ProfileOf); nil is the default profile of kube-scheduler. It is not changed.
	Profile *config.KubeSchedulerProfile
	// Devices says how many points nodes have for a pod by the alternatives of its claims of devices, in their order; nil
	// is none. It is called by any goroutine. Without it they do not count.
	Devices func(pod *v1.Pod, nodes []string) []int64
	// Points are further points of some nodes for a pod, one for each, which count as they are; nil is none. It is called without any
	// lock.
	Points func(pod *v1.Pod, nodes []string) []int64
}

// classesMax is for how many classes of pods the counts are kept, some 20 bytes for each node. A
// class beyond them is counted anew when it is asked about again.
const classesMax = 512

// New makes a Scorer that knows no nodes and no pods yet. It asks the factory for the informers
// of services, controllers and namespaces, so the factory is started after it. Before these are
// synced, pods of services and controllers are not spread by default.
func New(factory informers.SharedInformerFactory, o Options) (*Scorer, error) {
	if o.Profile == nil {
		var err error
		if o.Profile, err = profile.Default(); err != nil {
			return nil, err
		}
	}
	s := &Scorer{
		profile:    ProfileOf(o.Profile),
		devices:    o.Devices,
		points:     o.Points,
		slots:      make(map[string]int32),
		pods:       make(podSet),
		labelled:   make(podlabels.Index[*counted]),
		choosy:     make(podSet),
		topologies: make(map[string]*topology),
		listeners:  make(listeners),
	}
	var err error
	if s.classes, err = simplelru.NewLRU(classesMax, func(_ string, c *class) { s.listeners.remove(c) }); err != nil {
		return nil, err
	}
	if s.profile.Images > 0 {
		s.images = &images{byName: make(map[string]*image)}
	}
	s.added = termsOf(s.profile.Nodes)
	s.load = newLoad(s.profile.Load)
	if s.objects, err = newObjects(factory, s.changed); err != nil {
		return nil, fmt.Errorf("informers: %w", err)
	}
	return s, nil
}

// changed has all classes made anew.
func (s *Scorer) changed() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.relay()
}

// relay has all classes and topologies made anew.
func (s *Scorer) relay() {
	s.layout++
	clear(s.topologies)
	s.last.reset()
}

// SetNode adds a node or replaces it.
func (s *Scorer) SetNode(node *v1.Node) {
	s.mu.Lock()
	defer s.mu.Unlock()
	slot, known := s.slots[node.Name]
	if known {
		before := s.nodes[slot]
		s.nodes[slot] = node
		s.load.setNode(node, slot)
		s.images.setNode(before, node, slot)
		if maps.Equal(before.Labels, node.Labels) && equality.Semantic.DeepEqual(before.Spec.Taints, node.Spec.Taints) {
			return
		}
	} else if last := len(s.free) - 1; last >= 0 {
		slot, s.free = s.free[last], s.free[:last]
		s.nodes[slot] = node
	} else {
		slot = int32(len(s.nodes))
		s.nodes = append(s.nodes, node)
	}
	if !known {
		s.slots[node.Name] = slot
		s.load.setNode(node, slot)
		s.images.setNode(nil, node, slot)
	}
	s.relay()
}

// RemoveNode forgets a node. The pods that were set there stay counted until they are removed,
// and are on the node if it comes back.
func (s *Scorer) RemoveNode(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	slot, known := s.slots[name]
	if !known {
		return
	}
	delete(s.slots, name)
	s.images.setNode(s.nodes[slot], nil, slot)
	s.nodes[slot] = nil
	s.free = append(s.free, slot)
	s.load.removeNode(name)
	s.relay()
}

// SetPod counts a pod on the node that it names, in place of what was known of it. The node may
// come later. A pod that has ended, names no node or has no UID is not counted.
func (s *Scorer) SetPod(pod *v1.Pod) {
	s.PlacePod(pod, pod.Spec.NodeName)
}

// PlacePod counts a pod on a node that it need not name yet.
func (s *Scorer) PlacePod(pod *v1.Pod, node string) {
	pod = pods.ForFilters(pod)
	s.mu.Lock()
	defer s.mu.Unlock()
	before := s.pods[pod.UID]
	if pod.UID == "" || node == "" || pods.IsTerminal(pod) {
		s.uncount(before)
		return
	}
	takes := s.load.shareOf(pod, node, before)
	if before != nil && before.node == node && isCountedAlike(before.Pod, pod) && takes.requests == before.share.requests {
		before.Pod = pod // the next state is compared with this one
		return
	}
	s.uncount(before)
	// An error is about terms that cannot be read. The pod counts without them.
	info, _ := framework.NewPodInfo(pod)
	s.count(&counted{PodInfo: info, node: node, choosy: isChoosy(info), share: takes})
}

// RemovePod counts a pod no more.
func (s *Scorer) RemovePod(pod *v1.Pod) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.uncount(s.pods[pod.UID])
}

// isCountedAlike says that nothing changed in a pod which counts. Its affinity cannot change.
func isCountedAlike(before, now *v1.Pod) bool {
	return (before.DeletionTimestamp == nil) == (now.DeletionTimestamp == nil) && maps.Equal(before.Labels, now.Labels)
}

func (s *Scorer) count(p *counted) {
	uid := p.Pod.UID
	s.pods[uid] = p
	for key, value := range p.Pod.Labels {
		s.labelled.Add(podlabels.Label{Key: key, Value: value}, uid, p)
	}
	if p.choosy {
		s.named |= namedBy(p.Pod.Spec.Affinity)
		s.choosy[uid] = p
	}
	s.load.count(p)
	s.tellClasses(p, 1)
}

func (s *Scorer) uncount(p *counted) {
	if p == nil {
		return
	}
	uid := p.Pod.UID
	s.load.uncount(p)
	s.tellClasses(p, -1)
	delete(s.pods, uid)
	delete(s.choosy, uid)
	for key, value := range p.Pod.Labels {
		s.labelled.Remove(podlabels.Label{Key: key, Value: value}, uid)
	}
}

// matching is sets of pods, outside of which a selector matches none.
func (s *Scorer) matching(selector labels.Selector) []podSet {
	lists, ok := podlabels.Choices(selector)
	if !ok {
		return nil // it matches none
	}
	if sets, ok := s.labelled.Near(lists); ok {
		return sets
	}
	return []podSet{s.pods}
}

// tellClasses has the classes that are kept count a pod, or not any more.
func (s *Scorer) tellClasses(p *counted, sign int32) {
	slot, known := s.slots[p.node]
	if !known {
		return
	}
	for c := range s.listeners.of(p) { // each counts for itself
		if c.layout == s.layout {
			c.count(p, slot, sign)
		}
	}
}

// Best is those of some nodes that suit a pod best, the best first, and at most so many. Of nodes that suit
// it equally the first come first. Nodes where its tolerations, node selector or required node affinity
// keep it from running, and nodes that are not known, are left out. It is nil if all others suit the pod
// equally, so that the order of the nodes may decide, which is never so where measured use counts. The nodes have 0 to 100
// points in that order, of which 100 counts as 99. It costs a few operations for each node; the nodes are not asked for if the pod has no preference.
func (s *Scorer) Best(pod *v1.Pod, nodes iter.Seq2[string, int64], most int) []string {
	nodes = withoutTrifles(nodes)
	if s.points != nil && most > 0 {
		return s.bestWithPoints(pod, nodes, most)
	}
	pod = pods.ForFilters(pod)
	devices := s.devicesOn(pod, nodes)
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.classOf(pod)
	if c.isIndifferent() && s.load == nil && devices == nil || most <= 0 {
		return nil
	}
	return s.scored(c, nodes, devices).best(most)
}

// orderMost is the most that the points in an order count: nodes that differ from the best by less than a hundredth suit it alike, so that
// no pod leaves a place that it prefers because its nodes are almost empty and others are empty. The scores of kube-scheduler for what is
// used do not tell these apart either.
const orderMost = pointsMax - 1

func withoutTrifles(nodes iter.Seq2[string, int64]) iter.Seq2[string, int64] {
	return func(yield func(string, int64) bool) {
		for name, points := range nodes {
			if !yield(name, min(points, orderMost)) {
				return
			}
		}
	}
}

// devicesOn is how many points nodes have by the alternatives of a pod's claims, by their names; nil is none. Devices are
// allocated in thought for that, so that it may take long: no lock is held.
func (s *Scorer) devicesOn(pod *v1.Pod, nodes iter.Seq2[string, int64]) map[string]int64 {
	if s.devices == nil || s.profile.Weights.Devices == 0 || len(pod.Spec.ResourceClaims) == 0 {
		return nil
	}
	var names []string
	for name := range nodes {
		names = append(names, name)
	}
	points := s.devices(pod, names)
	if points == nil {
		return nil
	}
	on := make(map[string]int64, len(names))
	for i, name := range names {
		on[name] = points[i]
	}
	return on
}

// Top is those of some nodes that suit a pod better than all others, in their order: several if they suit it equally. It
// leaves out the same nodes as Best.
func (s *Scorer) Top(pod *v1.Pod, nodes iter.Seq2[string, int64]) []string {
	pod = pods.ForFilters(pod)
	devices := s.devicesOn(pod, nodes)
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.scored(s.classOf(pod), nodes, devices).top()
}

// scored is nodes with their points for a class, until the next question.
func (s *Scorer) scored(c *class, nodes iter.Seq2[string, int64], devices map[string]int64) *scratch {
	on := &s.scratch
	on.reset()
	for name, points := range nodes {
		if slot, known := s.slotOf(name); known && c.runs[slot] {
			on.add(name, slot, points)
		}
	}
	s.score(c, on)
	if devices != nil {
		on.addNamed(devices, s.profile.Weights.Devices)
	}
	s.scratch, s.last = s.last, s.scratch
	s.last.at = 0
	return &s.last
}

// slotOf is the slot of a node. Mostly the nodes come in the order of the question before, but for one or two that have
// moved, so that they need not be looked up.
func (s *Scorer) slotOf(name string) (slot int32, known bool) {
	for ahead := range 2 {
		if i := s.last.at + ahead; i < len(s.last.names) && s.last.names[i] == name {
			s.last.at = i + 1
			return s.last.slots[i], true
		}
	}
	slot, known = s.slots[name]
	return slot, known
}

// score adds up the points of the nodes of a question.
func (s *Scorer) score(c *class, on *scratch) {
	w := &s.profile.Weights
	for i, points := range on.points {
		on.total[i] = w.Order * points
	}
	if s.load != nil {
		s.load.add(on, w.Load)
	}
	if c.avoids && w.NodeTaints > 0 {
		on.addScaled(c.taints, true, w.NodeTaints)
	}
	if c.likes && w.NodeLabels > 0 {
		on.addScaled(c.labels, false, w.NodeLabels)
	}
	if c.images.differ {
		c.images.add(on, w.Images)
	}
	if len(c.spread.constraints) > 0 && w.Spread > 0 {
		c.spread.add(on, w.Spread)
	}
	if c.affinity.counts() && w.PodAffinity > 0 {
		c.affinity.add(on, w.PodAffinity)
	}
}
