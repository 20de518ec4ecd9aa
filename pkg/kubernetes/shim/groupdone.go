package shim

import (
	"maps"
	"slices"
	"time"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"
	v1 "k8s.io/api/core/v1"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/pods"
)

// A succeededPod is a pod of a gang that has succeeded and still exists: it counts for the minimum of its group, so that what
// replaces another one which failed starts. The core is told of it when there is a pod that it may count for.
type succeededPod struct {
	index string
	label string    // of its subgroup
	at    time.Time // zero is not known

	app  *application // in which the core counts it, as it was introduced for the time that follows
	with int
}

// hasSucceeded reports whether a pod has succeeded and stays. Kubelets say so of one that is stopped, too, whose containers end well: that is soon
// gone, and another one is to take its place.
func hasSucceeded(pod *v1.Pod) bool {
	return pod.Status.Phase == v1.PodSucceeded && pod.DeletionTimestamp == nil
}

// isTold reports whether the core counts a pod. It forgets those of an application that it forgets.
func (d *succeededPod) isTold() bool {
	return d.app != nil && d.app.told && d.app.introductions == d.with
}

// succeeded keeps a pod that has ended, if it counts on. The core knows of it already if it was told that it succeeded, in an
// application. The lock must be held.
func (c *podGroups) succeeded(pod *v1.Pod, in *application) {
	name := groupName(pod)
	group, known := c.of[name]
	if name == "" || c.done[name][pods.Key(pod)] != nil || !hasSucceeded(pod) || !c.options.Rules.IsOurs(pod) || known && group.MinCount == 0 {
		return
	}
	done := &succeededPod{index: pods.IndexOf(pod), label: pod.Labels[pods.LabelSubgroup], at: pods.SucceededAt(pod), app: in}
	if in != nil {
		done.with = in.introductions
	}
	if c.done[name] == nil {
		c.done[name] = map[string]*succeededPod{}
	}
	c.done[name][pods.Key(pod)] = done
}

// deleted has a pod count no more that has succeeded. The lock must be held.
func (c *podGroups) deleted(pod *v1.Pod) { c.dropDone(groupName(pod), pods.Key(pod)) }

func (c *podGroups) dropDone(name, key string) {
	done := c.done[name][key]
	if done == nil {
		return
	}
	if delete(c.done[name], key); len(c.done[name]) == 0 {
		delete(c.done, name)
	}
	if done.isTold() {
		c.sender.put(message{release: &si.AllocationRelease{
			ApplicationID: done.app.id, AllocationKey: key, TerminationType: si.TerminationType_STOPPED_BY_RM, Message: "it was deleted",
		}})
	}
}

// forgetDone has those pods count no more that had succeeded before a group was made, in place of another one of its name. The
// lock must be held.
func (c *podGroups) forgetDone(name string, group pods.PodGroup) {
	for _, key := range slices.Sorted(maps.Keys(c.done[name])) {
		if done := c.done[name][key]; group.MinCount == 0 || !done.at.IsZero() && done.at.Before(group.Created) {
			c.dropDone(name, key)
		}
	}
}

// tellDone tells the core of pods of a gang that have succeeded, before one that they may count for. The lock must be held.
func (c *podGroups) tellDone(t *task) {
	name := groupName(t.pod)
	for _, key := range slices.Sorted(maps.Keys(c.done[name])) {
		done := c.done[name][key]
		tags := c.tagsOf(name, done.index, done.label)
		if done.isTold() || tags == nil {
			continue
		}
		done.app, done.with = t.app, t.app.introductions
		tags[pods.TagQuorumDone] = "true"
		c.sender.put(message{allocation: &si.Allocation{
			ApplicationID: t.app.id, AllocationKey: key, AllocationTags: tags,
			ResourcePerAlloc: &si.Resource{Resources: map[string]*si.Quantity{string(v1.ResourcePods): {Value: 1}}},
		}})
	}
}
