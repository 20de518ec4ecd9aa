package shimtest

import (
	"context"
	"fmt"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/pods"
)

func groupName(number int) string { return fmt.Sprint("group-", number%2) }

// podGroup makes a pod group, changes it into another one of its name, or takes it away.
func (w *historyWorld) podGroup(s historyStep) {
	groups := w.api.Dynamic.Tracker()
	minCount := 1 + s.c%4
	switch s.b % 6 {
	case 0:
		_ = groups.Delete(PodGroupResource, metav1.NamespaceDefault, groupName(s.a)) // there may be none
		return
	case 1:
		minCount = 0
	}
	group := NewPodGroup(groupName(s.a), minCount)
	if groups.Update(PodGroupResource, group, metav1.NamespaceDefault) != nil {
		w.api.must(groups.Create(PodGroupResource, group, metav1.NamespaceDefault))
	}
}

// addMember is addPod for a pod of a pod group, of a task group, or of both. The placeholders
// of its application, which may have other pods too, take less than a minute to time out.
func (w *historyWorld) addMember(s historyStep) {
	if w.pod(s.a) != nil {
		return
	}
	pod := w.newPod(s)
	if s.c%3 != 0 {
		name := groupName(s.c)
		pod.Spec.SchedulingGroup = &v1.PodSchedulingGroup{PodGroupName: &name}
	}
	if s.c%3 != 1 {
		pod.Annotations = map[string]string{
			pods.AnnotationTaskGroups: fmt.Sprintf(`[{"name": "one", "minMember": %d, "minResource": {"cpu": "%d"}}, {"name": %q, "minMember": 1}]`,
				1+s.c/3%9, 1+s.c/9%2, groupName(s.c)),
			pods.AnnotationTaskGroup: []string{"one", groupName(s.c), "unknown"}[s.b%3],
			pods.AnnotationPolicy:    fmt.Sprintf("placeholderTimeoutInSeconds=%d gangSchedulingStyle=%s", 1+s.c%50, []string{"Soft", "Hard"}[s.c/18%2]),
		}
	}
	w.note(pod)
	if app := pod.Labels["applicationId"]; pod.Annotations != nil && pod.Spec.SchedulerName == SchedulerName {
		w.mu.Lock()
		w.gangs[app] = true
		w.mu.Unlock()
	}
	w.api.must(w.api.tracker.Create(podResource, pod, pod.Namespace))
}

// placeholder has one of the placeholders end, be deleted by a user, or fail.
func (w *historyWorld) placeholder(s historyStep) {
	list := slices.DeleteFunc(w.pods(), func(pod v1.Pod) bool { return !pods.IsPlaceholder(&pod) })
	if len(list) == 0 {
		return
	}
	slices.SortFunc(list, func(a, b v1.Pod) int { return strings.Compare(a.Name, b.Name) })
	pod := list[s.a%len(list)].DeepCopy()
	switch s.b % 3 {
	case 0:
		_ = w.api.tracker.Delete(podResource, pod.Namespace, pod.Name)
	case 1:
		_ = w.api.CoreV1().Pods(pod.Namespace).Delete(context.Background(), pod.Name, metav1.DeleteOptions{})
	case 2:
		pod.Status.Phase = v1.PodFailed
		_ = w.api.tracker.Update(podResource, pod, pod.Namespace)
	}
}

// checkPlaceholders says whether a placeholder still holds room long after all have timed out.
func (w *historyWorld) checkPlaceholders() {
	for _, pod := range w.pods() {
		if pods.IsPlaceholder(&pod) && pods.IsBound(&pod) && !pods.IsTerminal(&pod) && w.node(pod.Spec.NodeName) != nil {
			w.tb.Fatalf("quiet: placeholder %s of %s holds room on %s", pod.Name, pod.Labels["applicationId"], pod.Spec.NodeName)
		}
	}
}

// startsAlone reports whether a pod waits for nothing but room.
func startsAlone(pod *v1.Pod) bool {
	return pod.Spec.SchedulingGroup == nil && pod.Annotations[pods.AnnotationTaskGroup] == ""
}
