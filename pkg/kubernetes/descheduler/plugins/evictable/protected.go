package evictable

import (
	"fmt"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	corev1helpers "k8s.io/component-helpers/scheduling/corev1"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/framework"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/plugins/selection"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/pods"
)

// A protection returns why a pod may not be evicted, or nothing.
type protection func(pod *v1.Pod) string

// enabled are the protections that the arguments ask for.
func (e *evictor) enabled() []protection {
	all := []struct {
		on  bool
		why protection
	}{
		{e.args.protects(SystemCriticalPods), systemCritical},
		{e.args.PriorityThreshold != nil, e.important},
		{true, reservation},
		{true, e.bare},
		{e.args.protects(PodsWithLocalStorage), localStorage},
		{e.args.protects(DaemonSetPods), daemonSet},
		{e.args.protects(PodsWithPVC), e.claims},
		{e.args.protects(PodsWithoutPDB), e.withoutBudget},
		{e.args.protects(PodsWithResourceClaims), resourceClaims},
		{true, e.unselected},
		{e.args.MinReplicas > 1, e.fewReplicas},
		{e.args.MinPodAge != nil, e.young},
	}
	var on []protection
	for _, p := range all {
		if p.on {
			on = append(on, p.why)
		}
	}
	return on
}

// reservation keeps pods that hold a place for a pod that is migrated.
func reservation(pod *v1.Pod) string {
	if pods.IsReservation(pod) {
		return "it reserves a place for a migration"
	}
	return ""
}

func systemCritical(pod *v1.Pod) string {
	class := pod.Spec.PriorityClassName
	if corev1helpers.PodPriority(pod) >= HighestThreshold || class == "system-cluster-critical" || class == "system-node-critical" {
		return "it is critical for the system"
	}
	return ""
}

// important keeps pods at the threshold and above. The highest threshold is that of
// critical pods, which have a protection of their own: so switching that off does not
// switch off a threshold that an operator has set, nor does the default keep them.
func (e *evictor) important(pod *v1.Pod) string {
	threshold := int32(HighestThreshold)
	switch t := e.args.PriorityThreshold; {
	case t.Value != nil:
		threshold = *t.Value
	case t.Name != "":
		class := e.handle.Snapshot().PriorityClass(t.Name)
		if class == nil {
			return fmt.Sprintf("the priority class %s of the threshold does not exist", t.Name)
		}
		threshold = class.Value
	}
	if threshold < HighestThreshold && corev1helpers.PodPriority(pod) >= threshold {
		return fmt.Sprintf("its priority %d is not below the threshold %d", corev1helpers.PodPriority(pod), threshold)
	}
	return ""
}

func (e *evictor) bare(pod *v1.Pod) string {
	switch {
	case len(pod.OwnerReferences) > 0:
		return ""
	case pod.Status.Phase != v1.PodFailed:
		return "it has no owner that would make it anew"
	case e.args.protects(FailedBarePods):
		return "it has failed, has no owner, and FailedBarePods is protected"
	}
	return ""
}

func localStorage(pod *v1.Pod) string {
	local := func(v v1.Volume) bool { return v.HostPath != nil || v.EmptyDir != nil }
	if slices.ContainsFunc(pod.Spec.Volumes, local) {
		return "it has local storage"
	}
	return ""
}

func daemonSet(pod *v1.Pod) string {
	if selection.HasOwnerKind(pod, []string{"DaemonSet"}) {
		return "it belongs to a DaemonSet"
	}
	return ""
}

// claims keeps pods with volume claims. A claim that is not known may be of any class.
func (e *evictor) claims(pod *v1.Pod) string {
	classes := e.args.PodProtections.storageClasses()
	for i := range pod.Spec.Volumes {
		source := pod.Spec.Volumes[i].PersistentVolumeClaim
		if source == nil {
			continue
		}
		if len(classes) == 0 {
			return "it has a volume claim"
		}
		claim := e.handle.Snapshot().Claim(pod.Namespace, source.ClaimName)
		if claim == nil {
			return fmt.Sprintf("its volume claim %s is not known", source.ClaimName)
		}
		if name := claim.Spec.StorageClassName; name != nil && slices.Contains(classes, StorageClass{Name: *name}) {
			return fmt.Sprintf("its volume claim %s is of the protected storage class %s", source.ClaimName, *name)
		}
	}
	return ""
}

func (e *evictor) withoutBudget(pod *v1.Pod) string {
	if len(e.handle.Snapshot().BudgetsOf(pod)) == 0 {
		return "no disruption budget covers it"
	}
	return ""
}

func resourceClaims(pod *v1.Pod) string {
	if len(pod.Spec.ResourceClaims) > 0 {
		return "it has a resource claim"
	}
	return ""
}

func (e *evictor) unselected(pod *v1.Pod) string {
	if !e.pods.Matches(labels.Set(pod.Labels)) {
		return "its labels are not selected"
	}
	return ""
}

// fewReplicas looks at pods with one owner only, as it is not said which of several
// counts.
func (e *evictor) fewReplicas(pod *v1.Pod) string {
	if len(pod.OwnerReferences) != 1 {
		return ""
	}
	w, _ := framework.WorkloadOf(pod)
	if have := uint(len(e.handle.Snapshot().PodsOf(w))); have < e.args.MinReplicas {
		return fmt.Sprintf("its owner has %d pods, fewer than %d", have, e.args.MinReplicas)
	}
	return ""
}

func (e *evictor) young(pod *v1.Pod) string {
	if pod.Status.StartTime == nil || e.handle.Snapshot().Now().Sub(pod.Status.StartTime.Time) < e.args.MinPodAge.Duration {
		return fmt.Sprintf("it started less than %s ago", e.args.MinPodAge.Duration)
	}
	return ""
}
