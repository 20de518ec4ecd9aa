package violations

import (
	"context"
	"fmt"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/framework"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/plugins/eviction"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/plugins/selection"
)

// AntiAffinity is the name of the plugin.
const AntiAffinity = "RemovePodsViolatingInterPodAntiAffinity"

// AntiAffinityArgs select pods that run besides others that they are against.
type AntiAffinityArgs struct {
	metav1.TypeMeta `json:",inline"`
	selection.Pods  `json:",inline"`
}

// AntiAffinityDefinition is RemovePodsViolatingInterPodAntiAffinity.
func AntiAffinityDefinition() framework.Definition {
	return framework.Typed(framework.Definition{
		Name:   AntiAffinity,
		Points: []framework.Point{framework.Deschedule},
		Args:   func() any { return &AntiAffinityArgs{} },
	}, validateAntiAffinity, func(a *AntiAffinityArgs, handle framework.Handle) (framework.Plugin, error) {
		selected, err := a.Selector()
		return &antiAffinity{handle: handle, selected: selected}, err
	})
}

func validateAntiAffinity(a *AntiAffinityArgs) error {
	return a.Pods.Validate()
}

type antiAffinity struct {
	handle   framework.Handle
	selected func(*v1.Pod) bool
}

// Name implements framework.Plugin.
func (a *antiAffinity) Name() string { return AntiAffinity }

// Deschedule implements framework.DeschedulePlugin. Of pods that are against each other
// the less important goes, on whatever node it is.
func (a *antiAffinity) Deschedule(ctx context.Context, nodes []*v1.Node) *framework.Status {
	run := eviction.Start(ctx, a.handle, AntiAffinity)
	run.Repeat(func() {
		var against []*v1.Pod
		for _, node := range nodes {
			for _, pod := range run.PodsOn(node.Name) {
				if len(termsAgainst(pod)) > 0 && counts(pod) && a.selected(pod) {
					against = append(against, pod)
				}
			}
		}
		if len(against) == 0 {
			return
		}
		others := newIndex(run.Pods())
		for _, pod := range eviction.Sorted(a.handle, against) {
			a.look(run, others, pod)
		}
	})
	return run.Status()
}

// look moves a pod away from another. The scheduler places it, so it is against no pod
// where it goes.
func (a *antiAffinity) look(run *eviction.Run, others *index, pod *v1.Pod) {
	terms, err := fwk.GetAffinityTerms(pod, termsAgainst(pod))
	if err != nil {
		return // the scheduler cannot read them either
	}
	for _, term := range terms {
		if other := violating(run, others, pod, &term); other != nil {
			if run.Removable(pod) {
				run.Move(pod, fmt.Sprintf("its anti-affinity is against pod %s/%s", other.Namespace, other.Name),
					func(string) error { return nil })
			}
			return
		}
	}
}

// violating is a pod in the same topology domain that a term is against.
func violating(run *eviction.Run, others *index, pod *v1.Pod, term *fwk.AffinityTerm) *v1.Pod {
	snapshot := run.Snapshot()
	domain, ok := topology(snapshot, pod, term.TopologyKey)
	if !ok {
		return nil
	}
	domainOf := func(p *v1.Pod) (string, bool) { return topology(snapshot, p, term.TopologyKey) }
	for _, other := range others.within(term.Selector, term.TopologyKey, domain, domainOf) {
		if !counts(other) || other.Namespace == pod.Namespace && other.Name == pod.Name || snapshot.WasEvicted(other.UID) {
			continue
		}
		var namespace labels.Set
		if n := snapshot.Namespace(other.Namespace); n != nil {
			namespace = n.Labels
		}
		if term.Matches(other, namespace) {
			return other
		}
	}
	return nil
}

// topology is the value of a topology key at the node of a pod.
func topology(snapshot *framework.Snapshot, pod *v1.Pod, key string) (string, bool) {
	node := snapshot.Node(pod.Spec.NodeName)
	if node == nil {
		return "", false
	}
	value, ok := node.Labels[key]
	return value, ok
}

func termsAgainst(pod *v1.Pod) []v1.PodAffinityTerm {
	if pod.Spec.Affinity == nil {
		return nil
	}
	return fwk.GetPodAntiAffinityTerms(pod.Spec.Affinity)
}
