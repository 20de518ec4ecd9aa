package outoftree

import (
	v1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
)

// A handle is what a plugin sees of the scheduler. It is that of the framework, but for the nodes: the framework shows the plugins
// of kube-scheduler only what matters for them, and only while it runs them.
//
// There are no extenders, no pod groups and no dispatcher of API calls, which plugins may find missing in kube-scheduler too.
type handle struct {
	fwk.Handle
	set *Set
}

// SnapshotSharedLister is all nodes with all pods that have one, or for which one was chosen, as they were when a pod was asked about last.
func (h *handle) SnapshotSharedLister() fwk.SharedLister { return h.set.lister }

// noNominations knows no nominated pods: the core keeps room for them, and no node is offered to others without it.
type noNominations struct{}

// AddNominatedPod does nothing.
func (noNominations) AddNominatedPod(klog.Logger, fwk.PodInfo, *fwk.NominatingInfo) {}

// DeleteNominatedPodIfExists does nothing.
func (noNominations) DeleteNominatedPodIfExists(*v1.Pod) {}

// UpdateNominatedPod does nothing.
func (noNominations) UpdateNominatedPod(klog.Logger, *v1.Pod, fwk.PodInfo) {}

// NominatedPodsForNode is none.
func (noNominations) NominatedPodsForNode(string) []fwk.PodInfo { return nil }
