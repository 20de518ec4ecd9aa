package violations

import (
	"context"
	"fmt"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/framework"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/plugins/eviction"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/plugins/podindex"
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
		others := podindex.New(run.Pods())
		for _, pod := range eviction.Sorted(a.handle, against) {
			a.look(run, others, pod)
		}
	})
	return run.Status()
}

// look moves a pod away from another. The scheduler places it, so it is against no pod
// where it goes.
func (a *antiAffinity) look(run *eviction.Run, others *podindex.Index, pod *v1.Pod) {
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
func violating(run *eviction.Run, others *podindex.Index, pod *v1.Pod, term *fwk.AffinityTerm) *v1.Pod {
	snapshot := run.Snapshot()
	domain, ok := snapshot.DomainOf(pod, term.TopologyKey)
	if !ok {
		return nil
	}
	domainOf := func(p *v1.Pod) (string, bool) { return snapshot.DomainOf(p, term.TopologyKey) }
	for _, other := range others.Within(term.Selector, term.TopologyKey, domain, domainOf) {
		if !counts(other) || other.Namespace == pod.Namespace && other.Name == pod.Name || snapshot.WasEvicted(other.UID) {
			continue
		}
		if term.Matches(other, snapshot.NamespaceLabels(other.Namespace)) {
			return other
		}
	}
	return nil
}

// counts says whether a pod is one that the scheduler looks at, and will look at when
// the pod that is to be moved comes back.
func counts(pod *v1.Pod) bool {
	return pod.DeletionTimestamp == nil && pod.Spec.NodeName != "" && !eviction.Ended(pod)
}

func termsAgainst(pod *v1.Pod) []v1.PodAffinityTerm {
	if pod.Spec.Affinity == nil {
		return nil
	}
	return fwk.GetPodAntiAffinityTerms(pod.Spec.Affinity)
}
