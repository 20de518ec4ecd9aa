package shim

import (
	"time"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"
	"go.uber.org/zap"
	v1 "k8s.io/api/core/v1"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/pods"
	"github.com/narwhal-scheduler/narwhal/pkg/scheduler"
)

// AddPod takes a pod, ours or of another scheduler. One that has its node is registered as
// running, whether it was made just now or before a restart.
func (c *Context) AddPod(pod *v1.Pod) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.takePod(pod)
}

// UpdatePod takes the new state of a pod; it may be the first message about it. Ours and
// those of other schedulers take the same way.
func (c *Context) UpdatePod(old, pod *v1.Pod) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if old != nil && old.UID != pod.UID { // deleted and made again between two looks
		c.dropPod(old)
		c.groups.deleted(old)
	}
	c.takePod(pod)
}

// DeletePod takes the end of a pod. The core is told, whether its node is known or not.
func (c *Context) DeletePod(pod *v1.Pod) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.dropPod(pod)
	c.groups.deleted(pod)
}

func (c *Context) dropPod(pod *v1.Pod) {
	t := c.tasks[pods.Key(pod)]
	if t == nil {
		c.groups.succeeded(pod, nil)
		c.ended.add(pods.Key(pod))
		return
	}
	t.succeeded = hasSucceeded(pod)
	var counts *application
	if t.sent != nil && t.eviction == nil && t.sent.AllocationTags[pods.TagQuorum] != "" {
		counts = t.app
	}
	c.end(t)
	c.groups.succeeded(pod, counts)
}

// takePod takes a state of a pod. States that are older than the known one, or that come
// after the end, change nothing: messages may be repeated and out of order. The lock
// must be held.
func (c *Context) takePod(pod *v1.Pod) {
	key := pods.Key(pod)
	t := c.tasks[key]
	switch {
	case c.ended.has(key):
		return
	case pods.IsTerminal(pod):
		c.dropPod(pod)
		return
	case t == nil && !c.options.Rules.IsOurs(pod) && !pods.IsBound(pod):
		return // the business of another scheduler until it has its node
	case t == nil:
		t = c.newTask(pod)
	case older(pod, t.pod):
		return
	}
	before := t.state
	if before.pod != pod {
		t.state = stateOf(pod)
	}
	if pods.IsGated(before.pod) && !pods.IsGated(pod) {
		t.since = time.Now()
	}
	if pods.IsPlaceholder(pod) {
		delete(c.gangs.making, nameOf(pod))
	}
	if respecified(before.pod, pod) {
		t.rejections = 0
		if t.told == asked {
			t.sent = nil // what it requires of nodes may have changed, which no field tells
		}
	}
	if pod.DeletionTimestamp != nil {
		c.leaving[key] = t
	}
	if pods.IsBound(pod) {
		c.relabelled(before.pod, pod)
		c.settle(t, before)
	} else {
		c.status.ungated(pod)
	}
	c.sync(t)
}

// newTask begins with a pod. The lock must be held.
func (c *Context) newTask(pod *v1.Pod) *task {
	t := &task{state: stateOf(pod), owners: pods.OwnerPods(pod), since: time.Now()}
	if made := pod.CreationTimestamp; t.since.Sub(made.Time) > 2*time.Second && !made.IsZero() {
		t.since = made.Time // it was there before the process; otherwise whole seconds say less
	}
	c.countOwned(t, 1)
	key := t.key()
	t.owner = c.owned[key] > 0
	c.tasks[key] = t
	if !c.options.Rules.IsOurs(pod) {
		return t
	}
	said, err := c.options.Rules.ApplicationOf(pod, c.refers.namespaces[pod.Namespace])
	if err != nil {
		c.log.Warn("pod is not fully understood", refer(pod), zap.Error(err))
		c.events.warn(pod, reasonUnreadable, err.Error())
	}
	app := c.applicationOf(pod, said)
	t.app = app
	app.tasks[key] = t
	c.reserved.add(t)
	c.groups.came(t)
	c.gangs.came(t)
	return t
}

