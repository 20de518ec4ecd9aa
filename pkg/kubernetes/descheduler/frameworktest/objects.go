package frameworktest

import (
	"maps"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Now is the time of a Handle whose options name none.
var Now = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// Amounts reads "cpu=1 memory=1Gi".
func Amounts(text string) v1.ResourceList {
	list := v1.ResourceList{}
	for field := range strings.FieldsSeq(text) {
		name, quantity, _ := strings.Cut(field, "=")
		list[v1.ResourceName(name)] = resource.MustParse(quantity)
	}
	return list
}

// Labels reads "app=web zone=a".
func Labels(text string) map[string]string {
	labels := map[string]string{}
	for field := range strings.FieldsSeq(text) {
		key, value, _ := strings.Cut(field, "=")
		labels[key] = value
	}
	return labels
}

// Node makes a node that is ready, with labels such as "zone=a". The amounts left out
// are cpu=4 memory=16Gi pods=110.
func Node(name, amounts, labels string) *v1.Node {
	n := &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name), Labels: Labels(labels)}}
	n.Labels[v1.LabelHostname] = name
	n.Status.Allocatable = Amounts("cpu=4 memory=16Gi pods=110")
	maps.Copy(n.Status.Allocatable, Amounts(amounts))
	n.Status.Capacity = n.Status.Allocatable
	n.Status.Conditions = []v1.NodeCondition{{Type: v1.NodeReady, Status: v1.ConditionTrue}}
	return n
}

// Taint adds a taint to a node.
func Taint(n *v1.Node, key, value string, effect v1.TaintEffect) *v1.Node {
	n.Spec.Taints = append(n.Spec.Taints, v1.Taint{Key: key, Value: value, Effect: effect})
	return n
}

// Pod makes a running pod "namespace/name" of one container, an hour old.
func Pod(name, node, requests string, edits ...func(*v1.Pod)) *v1.Pod {
	namespace, short, _ := strings.Cut(name, "/")
	created := metav1.NewTime(Now.Add(-time.Hour))
	p := &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: namespace, Name: short, UID: types.UID(name), Labels: map[string]string{},
			Annotations: map[string]string{}, CreationTimestamp: created,
		},
		Spec: v1.PodSpec{
			NodeName: node,
			Containers: []v1.Container{{
				Name: "main", Image: "image",
				Resources: v1.ResourceRequirements{Requests: Amounts(requests)},
			}},
		},
		Status: v1.PodStatus{Phase: v1.PodRunning, StartTime: &created},
	}
	for _, edit := range edits {
		edit(p)
	}
	return p
}

// Owned gives the pod a controller, such as "ReplicaSet/web".
func Owned(by string) func(*v1.Pod) {
	kind, name, _ := strings.Cut(by, "/")
	yes := true
	return func(p *v1.Pod) {
		p.OwnerReferences = append(p.OwnerReferences, metav1.OwnerReference{
			APIVersion: "apps/v1", Kind: kind, Name: name, UID: types.UID(p.Namespace + "/" + by), Controller: &yes,
		})
	}
}

// Priority sets the priority of the pod.
func Priority(priority int32) func(*v1.Pod) {
	return func(p *v1.Pod) { p.Spec.Priority = &priority }
}

// Labelled adds labels such as "app=web".
func Labelled(labels string) func(*v1.Pod) {
	return func(p *v1.Pod) { maps.Copy(p.Labels, Labels(labels)) }
}

// Annotated adds annotations such as "a=b".
func Annotated(annotations string) func(*v1.Pod) {
	return func(p *v1.Pod) { maps.Copy(p.Annotations, Labels(annotations)) }
}

// Aged sets how long ago the pod was made and started.
func Aged(age time.Duration) func(*v1.Pod) {
	since := metav1.NewTime(Now.Add(-age))
	return func(p *v1.Pod) { p.CreationTimestamp, p.Status.StartTime = since, &since }
}

// Phase sets the phase of the pod.
func Phase(phase v1.PodPhase) func(*v1.Pod) {
	return func(p *v1.Pod) { p.Status.Phase = phase }
}

// Apart gives the pod a required anti-affinity to pods with labels, on one value of
// the topology key.
func Apart(labels, topology string) func(*v1.Pod) {
	return func(p *v1.Pod) {
		a := affinity(p)
		if a.PodAntiAffinity == nil {
			a.PodAntiAffinity = &v1.PodAntiAffinity{}
		}
		required := &a.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution
		*required = append(*required, v1.PodAffinityTerm{
			LabelSelector: &metav1.LabelSelector{MatchLabels: Labels(labels)}, TopologyKey: topology,
		})
	}
}

// OnNodes gives the pod a required node affinity to nodes with key=value.
func OnNodes(key, value string) func(*v1.Pod) {
	return func(p *v1.Pod) {
		nodes(p).RequiredDuringSchedulingIgnoredDuringExecution = &v1.NodeSelector{
			NodeSelectorTerms: []v1.NodeSelectorTerm{labelTerm(key, value)},
		}
	}
}

// Prefers gives the pod a preferred node affinity to nodes with key=value.
func Prefers(key, value string, weight int32) func(*v1.Pod) {
	return func(p *v1.Pod) {
		preferred := &nodes(p).PreferredDuringSchedulingIgnoredDuringExecution
		*preferred = append(*preferred, v1.PreferredSchedulingTerm{Weight: weight, Preference: labelTerm(key, value)})
	}
}

// Spread gives the pod a constraint with a maximum skew over pods with labels.
func Spread(labels, topology string, skew int32, what v1.UnsatisfiableConstraintAction) func(*v1.Pod) {
	return func(p *v1.Pod) {
		p.Spec.TopologySpreadConstraints = append(p.Spec.TopologySpreadConstraints, v1.TopologySpreadConstraint{
			MaxSkew: skew, TopologyKey: topology, WhenUnsatisfiable: what,
			LabelSelector: &metav1.LabelSelector{MatchLabels: Labels(labels)},
		})
	}
}

// Tolerates lets the pod run on nodes with a taint of that key.
func Tolerates(key string) func(*v1.Pod) {
	return func(p *v1.Pod) {
		p.Spec.Tolerations = append(p.Spec.Tolerations, v1.Toleration{Key: key, Operator: v1.TolerationOpExists})
	}
}

// Restarts sets how often the container of the pod was started again.
func Restarts(count int32) func(*v1.Pod) {
	return func(p *v1.Pod) {
		p.Status.ContainerStatuses = []v1.ContainerStatus{{Name: "main", RestartCount: count}}
	}
}

func affinity(p *v1.Pod) *v1.Affinity {
	if p.Spec.Affinity == nil {
		p.Spec.Affinity = &v1.Affinity{}
	}
	return p.Spec.Affinity
}

func nodes(p *v1.Pod) *v1.NodeAffinity {
	a := affinity(p)
	if a.NodeAffinity == nil {
		a.NodeAffinity = &v1.NodeAffinity{}
	}
	return a.NodeAffinity
}

func labelTerm(key, value string) v1.NodeSelectorTerm {
	return v1.NodeSelectorTerm{MatchExpressions: []v1.NodeSelectorRequirement{
		{Key: key, Operator: v1.NodeSelectorOpIn, Values: []string{value}},
	}}
}
