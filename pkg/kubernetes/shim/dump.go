package shim

import (
	"encoding/json"
	"maps"
	"slices"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/pods"
)

// A dump is the state of a context for debugging.
type dump struct {
	ClusterID       string    `json:"clusterId"`
	Nodes           []string  `json:"nodes"`
	Pods            []dumpPod `json:"pods"`
	Applications    []dumpApp `json:"applications"`
	Budgets         []string  `json:"disruptionBudgets"`
	MessagesWaiting int       `json:"messagesWaiting"` // for the core
	BindingsWaiting int       `json:"bindingsWaiting"`
	EventsDropped   int64     `json:"eventsDropped"`
}

type dumpPod struct {
	Key         string `json:"allocationKey"`
	Namespace   string `json:"namespace"`
	Name        string `json:"name"`
	Application string `json:"applicationId,omitempty"`
	Node        string `json:"nodeId,omitempty"`
	Core        string `json:"core"` // what the core was told
	Binding     bool   `json:"binding,omitempty"`
	Evicted     bool   `json:"evicted,omitempty"`
	Waits       string `json:"waits,omitempty"`
}

type dumpApp struct {
	ID         string           `json:"applicationId"`
	Pods       int              `json:"pods"`
	Rejected   string           `json:"rejected,omitempty"`
	TaskGroups []pods.TaskGroup `json:"taskGroups,omitempty"` // of pod groups
}

// GetStateDump is what the shim knows, in JSON.
func (c callback) GetStateDump() (string, error) {
	c.mu.RLock()
	d := dump{
		ClusterID:       c.options.ClusterID,
		Nodes:           slices.Sorted(maps.Keys(c.nodes)),
		Budgets:         c.budgets.names(),
		MessagesWaiting: c.sender.length(),
		BindingsWaiting: c.binder.binding.Len() + c.binder.preparing.Len(),
		EventsDropped:   c.events.dropped.Load(),
	}
	for _, t := range c.sortedTasks() {
		p := dumpPod{
			Key: t.key(), Namespace: t.pod.Namespace, Name: t.pod.Name, Node: t.node,
			Core: t.told.String(), Binding: t.binding != nil, Evicted: t.eviction != nil, Waits: t.waits,
		}
		if t.app != nil {
			p.Application = t.app.id
		}
		d.Pods = append(d.Pods, p)
	}
	for _, id := range slices.Sorted(maps.Keys(c.apps)) {
		app := c.apps[id]
		d.Applications = append(d.Applications, dumpApp{
			ID: id, Pods: len(app.tasks), Rejected: app.rejected, TaskGroups: c.groups.taskGroups(app),
		})
	}
	c.mu.RUnlock()
	text, err := json.Marshal(d)
	return string(text), err
}
