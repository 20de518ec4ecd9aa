package shimtest

import (
	"context"
	"fmt"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/pods"
)

// newPod is a pod that a step describes.
func (w *historyWorld) newPod(s historyStep) *v1.Pod {
	app, node := s.c/9%3, nodeName(s.c/27)
	pod := NewPod(podName(s.a), fmt.Sprintf("cpu=%d", 1+s.c%3), Priority(int32(s.c/3%3*10)),
		Application(fmt.Sprint("app-", app)), Queue([]string{"root.a", "root.b", "root.a"}[app]))
	pod.Namespace = namespaceOf(s.a)
	w.mu.Lock()
	w.made++
	pod.UID = types.UID(fmt.Sprint("uid-", pod.Name, ".", w.made))
	w.mu.Unlock()
	pod.CreationTimestamp = metav1.NewTime(time.Now().Truncate(time.Second))
	if s.c%2 == 0 {
		pod.Spec.PriorityClassName = "class"
	}
	switch s.b {
	case 0, 1:
		On(node)(pod)
		Foreign(pod)
	case 2:
		Foreign(pod)
	case 3:
		On(node)(pod)
		Static(pod)
	case 4, 5:
		On(node)(pod)
	case 6:
		Gated(pod)
	case 7:
		Selects(node)(pod)
	case 8, 9:
		onlyOn(pod, node)
	case 10, 11:
		if !w.genuine {
			pod.Spec.Volumes = []v1.Volume{{Name: "data", VolumeSource: v1.VolumeSource{
				PersistentVolumeClaim: &v1.PersistentVolumeClaimVolumeSource{ClaimName: "data"},
			}}}
		}
	case 12:
		owner := fmt.Sprint("uid-", podName(s.a+1), ".", s.c%8)
		pod.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "Pod", Name: podName(s.a + 1), UID: types.UID(owner)}}
	}
	return pod
}

// onlyOn makes it a pod of a daemonset.
func onlyOn(pod *v1.Pod, node string) {
	controller := true
	pod.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "DaemonSet", Name: "agents", UID: types.UID("uid-agents-" + pod.Namespace), Controller: &controller}}
	pod.Spec.Affinity = &v1.Affinity{NodeAffinity: &v1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &v1.NodeSelector{
		NodeSelectorTerms: []v1.NodeSelectorTerm{{MatchFields: []v1.NodeSelectorRequirement{{
			Key: metav1.ObjectNameField, Operator: v1.NodeSelectorOpIn, Values: []string{node},
		}}}},
	}}}
}

func (w *historyWorld) addPod(s historyStep) {
	if w.pod(s.a) == nil {
		pod := w.newPod(s)
		w.note(pod)
		w.api.must(w.api.tracker.Create(podResource, pod, pod.Namespace))
	}
}

// deletePod deletes a pod as a user does.
func (w *historyWorld) deletePod(s historyStep) {
	pod := w.pod(s.a)
	switch {
	case pod == nil:
	case pod.Spec.NodeName == "":
		_ = w.api.tracker.Delete(podResource, pod.Namespace, pod.Name) // a fault may have been first
	case pod.DeletionTimestamp == nil:
		w.changePod(s.a, func(pod *v1.Pod) {
			at, grace := metav1.NewTime(time.Now().Add(30*time.Second)), int64(30)
			pod.DeletionTimestamp, pod.DeletionGracePeriodSeconds = &at, &grace
		})
	}
}

func (w *historyWorld) endPod(s historyStep) {
	if pod := w.pod(s.a); pod != nil {
		_ = w.api.tracker.Delete(podResource, pod.Namespace, pod.Name) // a fault may have been first
	}
}

func (w *historyWorld) finishPod(s historyStep) {
	w.changePod(s.a, func(pod *v1.Pod) { pod.Status.Phase = []v1.PodPhase{v1.PodSucceeded, v1.PodFailed}[s.b%2] })
}

func (w *historyWorld) resizePod(s historyStep) {
	w.changePod(s.a, func(pod *v1.Pod) { pod.Spec.Containers[0].Resources.Requests = cpuOf(1 + s.b%5) })
}

