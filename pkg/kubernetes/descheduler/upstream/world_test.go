package upstream

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// A world is a small cluster and a policy that both read.
type world struct {
	*rand.Rand
	now    time.Time
	plugin plugin
	policy string
	nodes  []*v1.Node // by name
	pods   []*v1.Pod
}

// newWorld makes the world of a seed for a plugin.
func newWorld(seed uint64, p plugin) *world {
	w := &world{Rand: rand.New(rand.NewPCG(seed, 36)), now: time.Now(), plugin: p}
	for i := range max(p.nodes, 2+w.IntN(5)) {
		w.nodes = append(w.nodes, w.node(i))
	}
	if p.cluster != nil {
		p.cluster(w)
	}
	for i := range 1 + w.IntN(6) {
		w.workload(i)
	}
	slices.SortFunc(w.pods, func(a, b *v1.Pod) int { return cmp.Compare(a.Name, b.Name) })
	evictor := "{}"
	if w.p(40) {
		evictor = w.pick("{nodeFit: true}", "{nodeFit: true}", "{nodeFit: true}", "{nodeFit: true}", "{minReplicas: 2}", "{priorityThreshold: {value: 103}}",
			"{labelSelector: {matchLabels: {tier: x}}}", "{minPodAge: 30m}", "{podProtections: {defaultDisabled: [PodsWithLocalStorage]}}")
	}
	w.policy = policyOf(evictor, p.name, "{"+p.arguments(w)+"}", p.point)
	return w
}

// policyOf has one plugin.
func policyOf(evictor, plugin, args, point string) string {
	return fmt.Sprintf(`apiVersion: descheduler/v1alpha2
kind: DeschedulerPolicy
profiles:
- name: p
  pluginConfig:
  - {name: DefaultEvictor, args: %s}
  - {name: %s, args: %s}
  plugins:
    filter: {enabled: [DefaultEvictor]}
    preevictionfilter: {enabled: [DefaultEvictor]}
    %s: {enabled: [%[2]s]}
`, evictor, plugin, args, point)
}

// p is true in so many of a hundred cases.
func (w *world) p(percent int) bool { return w.IntN(100) < percent }

func (w *world) pick(of ...string) string { return of[w.IntN(len(of))] }

func (w *world) node(i int) *v1.Node {
	name := fmt.Sprint("n", i)
	n := &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name), Labels: map[string]string{
		v1.LabelHostname: name, "zone": w.pick("a", "b", "c"), "disk": w.pick("ssd", "ssd", "hdd"),
	}}}
	cpu := w.plugin.cpu
	if cpu == nil {
		cpu = []string{"4", "8", "8"}
	}
	n.Status.Allocatable = v1.ResourceList{
		v1.ResourceCPU:    resource.MustParse(w.pick(cpu...)),
		v1.ResourceMemory: resource.MustParse(w.pick("16Gi", "32Gi")),
		v1.ResourcePods:   resource.MustParse("110"),
	}
	n.Status.Capacity = n.Status.Allocatable
	n.Status.Conditions = []v1.NodeCondition{{Type: v1.NodeReady, Status: v1.ConditionTrue}}
	if w.p(2) {
		n.Status.Conditions[0].Status = v1.ConditionUnknown
		n.Spec.Taints = append(n.Spec.Taints, v1.Taint{Key: v1.TaintNodeUnreachable, Effect: v1.TaintEffectNoSchedule})
	}
	if w.p(3) {
		n.Spec.Unschedulable = true
		n.Spec.Taints = append(n.Spec.Taints, v1.Taint{Key: v1.TaintNodeUnschedulable, Effect: v1.TaintEffectNoSchedule})
	}
	if w.p(w.plugin.taints) {
		n.Spec.Taints = append(n.Spec.Taints, v1.Taint{
			Key: w.pick("ded", "odd"), Value: w.pick("", "v"), Effect: v1.TaintEffect(w.pick("NoSchedule", "NoSchedule", "PreferNoSchedule")),
		})
	}
	return n
}

