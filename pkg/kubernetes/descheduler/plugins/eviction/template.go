package eviction

import (
	"encoding/json"
	"maps"
	"slices"

	v1 "k8s.io/api/core/v1"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/framework"
)

// A placement is what the landing answered for a pod.
type placement struct {
	at   int // evictions of this run before the question
	node string
	err  error
}

// place asks the landing. Pods of one workload on one node that are alike would go to
// the same place, so it is asked once for them until something is evicted: a workload
// with a thousand pods that cannot move would cost a thousand questions.
func (r *Run) place(pod *v1.Pod) (string, error) {
	key, ok := templateOf(pod)
	if known, there := r.places[key]; ok && there && known.at == r.evicted {
		return known.node, known.err
	}
	node, err := r.handle.Landing().Place(pod)
	if ok {
		r.places[key] = placement{at: r.evicted, node: node, err: err}
	}
	return node, err
}

// namingLabels number the pods of a workload. Selectors do not name them.
var namingLabels = []string{
	"statefulset.kubernetes.io/pod-name", "apps.kubernetes.io/pod-index", "batch.kubernetes.io/job-completion-index",
}

// templateOf is equal for pods that the scheduler treats alike. Pods with claims are
// like no other.
func templateOf(pod *v1.Pod) (string, bool) {
	claims := func(v v1.Volume) bool {
		return v.PersistentVolumeClaim != nil || v.Ephemeral != nil || v.CSI != nil
	}
	workload, owned := framework.WorkloadOf(pod)
	if !owned || len(pod.Spec.ResourceClaims) > 0 || slices.ContainsFunc(pod.Spec.Volumes, claims) {
		return "", false
	}
	spec := pod.Spec // a copy, from which names of one pod are taken out
	spec.Hostname, spec.Volumes = "", nil
	spec.Containers, spec.InitContainers = plain(spec.Containers), plain(spec.InitContainers)
	labels := maps.Clone(pod.Labels)
	for _, label := range namingLabels {
		delete(labels, label)
	}
	text, err := json.Marshal([]any{workload, labels, pod.Annotations, spec})
	return string(text), err == nil
}

// plain are containers without what does not matter to a scheduler, and has names of
// volumes and of the pod in it.
func plain(containers []v1.Container) []v1.Container {
	copies := slices.Clone(containers)
	for i := range copies {
		copies[i].Env, copies[i].VolumeMounts = nil, nil
	}
	return copies
}
