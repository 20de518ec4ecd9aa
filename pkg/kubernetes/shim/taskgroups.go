package shim

import (
	"maps"

	v1 "k8s.io/api/core/v1"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/pods"
)

// Where its namespace says that no placeholders are made, the task groups of an application start together, each with its minimum: they are
// subgroups of one group, as the pod groups in a composite one are. Nothing is held until all of them fit, and pods run themselves then.

// startTogether notes the task groups of an application without placeholders, in place of those that it had. The lock must be held.
func (c *podGroups) startTogether(app *application, said pods.Application) {
	for _, name := range app.together {
		delete(c.together, name)
	}
	app.together = nil
	if !said.NoPlaceholders || c.options.Config.NoGangs {
		return
	}
	for _, group := range said.TaskGroups {
		name := taskGroupName(app.of, group.Name)
		c.together[name] = said.TagsOf(group)
		app.together = append(app.together, name)
	}
}

// taskGroupName names a task group of an application; no pod group is named so.
func taskGroupName(app appKey, group string) string {
	return pods.ApplicationGroup(app.namespace, app.id) + "/" + group
}

// groupName names what a pod starts with: its pod group, or else the task group of its application; empty for none.
func groupName(pod *v1.Pod) string {
	if name := podGroupName(pod); name != "" || pods.GroupName(pod) == "" || pods.SaysPlaceholder(pod) {
		return name
	}
	return taskGroupName(appKey{pod.Namespace, pods.ApplicationID(pod)}, pods.GroupName(pod))
}

// tagsOf is what a pod says of what it starts with, by its name, with its completion index and the label of its subgroup; nil if it is
// scheduled by itself. The lock must be held.
func (c *podGroups) tagsOf(name, index, label string) map[string]string {
	tags := maps.Clone(c.together[name])
	if tags == nil {
		group := c.of[name]
		if shares := c.shared[name]; shares == v1.LabelHostname || group.Require == "" {
			group.Require = shares // pods that share devices run where these are reached
		}
		tags = c.composites.Tags(group, index, label)
	}
	if tags != nil && index != "" {
		tags[pods.TagQuorumIndex] = index
	}
	return tags
}
