package eviction

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	v1 "k8s.io/api/core/v1"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/framework"
)

// A placement is what the landing answered for a pod that has no place.
type placement struct {
	at    int      // evictions of this run before the question
	nodes []string // where it could run, and which would not do
	err   error    // why it can run nowhere, if there are none
}

// place asks the landing for a place with which accept agrees. Pods of one workload on one node that
// are alike would go to the same places, so as long as nothing is evicted the landing is asked once
// for those that find none: a workload with a thousand pods that cannot move would cost a thousand
// questions.
func (r *Run) place(pod *v1.Pod, accept func(node string) error) (framework.Place, error) {
	key, alike := templateOf(pod)
	if known, there := r.places[key]; alike && there && known.at == r.evicted {
		if err := known.ask(pod, accept); err != nil {
			return framework.Place{}, err
		}
	}
	placer, is := r.handle.Evictor().(framework.Placer)
	to, err := r.handle.Landing().Place(pod, framework.Choice{
		Accept: func(node string) error {
			err := accept(node)
			if err == nil && is {
				err = placer.Refuses(pod, node)
			}
			return err
		},
		Alike:    r.Alike,
		Reserved: is && placer.Reserves(pod),
	})
	if err == nil {
		return to, nil
	}
	var nodes []string
	if unsuited, is := errors.AsType[*framework.UnsuitedError](err); is {
		nodes = unsuited.Nodes
	} else {
		err = fmt.Errorf("its replacement would run nowhere: %w", err)
	}
	if alike {
		r.places[key] = placement{at: r.evicted, nodes: nodes, err: err}
	}
	return framework.Place{}, err
}

// ask returns why none of the nodes will do for another pod, or nil where one will.
func (p *placement) ask(pod *v1.Pod, accept func(node string) error) error {
	refused := framework.Refusals{}
	for _, node := range p.nodes {
		if refused[node] = accept(node); refused[node] == nil {
			return nil
		}
	}
	unsuited, is := errors.AsType[*framework.UnsuitedError](p.err)
	switch {
	case !is || len(refused) == 0:
		return p.err
	case unsuited.Node != "":
		return framework.UnsuitedOn(pod, framework.Place{Node: unsuited.Node, Open: unsuited.Open}, refused[unsuited.Node])
	}
	return refused.Unsuited()
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
