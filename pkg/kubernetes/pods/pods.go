package pods

import (
	"slices"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Rules are how pods are read. The zero value schedules no pods.
type Rules struct {
	// SchedulerNames are the values of spec.schedulerName that are ours.
	SchedulerNames []string
	// DefaultQueue is the queue of pods that name none; empty leaves it to the placement
	// rules of the configuration.
	DefaultQueue string
}

// IsOurs reports whether a pod is to be scheduled here. All others are foreign.
func (r Rules) IsOurs(pod *v1.Pod) bool {
	return slices.Contains(r.SchedulerNames, pod.Spec.SchedulerName)
}

// Key is the allocation key of a pod: its UID, so that a pod that was deleted and made
// again under the same name is another one.
func Key(pod *v1.Pod) string { return string(pod.UID) }

// IsTerminal reports whether a pod has ended, so that it takes nothing any more.
func IsTerminal(pod *v1.Pod) bool {
	return pod.Status.Phase == v1.PodSucceeded || pod.Status.Phase == v1.PodFailed
}

// IsBound reports whether a pod has its node.
func IsBound(pod *v1.Pod) bool { return pod.Spec.NodeName != "" }

// IsGated reports whether a pod must not be scheduled yet.
func IsGated(pod *v1.Pod) bool { return len(pod.Spec.SchedulingGates) > 0 }

// IsStatic reports whether the kubelet runs a pod from a file. Such a pod is owned by its
// node, and ending it in the API server ends nothing.
func IsStatic(pod *v1.Pod) bool {
	return slices.ContainsFunc(pod.OwnerReferences, func(owner metav1.OwnerReference) bool {
		return owner.APIVersion == "v1" && owner.Kind == "Node"
	})
}

// IsOfKubelet reports whether a pod is static, or stands for one in the API server.
func IsOfKubelet(pod *v1.Pod) bool {
	_, mirror := pod.Annotations[v1.MirrorPodAnnotationKey]
	return mirror || IsStatic(pod)
}

// OwnerPods are the keys of the pods that own a pod, as a Spark driver owns its executors.
func OwnerPods(pod *v1.Pod) []string {
	var keys []string
	for _, owner := range pod.OwnerReferences {
		if owner.APIVersion == "v1" && owner.Kind == "Pod" {
			keys = append(keys, string(owner.UID))
		}
	}
	return keys
}

// RequiredNode is the only node a pod of a daemonset may run on, empty for all others. The
// daemonset controller writes it as an affinity to the name of the node, in every term.
func RequiredNode(pod *v1.Pod) string {
	controller := metav1.GetControllerOf(pod)
	if controller == nil || controller.Kind != "DaemonSet" {
		return ""
	}
	affinity := pod.Spec.Affinity
	if affinity == nil || affinity.NodeAffinity == nil || affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution == nil {
		return ""
	}
	node := ""
	for i, term := range affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms {
		name := onlyNode(term)
		if name == "" || i > 0 && name != node {
			return ""
		}
		node = name
	}
	return node
}

// onlyNode is the node that a term names, empty if it names none or several.
func onlyNode(term v1.NodeSelectorTerm) string {
	for _, field := range term.MatchFields {
		if field.Key == metav1.ObjectNameField && field.Operator == v1.NodeSelectorOpIn && len(field.Values) == 1 {
			return field.Values[0]
		}
	}
	return ""
}
