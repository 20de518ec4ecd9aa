package simulation

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	resourcehelper "k8s.io/component-helpers/resource"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/framework"
	ft "github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/frameworktest"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/pods"
)

// slot is the annotation that a pod shares with the one it replaces.
const slot = "slot"

// queueNames are the leaves of the queues of random clusters.
var queueNames = []string{"a", "b", "c"}

// randomQueues guarantees something to some queues, or nothing to any.
func randomQueues(r *rand.Rand, guarantees bool) string {
	text := "partitions:\n- name: default\n"
	if r.IntN(2) == 0 {
		text += "  nodesortpolicy: {type: binpacking}\n"
	}
	text += "  queues:\n  - name: root\n    queues:\n"
	for _, name := range queueNames {
		text += "    - name: " + name + "\n"
		if r.IntN(2) == 0 && guarantees {
			text += fmt.Sprintf("      resources: {guaranteed: {vcore: %dm, memory: %dMi}}\n", 250*r.IntN(12), 250*r.IntN(12))
		}
	}
	return text
}

// A maker makes a random cluster.
type maker struct {
	*rand.Rand
	o    framework.Objects
	free map[string]map[v1.ResourceName]int64
	rule int // that most workloads have
}

// randomObjects is a cluster of three to nine nodes in which only the rule that requests fit
// is kept.
func randomObjects(r *rand.Rand) framework.Objects {
	m := &maker{Rand: r, free: map[string]map[v1.ResourceName]int64{}, rule: r.IntN(rulesKnown)}
	for i := range 3 + r.IntN(7) {
		m.node(i)
	}
	for _, name := range []string{"ns0", "ns1"} {
		m.o.Namespaces = append(m.o.Namespaces, &v1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}})
	}
	for i := range 3 + r.IntN(8) {
		m.workload(i)
	}
	return m.o
}

// node has six kinds of resources.
func (m *maker) node(number int) {
	n := ft.Node(fmt.Sprint("n", number), fmt.Sprintf(
		"cpu=%d memory=%dGi pods=110 ephemeral-storage=%dGi nvidia.com/gpu=%d example.com/license=%d",
		2+m.IntN(4), 4+m.IntN(8), 10+m.IntN(90), m.IntN(3), m.IntN(4)),
		fmt.Sprintf("zone=%c disk=%c", 'a'+rune(m.IntN(3)), 'a'+rune(m.IntN(2))))
	switch m.IntN(10) {
	case 0:
		ft.Taint(n, "dedicated", "", v1.TaintEffectNoSchedule)
	case 1:
		ft.Taint(n, "slow", "", v1.TaintEffectPreferNoSchedule)
	case 2:
		n.Spec.Unschedulable = true
		ft.Taint(n, v1.TaintNodeUnschedulable, "", v1.TaintEffectNoSchedule)
	case 3:
		n.Status.Conditions[0].Status = v1.ConditionUnknown
		ft.Taint(n, v1.TaintNodeUnreachable, "", v1.TaintEffectNoSchedule)
	}
	m.o.Nodes = append(m.o.Nodes, n)
	m.free[n.Name] = map[v1.ResourceName]int64{}
	for name, q := range n.Status.Allocatable {
		m.free[n.Name][name] = q.MilliValue()
	}
}

// workload makes pods of one owner, on the first nodes more than on others.
func (m *maker) workload(number int) {
	app, namespace := fmt.Sprint("app", number), fmt.Sprint("ns", number%2)
	requests := fmt.Sprintf("cpu=%dm memory=%dMi", 50*(1+m.IntN(12)), 25*(1+m.IntN(20)))
	switch m.IntN(8) {
	case 0:
		requests += " nvidia.com/gpu=1"
	case 1:
		requests += " example.com/license=1 ephemeral-storage=1Gi"
	}
	edits := append(m.owner(app), m.rules(app)...)
	if m.IntN(3) == 0 {
		m.budget(namespace, app)
	}
	if m.IntN(4) > 0 {
		edits = append(edits, ours(app, queueNames[m.IntN(len(queueNames))]))
		if m.IntN(5) == 0 {
			edits = append(edits, gang(1+m.IntN(4)))
		}
	}
	for i := range 1 + m.IntN(7) {
		node := m.o.Nodes[m.IntN(1+m.IntN(len(m.o.Nodes)))].Name
		p := ft.Pod(fmt.Sprintf("%s/%s-%d", namespace, app, i), node, requests, append(slices.Clone(edits), m.state())...)
		if m.take(p) {
			p.Annotations[slot] = p.Namespace + "/" + p.Name
			m.o.Pods = append(m.o.Pods, p)
		}
	}
}

// take takes the room of a pod, if there is room.
func (m *maker) take(p *v1.Pod) bool {
	free, requests := m.free[p.Spec.NodeName], resourcehelper.PodRequests(p, resourcehelper.PodResourcesOptions{})
	for name, q := range requests {
		if free[name] < q.MilliValue() {
			return false
		}
	}
	for name, q := range requests {
		free[name] -= q.MilliValue()
	}
	return true
}