// workload adds the pods of one owner. They are alike and have a priority of their own, so
// that it is known in which order upstream takes pods of different owners.
func (w *world) workload(i int) {
	kind := w.pick("ReplicaSet", "ReplicaSet", "ReplicaSet", "StatefulSet", "Job", "DaemonSet")
	template := &v1.Pod{ObjectMeta: metav1.ObjectMeta{
		Namespace: w.pick("a", "b"), Labels: map[string]string{"app": fmt.Sprint("w", i), "tier": w.pick("x", "x", "y")},
		Annotations: map[string]string{},
		OwnerReferences: []metav1.OwnerReference{{
			APIVersion: "apps/v1", Kind: kind, Name: fmt.Sprint("w", i), UID: types.UID(fmt.Sprint("w", i)), Controller: new(true),
		}},
	}, Spec: v1.PodSpec{
		Priority: new(int32(100 + i)), SchedulerName: v1.DefaultSchedulerName,
		Containers: []v1.Container{{Name: "c", Image: "i", Resources: v1.ResourceRequirements{Requests: v1.ResourceList{
			v1.ResourceCPU: resource.MustParse(w.pick("100m", "250m", "500m", "700m")), v1.ResourceMemory: resource.MustParse(w.pick("128Mi", "1Gi")),
		}}}},
	}}
	if w.p(7) {
		template.Spec.Volumes = []v1.Volume{{Name: "v", VolumeSource: v1.VolumeSource{EmptyDir: &v1.EmptyDirVolumeSource{}}}}
	}
	if w.p(25) {
		template.Spec.Tolerations = []v1.Toleration{{Key: w.pick("ded", "odd"), Operator: v1.TolerationOpExists}}
	}
	if w.p(2) {
		template.OwnerReferences = nil
	}
	if w.plugin.template != nil {
		w.plugin.template(w, template)
	}
	crowd := w.nodes[:1+w.IntN(len(w.nodes))]
	replicas := 1 + w.IntN(cmp.Or(w.plugin.replicas, 6))
	var stood []*v1.Node
	if w.plugin.stood != nil {
		stood = w.plugin.stood(w, replicas)
	}
	for j := range replicas {
		p := template.DeepCopy()
		p.Name = fmt.Sprintf("w%d-%d", i, j)
		p.UID = types.UID(p.Name)
		p.Spec.NodeName = crowd[w.IntN(len(crowd))].Name
		if stood != nil {
			p.Spec.NodeName = stood[j].Name
		}
		// Half a step away from all ages that arguments name, since upstream reads the clock.
		since := metav1.NewTime(w.now.Add(-time.Duration(w.IntN(12))*10*time.Minute - 5*time.Minute))
		p.CreationTimestamp = since
		p.Status = v1.PodStatus{
			Phase: v1.PodRunning, StartTime: &since, QOSClass: v1.PodQOSBurstable,
			Conditions: []v1.PodCondition{{Type: v1.PodReady, Status: v1.ConditionTrue}},
		}
		if w.plugin.pod != nil {
			w.plugin.pod(w, p)
		}
		if w.hasRoom(p) {
			w.pods = append(w.pods, p)
		}
	}
}

func (w *world) nodeOf(p *v1.Pod) *v1.Node {
	return w.nodes[slices.IndexFunc(w.nodes, func(n *v1.Node) bool { return n.Name == p.Spec.NodeName })]
}

// hasRoom says whether a pod could have come to its node.
func (w *world) hasRoom(p *v1.Pod) bool {
	free := w.nodeOf(p).Status.Allocatable.Cpu().DeepCopy()
	for _, other := range append(slices.Clone(w.pods), p) {
		if other.Spec.NodeName == p.Spec.NodeName {
			free.Sub(*other.Spec.Containers[0].Resources.Requests.Cpu())
		}
	}
	return free.Sign() >= 0
}

// names are pods in one line. Where it is chance which of several like ones goes, they are
// named by what they have in common.
func (w *world) names(pods []*v1.Pod) string {
	names := make([]string, len(pods))
	for i, p := range pods {
		names[i] = p.Name
		if w.plugin.alike != nil {
			names[i] = ownerOf(p) + " of " + w.plugin.alike(w, p)
		}
	}
	slices.Sort(names)
	return strings.Join(names, ", ")
}

// String is the world in a line for each object.
func (w *world) String() string {
	var b strings.Builder
	b.WriteString(w.policy)
	for _, n := range w.nodes {
		fmt.Fprintf(&b, "node %s zone=%s disk=%s cpu=%s memory=%s taints=%v unschedulable=%v ready=%s\n", n.Name, n.Labels["zone"], n.Labels["disk"],
			n.Status.Allocatable.Cpu(), n.Status.Allocatable.Memory(), n.Spec.Taints, n.Spec.Unschedulable, n.Status.Conditions[0].Status)
	}
	for _, p := range w.pods {
		fmt.Fprintf(&b, "pod %s/%s on %s labels=%v requests=%v tolerations=%v affinity=%v selector=%v spread=%v owners=%d volumes=%d age=%s status=%s %s\n", p.Namespace, p.Name,
			p.Spec.NodeName, p.Labels, p.Spec.Containers[0].Resources.Requests.Cpu(), p.Spec.Tolerations, p.Spec.Affinity, p.Spec.NodeSelector, p.Spec.TopologySpreadConstraints,
			len(p.OwnerReferences), len(p.Spec.Volumes), w.now.Sub(p.CreationTimestamp.Time).Round(time.Minute), p.Status.Phase, p.Status.Reason)
	}
	return b.String()
}