// countOwned counts a task for the pods that own it, which the core prefers to keep. The lock
// must be held.
func (c *Context) countOwned(t *task, more int) {
	for _, owner := range t.owners {
		before := c.owned[owner] > 0
		if c.owned[owner] += more; c.owned[owner] == 0 {
			delete(c.owned, owner)
		}
		if is := c.owned[owner] > 0; is != before && c.tasks[owner] != nil {
			c.tasks[owner].owner = is
			c.sync(c.tasks[owner])
		}
	}
}

// settle takes in that the API server says where a pod runs. The lock must be held.
func (c *Context) settle(t *task, before state) {
	node := t.pod.Spec.NodeName
	if t.assumed != nil && t.node != node {
		c.log.Warn("pod was bound to another node than was decided", refer(t.pod), zap.String("node", node), zap.String("decided", t.node))
		c.feasible.RemovePod(t.assumed.pod)
	}
	c.runs(t.key())
	c.place(t, node)
	counted := before
	if t.assumed != nil {
		counted = *t.assumed
	}
	// What is remembered of a node ends with each change of its pods, so those that change
	// nothing there are left out.
	if before.pod == t.pod || !counted.countsAs(t.state) {
		c.feasible.SetPod(t.pod)
	}
	t.assumed = nil
	if t.binding != nil {
		t.binding.seen()
	}
}

// place notes the node of a task; an empty one is none. The lock must be held.
func (c *Context) place(t *task, node string) {
	if t.node == node {
		return
	}
	if here := c.onNode[t.node]; here != nil {
		delete(here, t.key())
		if len(here) == 0 {
			delete(c.onNode, t.node)
		}
	}
	t.node = node
	if node == "" || t.foreign() {
		return
	}
	if c.onNode[node] == nil {
		c.onNode[node] = map[string]*task{}
	}
	c.onNode[node][t.key()] = t
	c.groups.statuses.podRuns(t)
}

// end forgets a task and tells the core that it is gone, in the way in which the core asked
// for it, if it did. The lock must be held.
func (c *Context) end(t *task) {
	key := t.key()
	if t.binding != nil {
		t.binding.cancel()
	}
	if t.node != "" {
		c.feasible.RemovePod(t.running())
	}
	c.forgetDecided(key)
	c.place(t, "")
	c.withdraw(t)
	if t.told != untold && c.started {
		termination, text := si.TerminationType_STOPPED_BY_RM, ""
		switch {
		case t.eviction != nil:
			termination, text = t.eviction.termination, t.eviction.message
		case t.succeeded:
			text = pods.Succeeded
		}
		c.handBacks.release(t, termination, text)
	}
	c.ties.end(t.pod)
	delete(c.tasks, key)
	delete(c.leaving, key)
	c.ended.add(key)
	c.countOwned(t, -1)
	c.status.forget(key)
	if t.foreign() {
		return
	}
	c.reserved.drop(t)
	c.groups.left(t)
	c.gangs.ended(t)
	delete(t.app.tasks, key)
	if len(t.app.tasks) == 0 && !t.app.told {
		c.forget(t.app)
	}
}

// sync sends the difference between a task and what the core knows of it. The lock must be
// held.
func (c *Context) sync(t *task) {
	if !c.started || t.binding != nil && t.binding.revoked.Load() {
		return // what comes of the binding decides what the core is told
	}
	m, reason := c.wanted(t)
	if word := c.wordFor(t, reason); m == nil && t.waits != reason && word != "" {
		c.status.waits(t.key(), word, reason)
	}
	if m == nil && t.waits != reason && !t.foreign() && c.isForPeople(t, reason) {
		c.events.warn(t.pod, reasonFailedScheduling, reason)
	}
	t.waits = reason
	switch {
	case m == nil && t.told != untold:
		c.release(t, si.TerminationType_STOPPED_BY_RM, reason)
	case m != nil && (t.told == untold || differs(t.sent, m)):
		c.tell(t, m)
	}
	c.syncGrowth(t)
}

// isForPeople reports whether there is an event about why a pod is not told to the core. The lock
// must be held.
func (c *Context) isForPeople(t *task, reason string) bool {
	return reason == t.app.rejected || reason == waitsForGang || reason == notMadeHere ||
		t.node == "" && (c.groups.waits(t.pod) != "" || c.refers.missing(t.pod) != "")
}

