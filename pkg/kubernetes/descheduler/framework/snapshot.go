package framework

import (
	"cmp"
	"slices"
	"sync"
	"time"

	batch "k8s.io/api/batch/v1"
	v1 "k8s.io/api/core/v1"
	policy "k8s.io/api/policy/v1"
	scheduling "k8s.io/api/scheduling/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/pods"
)

// Objects are what a Snapshot is made of. They are kept and must not be changed
// afterwards, as is usual for objects from informers.
type Objects struct {
	Nodes           []*v1.Node
	Pods            []*v1.Pod
	Namespaces      []*v1.Namespace
	PriorityClasses []*scheduling.PriorityClass
	Budgets         []*policy.PodDisruptionBudget
	Claims          []*v1.PersistentVolumeClaim
	Jobs            []*batch.Job
	PodGroups       []pods.PodGroup
	Composites      pods.Composites // of pod groups
}

// Snapshot is the cluster as one cycle sees it. Lists are ordered by name, pods
// by namespace and name. Pods that were evicted in the cycle are taken out with
// Evicted. It is safe for concurrent use.
type Snapshot struct {
	now        time.Time
	nodes      []*v1.Node
	byName     map[string]*v1.Node
	namespaces map[string]*v1.Namespace
	classes    map[string]*scheduling.PriorityClass
	claims     map[types.NamespacedName]*v1.PersistentVolumeClaim
	late       map[Workload]bool // jobs that make a pod anew only when the last one has gone
	budgets    pods.Budgets
	pods       []*v1.Pod
	onNode     map[string][]*v1.Pod
	ofWorkload map[Workload][]*v1.Pod
	groups     map[types.NamespacedName]pods.PodGroup
	composites pods.Composites

	mu       sync.RWMutex
	evicted  map[types.UID]bool
	inFlight map[types.UID]bool // of those
}

// NewSnapshot sorts and indexes objects: n log n in their number.
func NewSnapshot(o Objects, now time.Time) *Snapshot {
	s := &Snapshot{
		now:        now,
		nodes:      slices.SortedFunc(slices.Values(o.Nodes), byNodeName),
		byName:     make(map[string]*v1.Node, len(o.Nodes)),
		namespaces: make(map[string]*v1.Namespace, len(o.Namespaces)),
		classes:    make(map[string]*scheduling.PriorityClass, len(o.PriorityClasses)),
		claims:     make(map[types.NamespacedName]*v1.PersistentVolumeClaim, len(o.Claims)),
		late:       map[Workload]bool{},
		budgets:    pods.NewBudgets(o.Budgets),
		pods:       slices.SortedFunc(slices.Values(o.Pods), byPodName),
		onNode:     make(map[string][]*v1.Pod, len(o.Nodes)),
		ofWorkload: map[Workload][]*v1.Pod{},
		groups:     make(map[types.NamespacedName]pods.PodGroup, len(o.PodGroups)),
		composites: o.Composites,
		evicted:    map[types.UID]bool{},
	}
	for _, n := range s.nodes {
		s.byName[n.Name] = n
	}
	for _, n := range o.Namespaces {
		s.namespaces[n.Name] = n
	}
	for _, c := range o.PriorityClasses {
		s.classes[c.Name] = c
	}
	for _, c := range o.Claims {
		s.claims[types.NamespacedName{Namespace: c.Namespace, Name: c.Name}] = c
	}
	for _, j := range o.Jobs {
		if ptr.Deref(j.Spec.PodReplacementPolicy, batch.TerminatingOrFailed) == batch.Failed { // always set where there is a podFailurePolicy
			s.late[Workload{Namespace: j.Namespace, Kind: jobKind, Name: j.Name}] = true
		}
	}
	for _, g := range o.PodGroups {
		s.groups[types.NamespacedName{Namespace: g.Namespace, Name: g.Name}] = g
	}
	for _, p := range s.pods {
		s.onNode[p.Spec.NodeName] = append(s.onNode[p.Spec.NodeName], p)
		if w, ok := WorkloadOf(p); ok {
			s.ofWorkload[w] = append(s.ofWorkload[w], p)
		}
	}
	return s
}

const jobKind = "Job"

// ReplacedLate says whether the owner of a pod makes another one only when the pod has gone: a StatefulSet, or a Job with
// podReplacementPolicy Failed. Others make it at once.
func (s *Snapshot) ReplacedLate(pod *v1.Pod) bool {
	w, _ := WorkloadOf(pod)
	return w.Kind == "StatefulSet" || w.Kind == jobKind && s.late[w]
}

// Now is the time at which the picture was made.
func (s *Snapshot) Now() time.Time { return s.now }

// Nodes returns all nodes, ready or not. The slice must not be changed.
func (s *Snapshot) Nodes() []*v1.Node { return s.nodes }