// putOffResize is what kubelets say of pods that are to be resized: that they have so much and wait for more, that they
// never get more, or that they have what they ask for.
func (w *historyWorld) putOffResize(s historyStep) {
	w.changePod(s.a, func(pod *v1.Pod) {
		if pod.Status.Phase != v1.PodRunning {
			return
		}
		has, reason := cpuOf(1+s.c%3), v1.PodReasonDeferred
		pod.Status.Conditions = slices.DeleteFunc(pod.Status.Conditions, func(c v1.PodCondition) bool { return c.Type == v1.PodResizePending })
		switch s.b % 4 {
		case 0:
			has, reason = pod.Spec.Containers[0].Resources.Requests, ""
		case 1:
			reason = v1.PodReasonInfeasible
		}
		if reason != "" {
			pod.Status.Conditions = append(pod.Status.Conditions, v1.PodCondition{Type: v1.PodResizePending, Status: v1.ConditionTrue, Reason: reason})
		}
		pod.Status.ContainerStatuses = []v1.ContainerStatus{{
			Name: pod.Spec.Containers[0].Name, AllocatedResources: has, Resources: &v1.ResourceRequirements{Requests: has},
		}}
	})
}

func (w *historyWorld) ungatePod(s historyStep) {
	for number := range 12 {
		w.changePod((number+s.a)%12, func(pod *v1.Pod) { pod.Spec.SchedulingGates = nil })
	}
}

func (w *historyWorld) labelPod(s historyStep) {
	w.changePod(s.a, func(pod *v1.Pod) {
		pod.Labels["note"] = fmt.Sprint(s.b)
		if s.b%4 == 0 {
			pod.Labels["applicationId"] = "app-2" // an application is stated once
		}
	})
}

// recreatePod deletes a pod and makes another one of its name, between two looks.
func (w *historyWorld) recreatePod(s historyStep) {
	if w.pod(s.a) == nil {
		return
	}
	pod := w.newPod(s)
	w.note(pod)
	w.api.changing.Lock()
	defer w.api.changing.Unlock()
	_ = w.api.tracker.Update(podResource, pod, pod.Namespace)
}

// bindPod is what another scheduler does.
func (w *historyWorld) bindPod(s historyStep) {
	if pod, node := w.pod(s.a), nodeName(s.b); pod != nil && pod.Spec.SchedulingGates == nil {
		_ = w.api.Bind(pod, "", node)
	}
}

// kubelet ends what is to end.
func (w *historyWorld) kubelet(historyStep) {
	for _, pod := range w.pods() {
		if pod.DeletionTimestamp != nil {
			_ = w.api.tracker.Delete(podResource, pod.Namespace, pod.Name) // a fault may have been first
		}
	}
}

// refuses is what filters say of a node, beside selectors.
func (w *historyWorld) refuses(pod *v1.Pod, name string) error {
	node := w.node(name)
	switch {
	case node == nil:
		return fmt.Errorf("node %s is gone", name)
	case node.Spec.Unschedulable && !isOfDaemonSet(pod):
		return fmt.Errorf("node %s is cordoned", name)
	case len(node.Spec.Taints) > 0:
		return fmt.Errorf("node %s has a taint", name)
	}
	return nil
}

func isOfDaemonSet(pod *v1.Pod) bool { return pod.Spec.Affinity != nil }

// checkPlacement is asked when the core has chosen a node.
func (w *historyWorld) checkPlacement(pod *v1.Pod, node string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if at, ok := w.touched[node]; ok && at == w.step {
		return nil // the choice may have come before the change
	}
	err := w.refuses(pod, node)
	switch {
	case err == nil:
	case pod.Annotations[pods.AnnotationTaskGroup] != "":
		return err // the node was chosen before its placeholder ended, and is asked about again here
	default:
		w.wrong = append(w.wrong, fmt.Sprintf("%s was placed on %s: %v", pod.Name, node, err))
	}
	return nil
}

// noteTold notes of which pods was said why they wait.
func (w *historyWorld) noteTold() {
	list, err := w.api.CoreV1().Pods(metav1.NamespaceAll).List(context.Background(), metav1.ListOptions{})
	w.api.must(err)
	said := map[string]bool{}
	for _, line := range w.m.Events() {
		var name, reason string
		_, _ = fmt.Sscan(line, &name, &reason)
		if reason == "FailedScheduling:" || reason == "FailedBinding:" {
			said[name] = true
		}
	}
	for i := range list.Items {
		if pod := &list.Items[i]; said[pod.Name] {
			w.told[string(pod.UID)] = true
		}
		for _, c := range list.Items[i].Status.Conditions {
			if c.Type == v1.PodScheduled && c.Status == v1.ConditionFalse {
				w.told[string(list.Items[i].UID)] = true
			}
		}
	}
}
