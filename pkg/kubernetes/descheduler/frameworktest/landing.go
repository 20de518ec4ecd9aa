package frameworktest

import (
	"cmp"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/component-helpers/resource"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/framework"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/feasibility"
)

// A landing places replacements: on a node that the filter plugins of kube-scheduler
// let through, with the best score. Better is, in this order: more preferred by the
// node affinity of the pod, fewer PreferNoSchedule taints, fewer pods of the same
// workload, less of the requested resources in use, the smaller name.
type landing struct {
	checker *feasibility.Checker
	nodes   []*v1.Node
	packing bool // more in use is better
	// choosing says that the scheduler is another one, so that plugins choose among the nodes.
	choosing bool
	now      time.Time

	mu       sync.Mutex
	pods     map[string][]*v1.Pod // that are counted, by node
	bookings []framework.Booking
	stands   []*v1.Pod // the replacements, in the same order
}

func newLanding(t testing.TB, client kubernetes.Interface, factory informers.SharedInformerFactory, o framework.Objects) *landing {
	t.Helper()
	checker, err := feasibility.New(t.Context(), client, factory, feasibility.Options{Workers: 1})
	if err != nil {
		t.Fatal(err)
	}
	factory.Start(t.Context().Done())
	t.Cleanup(factory.Shutdown) // the context of the test has ended by then
	if err := checker.WaitForSync(t.Context()); err != nil {
		t.Fatal(err)
	}
	l := &landing{checker: checker, pods: map[string][]*v1.Pod{}}
	l.nodes = slices.SortedFunc(slices.Values(o.Nodes), func(a, b *v1.Node) int { return cmp.Compare(a.Name, b.Name) })
	for _, n := range l.nodes {
		checker.SetNode(n)
	}
	for _, p := range o.Pods {
		l.count(p)
	}
	return l
}

// count counts a pod on its node.
func (l *landing) count(p *v1.Pod) {
	l.checker.SetPod(p)
	if p.Status.Phase != v1.PodSucceeded && p.Status.Phase != v1.PodFailed {
		l.pods[p.Spec.NodeName] = append(l.pods[p.Spec.NodeName], p)
	}
}

// Place implements framework.Landing.
func (l *landing) Place(pod *v1.Pod, choice framework.Choice) (framework.Place, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	node, err := l.place(pod, choice)
	return framework.Place{Node: node}, err
}

// Book implements framework.Landing.
func (l *landing) Book(pod *v1.Pod, node string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.remove(pod)
	if node == "" {
		return nil
	}
	s := replacement(pod, node, metav1.NewTime(l.now))
	l.count(s)
	l.bookings = append(l.bookings, framework.Booking{Pod: pod, Node: node})
	l.stands = append(l.stands, s)
	return nil
}

// Bookings implements framework.BookingLister.
func (l *landing) Bookings() []framework.Booking {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.bookings)
}

// remove takes a pod away which does not come back.
func (l *landing) remove(pod *v1.Pod) {
	l.checker.RemovePod(pod)
	on := pod.Spec.NodeName
	l.pods[on] = slices.DeleteFunc(l.pods[on], func(p *v1.Pod) bool { return p.UID == pod.UID })
}

func (l *landing) place(pod *v1.Pod, choice framework.Choice) (string, error) {
	if len(l.nodes) == 0 {
		return "", fmt.Errorf("there are no nodes")
	}
	names := make([]string, len(l.nodes))
	for i, n := range l.nodes {
		names[i] = n.Name
	}
	var best *v1.Node
	var bestScore [4]int64
	unsuited := framework.Refusals{}
	answers := l.checker.CheckNodes(unbound(pod), names)
	for i, n := range l.nodes {
		if answers[i] != nil {
			continue
		}
		if l.choosing || choice.Reserved {
			if unsuited[n.Name] = choice.Accepts(n.Name); unsuited[n.Name] != nil {
				continue
			}
		}
		if s := l.score(pod, n); best == nil || slices.Compare(s[:], bestScore[:]) > 0 {
			best, bestScore = n, s
		}
	}
	switch {
	case best == nil && len(unsuited) > 0:
		return "", unsuited.Unsuited()
	case best == nil:
		return "", fmt.Errorf("no node fits: %w", answers[0])
	}
	err := choice.Accepts(best.Name)
	if err != nil {
		return "", framework.UnsuitedOn(pod, framework.Place{Node: best.Name}, err)
	}
	return best.Name, nil
}

// score is greater for a better node.
func (l *landing) score(pod *v1.Pod, n *v1.Node) [4]int64 {
	var s [4]int64
	if a := pod.Spec.Affinity; a != nil && a.NodeAffinity != nil {
		terms, err := nodeaffinity.NewPreferredSchedulingTerms(a.NodeAffinity.PreferredDuringSchedulingIgnoredDuringExecution)
		if err == nil {
			s[0] = terms.Score(n)
		}
	}
	for _, taint := range n.Spec.Taints {
		if taint.Effect == v1.TaintEffectPreferNoSchedule {
			s[1]--
		}
	}
	w, owned := framework.WorkloadOf(pod)
	var used int64
	for _, p := range l.pods[n.Name] {
		if p.UID == pod.UID {
			continue
		}
		if of, ok := framework.WorkloadOf(p); owned && ok && of == w {
			s[2]--
		}
		used += share(p, n)
	}
	if l.packing {
		s[2], s[3] = 0, used
	} else {
		s[3] = -used
	}
	return s
}

// share is what a pod requests of a node, in a thousandth of its cpu and memory.
func share(p *v1.Pod, n *v1.Node) int64 {
	requests := resource.PodRequests(p, resource.PodResourcesOptions{})
	var sum int64
	for _, name := range []v1.ResourceName{v1.ResourceCPU, v1.ResourceMemory} {
		request, all := requests[name], n.Status.Allocatable[name]
		if all.MilliValue() > 0 {
			sum += request.MilliValue() / max(1, all.MilliValue()/1000)
		}
	}
	return sum
}

// unbound is a pod as the scheduler sees its replacement: with the identity of the old
// one, so that the Checker counts that as gone.
func unbound(pod *v1.Pod) *v1.Pod {
	p := *pod
	p.Spec.NodeName = ""
	return &p
}

// replacement is a pod made anew.
func replacement(pod *v1.Pod, node string, now metav1.Time) *v1.Pod {
	p := *pod
	p.Name += "r"
	p.UID += "r"
	p.CreationTimestamp = now
	p.DeletionTimestamp = nil
	p.Spec.NodeName = node
	p.Status = v1.PodStatus{Phase: v1.PodRunning, StartTime: &now}
	return &p
}