// owner is what makes the pods of an application.
func (m *maker) owner(app string) []func(*v1.Pod) {
	edits := []func(*v1.Pod){ft.Labelled("app=" + app), ft.Labelled(fmt.Sprint("tier=", m.IntN(2)))}
	kinds := []string{"ReplicaSet", "ReplicaSet", "ReplicaSet", "StatefulSet", "DaemonSet"}
	if m.IntN(10) > 0 {
		edits = append(edits, ft.Owned(kinds[m.IntN(len(kinds))]+"/"+app))
	}
	if m.IntN(2) == 0 {
		edits = append(edits, ft.Priority([]int32{-5, 0, 9500, 2_000_000_000}[m.IntN(4)]))
	}
	return edits
}

// rulesKnown is how many rules there are.
const rulesKnown = 9

// rules are up to two rules about where pods may run.
func (m *maker) rules(app string) (edits []func(*v1.Pod)) {
	self := "app=" + app
	for range m.IntN(3) {
		rule := m.rule
		if m.IntN(2) == 0 {
			rule = m.IntN(rulesKnown)
		}
		switch rule {
		case 0:
			edits = append(edits, ft.Apart(self, v1.LabelHostname))
		case 1:
			edits = append(edits, ft.Apart(fmt.Sprint("tier=", m.IntN(2)), "zone"))
		case 2:
			edits = append(edits, ft.Spread(self, "zone", int32(1+m.IntN(2)), v1.DoNotSchedule))
		case 3:
			edits = append(edits, ft.Spread(self, v1.LabelHostname, 1, v1.ScheduleAnyway))
		case 4:
			edits = append(edits, ft.OnNodes("disk", "a"))
		case 5:
			edits = append(edits, ft.Prefers("disk", "b", 5), ft.Prefers("zone", "a", 3))
		case 6:
			edits = append(edits, ft.Tolerates("dedicated"))
		case 7:
			edits = append(edits, together(self))
		case 8:
			edits = append(edits, localStorage)
		}
	}
	return edits
}

func together(self string) func(*v1.Pod) {
	return func(p *v1.Pod) {
		if p.Spec.Affinity == nil {
			p.Spec.Affinity = &v1.Affinity{}
		}
		p.Spec.Affinity.PodAffinity = &v1.PodAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []v1.PodAffinityTerm{{
			LabelSelector: &metav1.LabelSelector{MatchLabels: ft.Labels(self)}, TopologyKey: "zone",
		}}}
	}
}

func localStorage(p *v1.Pod) {
	p.Spec.Volumes = []v1.Volume{{Name: "scratch", VolumeSource: v1.VolumeSource{EmptyDir: &v1.EmptyDirVolumeSource{}}}}
}

// ours has the scheduler of this project place a pod, in a queue.
func ours(app, queue string) func(*v1.Pod) {
	return func(p *v1.Pod) {
		p.Spec.SchedulerName = schedulerName
		p.Labels[pods.LabelApplicationID], p.Labels[pods.LabelQueue] = p.Namespace+"-"+app, "root."+queue
	}
}

// gang makes the pods of an application one task group.
func gang(needed int) func(*v1.Pod) {
	return func(p *v1.Pod) {
		p.Annotations[pods.AnnotationTaskGroups] = fmt.Sprintf(`[{"name":"workers","minMember":%d}]`, needed)
		p.Annotations[pods.AnnotationTaskGroup] = "workers"
	}
}

func (m *maker) budget(namespace, app string) {
	most := intstr.FromInt32(m.Int32N(3))
	b := &policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: app},
		Spec:       policyv1.PodDisruptionBudgetSpec{MaxUnavailable: &most, Selector: &metav1.LabelSelector{MatchLabels: ft.Labels("app=" + app)}},
	}
	m.o.Budgets = append(m.o.Budgets, b)
}

// state is what the pods of one owner do not have in common.
func (m *maker) state() func(*v1.Pod) {
	// No pod becomes too old by the time that a test plays.
	age, restarts, other := time.Duration(5+10*m.IntN(12))*time.Minute, m.Int32N(6), m.IntN(15)
	return func(p *v1.Pod) {
		ft.Aged(age)(p)
		ft.Restarts(restarts)(p)
		p.Status.Conditions = isReady
		switch other {
		case 0:
			p.Status.Phase = v1.PodFailed
		case 1:
			p.Status.Phase = v1.PodSucceeded
		case 2:
			p.DeletionTimestamp = &metav1.Time{Time: ft.Now}
		case 3:
			p.Annotations["descheduler.alpha.kubernetes.io/prefer-no-eviction"] = ""
		}
	}
}

// usedBy is what a pod uses: more or less than it requests, by its owner.
func usedBy(p *v1.Pod) v1.ResourceList {
	if text, ok := p.Annotations[used]; ok {
		cpu := resource.MustParse(text)
		return amounts(cpu.MilliValue(), 0)
	}
	requests := resourcehelper.PodRequests(p, resourcehelper.PodResourcesOptions{})
	factor := int64(p.Labels["app"][3])%5 + 1
	return amounts(requests.Cpu().MilliValue()*factor/3, requests.Memory().Value()*factor/3)
}

func amounts(cpu, memory int64) v1.ResourceList {
	return v1.ResourceList{
		v1.ResourceCPU:    *resource.NewMilliQuantity(cpu, resource.DecimalSI),
		v1.ResourceMemory: *resource.NewQuantity(memory, resource.BinarySI),
	}
}