// Node returns a node, or nil.
func (s *Snapshot) Node(name string) *v1.Node { return s.byName[name] }

// Namespace returns a namespace, or nil.
func (s *Snapshot) Namespace(name string) *v1.Namespace { return s.namespaces[name] }

// NamespaceLabels returns the labels of a namespace; none if it is unknown.
func (s *Snapshot) NamespaceLabels(name string) labels.Set {
	if n := s.namespaces[name]; n != nil {
		return n.Labels
	}
	return nil
}

// DomainOf returns the value of a topology key at the node of a pod; false where the node has
// no such label or is unknown.
func (s *Snapshot) DomainOf(pod *v1.Pod, key string) (string, bool) {
	node := s.byName[pod.Spec.NodeName]
	if node == nil {
		return "", false
	}
	value, ok := node.Labels[key]
	return value, ok
}

// PriorityClass returns a priority class, or nil.
func (s *Snapshot) PriorityClass(name string) *scheduling.PriorityClass { return s.classes[name] }

// PodGroup returns the pod group of a pod; false where it has none, or that is not known.
func (s *Snapshot) PodGroup(pod *v1.Pod) (pods.PodGroup, bool) {
	group, known := s.groups[types.NamespacedName{Namespace: pod.Namespace, Name: pods.PodGroupOf(pod)}]
	return group, known
}

// GroupTags is what the scheduler is told of the pod group of a pod, by tags of the scheduler core; nil for a pod that is scheduled by itself, or
// whose group is not known.
func (s *Snapshot) GroupTags(pod *v1.Pod) map[string]string {
	group, known := s.PodGroup(pod)
	if !known {
		return nil
	}
	return s.composites.Tags(group, pods.IndexOf(pod), pod.Labels[pods.LabelSubgroup])
}

// Claim returns a volume claim, or nil.
func (s *Snapshot) Claim(namespace, name string) *v1.PersistentVolumeClaim {
	return s.claims[types.NamespacedName{Namespace: namespace, Name: name}]
}

// BudgetsOf returns the disruption budgets that select a pod: see pods.Budgets.
func (s *Snapshot) BudgetsOf(pod *v1.Pod) []*policy.PodDisruptionBudget { return s.budgets.Of(pod) }

// Pods returns all pods that were not evicted in this cycle, in any phase, in a
// new slice.
func (s *Snapshot) Pods() []*v1.Pod { return s.present(s.pods) }

// PodsOn returns the pods of a node that were not evicted in this cycle, in any
// phase, in a new slice. The empty name gives those without a node.
func (s *Snapshot) PodsOn(node string) []*v1.Pod { return s.present(s.onNode[node]) }

// PodsOf returns the pods of a workload that were not evicted in this cycle, in
// any phase, in a new slice.
func (s *Snapshot) PodsOf(w Workload) []*v1.Pod { return s.present(s.ofWorkload[w]) }

// Evicted takes a pod out. The framework calls it for each eviction.
func (s *Snapshot) Evicted(uid types.UID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.evicted[uid] = true
}

// MarkInFlight takes out pods whose eviction began before the snapshot was made and has not ended. The
// framework calls it once, before a Landing is made.
func (s *Snapshot) MarkInFlight(uids []types.UID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.inFlight = make(map[types.UID]bool, len(uids))
	for _, uid := range uids {
		s.inFlight[uid], s.evicted[uid] = true, true
	}
}

// Standing returns Pods and InFlight, in a new slice: all that may hold room on a node.
func (s *Snapshot) Standing() []*v1.Pod { return append(s.Pods(), s.InFlight()...) }

// InFlight returns the pods that MarkInFlight took out, in a new slice. Plugins need not look at them
// again, but they hold their room until they have ended: a Landing counts them where they stand.
func (s *Snapshot) InFlight() (begun []*v1.Pod) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if len(s.inFlight) == 0 {
		return nil
	}
	for _, p := range s.pods {
		if s.inFlight[p.UID] {
			begun = append(begun, p)
		}
	}
	return begun
}

// WasEvicted says whether a pod was taken out.
func (s *Snapshot) WasEvicted(uid types.UID) bool {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.evicted[uid]
}

// present copies a list without the pods that were evicted.
func (s *Snapshot) present(all []*v1.Pod) []*v1.Pod {
	s.mu.RLock()
	defer s.mu.RUnlock()
	kept := make([]*v1.Pod, 0, len(all))
	for _, p := range all {
		if !s.evicted[p.UID] {
			kept = append(kept, p)
		}
	}
	return kept
}

func byNodeName(a, b *v1.Node) int { return cmp.Compare(a.Name, b.Name) }

func byPodName(a, b *v1.Pod) int {
	return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name), cmp.Compare(a.UID, b.UID))
}
