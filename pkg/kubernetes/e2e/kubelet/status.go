package kubelet

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const (
	addressOfNodes = "10.255.0.1"
	imageID        = "image-that-was-not-loaded"
)

// running is the status of a pod whose containers have started.
func running(now time.Time, pod *corev1.Pod, address string) corev1.PodStatus {
	at := metav1.NewTime(now)
	status := corev1.PodStatus{
		ObservedGeneration: pod.Generation,
		Phase:              corev1.PodRunning,
		StartTime:          &at,
		HostIP:             addressOfNodes,
		HostIPs:            []corev1.HostIP{{IP: addressOfNodes}},
		PodIP:              address,
		PodIPs:             []corev1.PodIP{{IP: address}},
		Conditions:         conditions(at, pod, corev1.ConditionTrue, ""),
	}
	for _, c := range pod.Spec.InitContainers {
		if c.RestartPolicy != nil && *c.RestartPolicy == corev1.ContainerRestartPolicyAlways {
			status.InitContainerStatuses = append(status.InitContainerStatuses, runningContainer(at, c))
			continue
		}
		status.InitContainerStatuses = append(status.InitContainerStatuses, endedContainer(at, container(c), 0))
	}
	for _, c := range pod.Spec.Containers {
		status.ContainerStatuses = append(status.ContainerStatuses, runningContainer(at, c))
	}
	return status
}

// over is the status of a pod whose containers have ended with a code.
func over(now time.Time, pod *corev1.Pod, code int32) corev1.PodStatus {
	at := metav1.NewTime(now)
	status := corev1.PodStatus{ObservedGeneration: pod.Generation, Phase: corev1.PodSucceeded}
	reason := "PodCompleted"
	if code != 0 {
		status.Phase, reason = corev1.PodFailed, "PodFailed"
	}
	status.Conditions = conditions(at, pod, corev1.ConditionFalse, reason)
	for _, c := range pod.Status.InitContainerStatuses {
		status.InitContainerStatuses = append(status.InitContainerStatuses, endedContainer(at, c, 0))
	}
	for _, c := range containers(pod) {
		status.ContainerStatuses = append(status.ContainerStatuses, endedContainer(at, c, code))
	}
	return status
}

// containers are the statuses of its containers, also of those that never started.
func containers(pod *corev1.Pod) []corev1.ContainerStatus {
	if len(pod.Status.ContainerStatuses) == len(pod.Spec.Containers) {
		return pod.Status.ContainerStatuses
	}
	var statuses []corev1.ContainerStatus
	for _, c := range pod.Spec.Containers {
		statuses = append(statuses, container(c))
	}
	return statuses
}

// refused is the status of a pod that the node does not take.
func refused(pod *corev1.Pod, reason string) corev1.PodStatus {
	return corev1.PodStatus{
		ObservedGeneration: pod.Generation,
		Phase:              corev1.PodFailed,
		Reason:             reason,
		Message:            "Pod was rejected: " + reason,
	}
}

// resized is the status of a pod whose containers have got what it asks for.
func resized(pod *corev1.Pod) corev1.PodStatus {
	status := corev1.PodStatus{ObservedGeneration: pod.Generation}
	for i, c := range pod.Status.ContainerStatuses {
		if i < len(pod.Spec.Containers) {
			c.Resources = new(pod.Spec.Containers[i].Resources)
			c.AllocatedResources = pod.Spec.Containers[i].Resources.Requests
		}
		status.ContainerStatuses = append(status.ContainerStatuses, c)
	}
	return status
}

// pendingResize is the status of a pod that keeps what it has.
func pendingResize(now time.Time, pod *corev1.Pod, reason string) corev1.PodStatus {
	return corev1.PodStatus{
		ObservedGeneration: pod.Generation,
		Conditions: []corev1.PodCondition{{
			Type:               corev1.PodResizePending,
			Status:             corev1.ConditionTrue,
			Reason:             reason,
			LastTransitionTime: metav1.NewTime(now),
		}},
	}
}

// wantsResize tells whether a running pod asks for something else than it has.
func wantsResize(pod *corev1.Pod) bool {
	for i, c := range pod.Status.ContainerStatuses {
		if i < len(pod.Spec.Containers) && c.Resources != nil && !equality.Semantic.DeepEqual(*c.Resources, pod.Spec.Containers[i].Resources) {
			return true
		}
	}
	return false
}

func conditions(at metav1.Time, pod *corev1.Pod, ready corev1.ConditionStatus, reason string) []corev1.PodCondition {
	all := []corev1.PodCondition{
		{Type: corev1.PodReadyToStartContainers, Status: ready},
		{Type: corev1.PodInitialized, Status: corev1.ConditionTrue},
		{Type: corev1.ContainersReady, Status: ready, Reason: reason},
		{Type: corev1.PodReady, Status: ready, Reason: reason},
	}
	for i := range all {
		all[i].LastTransitionTime = at
		all[i].ObservedGeneration = pod.Generation
	}
	return all
}

func container(c corev1.Container) corev1.ContainerStatus {
	return corev1.ContainerStatus{
		Name:        c.Name,
		Image:       c.Image,
		ImageID:     imageID,
		ContainerID: fmt.Sprintf("e2e://%s", c.Name),
	}
}

func runningContainer(at metav1.Time, c corev1.Container) corev1.ContainerStatus {
	status := container(c)
	status.Ready, status.Started = true, new(true)
	status.State.Running = &corev1.ContainerStateRunning{StartedAt: at}
	status.Resources = new(c.Resources) // without it the API server refuses to resize the pod
	status.AllocatedResources = c.Resources.Requests
	return status
}

func endedContainer(at metav1.Time, c corev1.ContainerStatus, code int32) corev1.ContainerStatus {
	if c.State.Terminated != nil {
		return c
	}
	started := at
	if c.State.Running != nil {
		started = c.State.Running.StartedAt
	}
	reason := "Completed"
	if code != 0 {
		reason = "Error"
	}
	c.Ready, c.Started = code == 0 && c.Started == nil, new(false)
	c.State = corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{
		ExitCode: code, Reason: reason, StartedAt: started, FinishedAt: at, ContainerID: c.ContainerID,
	}}
	return c
}