// wordFor is the reason of the condition of a pod that is not told to the core; nothing where the API server
// has one of its own, or where it will be told at once. The lock must be held.
func (c *Context) wordFor(t *task, reason string) scheduler.WaitReason {
	switch {
	case reason == "" || t.foreign() || t.node != "" || pods.IsGated(t.pod) || t.pod.DeletionTimestamp != nil:
		return ""
	case reason == waitsForGang:
		return scheduler.WaitsForGroup
	case reason == t.app.rejected || reason == notMadeHere:
		return waitsRefused
	default:
		return waitsForReference
	}
}

// wanted is what the core should know of a task; nil with the reason is nothing. The lock
// must be held.
func (c *Context) wanted(t *task) (m *si.Allocation, reason string) {
	if t.rejections > rejectionsMax {
		return nil, t.waits
	}
	if t.foreign() {
		m := pods.CreateAllocationForForeignPod(t.pod, t.takes)
		c.markOwner(t, m)
		return m, ""
	}
	switch {
	case t.node == "" && t.told == untold && c.refers.namespaces[t.pod.Namespace] == nil:
		return nil, "its namespace is not known yet"
	case t.node != "" && c.nodes[t.node] == nil:
		return nil, "its node is not known"
	case t.node == "" && pods.IsGated(t.pod):
		return nil, "scheduling gates are set"
	case t.node == "" && c.groups.waits(t.pod) != "":
		return nil, c.groups.waits(t.pod)
	case t.node == "" && c.refers.missing(t.pod) != "":
		return nil, "its daemonset " + c.refers.missing(t.pod) + " does not exist"
	case t.node == "" && t.pod.DeletionTimestamp != nil:
		return nil, "it is being deleted"
	case (t.node == "" || t.app.forced) && t.app.rejected != "":
		return nil, t.app.rejected
	}
	if reason = c.gangs.holds(t); reason != "" {
		return nil, reason
	}
	m = pods.Ask(t.pod, t.takes, t.app.id, c.refers.classes[t.pod.Spec.PriorityClassName])
	m.NodeID = t.node
	if booked, _ := t.growth(); booked != nil {
		m.ResourcePerAlloc = booked
	}
	if c.refers.missing(t.pod) != "" {
		delete(m.AllocationTags, pods.TagRequired)
	}
	c.markOwner(t, m)
	c.reserved.mark(t, m)
	c.groups.mark(t, m)
	return m, ""
}

func (c *Context) markOwner(t *task, m *si.Allocation) {
	if t.owner {
		m.AllocationTags[pods.TagOwner] = "true"
	}
}

// tell sends a message about a task, and its application first. The core cannot move what it
// has placed, so that is taken back before. The lock must be held.
func (c *Context) tell(t *task, m *si.Allocation) {
	if !t.foreign() {
		c.introduce(t.app, m.NodeID != "")
		if t.waits = c.gangs.holds(t); t.waits != "" {
			c.status.waits(t.key(), scheduler.WaitsForGroup, t.waits)
			c.events.warn(t.pod, reasonFailedScheduling, t.waits)
			return // it is told when the placeholders are placed
		}
		c.groups.mark(t, m) // how its application begins is known now
		c.groups.tellDone(t)
		c.reserved.offer(t, m)
		if t.told == placed && t.sent != nil && t.sent.NodeID != m.NodeID {
			c.release(t, schedulingFailed, "it runs on node "+m.NodeID)
		}
	}
	t.sent, t.told = m, asked
	if m.NodeID != "" {
		t.told = placed
	}
	c.sender.put(message{allocation: m})
}

// release tells the core that a task is gone, or with SchedulingFailed that it waits again.
// The lock must be held.
func (c *Context) release(t *task, why si.TerminationType, text string) {
	c.withdraw(t)
	c.sender.put(releaseOf(t, why, text))
	t.unknown()
}

func releaseOf(t *task, why si.TerminationType, text string) message {
	id := ""
	if !t.foreign() {
		id = t.app.id
	}
	return message{release: &si.AllocationRelease{
		ApplicationID: id, AllocationKey: t.key(), TerminationType: why, Message: text,
	}}
}
