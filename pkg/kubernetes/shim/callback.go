package shim

import (
	"maps"
	"slices"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/api"
	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"
	"go.uber.org/zap"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/pods"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
	"github.com/narwhal-scheduler/narwhal/pkg/scheduler"
)

// A callback is what the core calls: what it decided, and its questions. It is a type of its
// own so that informers and the core each see their half of a Context.
type callback struct{ *Context }

// It is no scheduler.VictimSelector. The core chooses victims itself, by violated budgets
// first, and asks only whether a pod may run without them; a choice made here would know of
// one node and one pod at a time, and nothing of guarantees and of asks that are alike.
var (
	_ api.ResourceManagerCallback   = callback{}
	_ api.StateDumpPlugin           = callback{}
	_ scheduler.PredicateClassifier = callback{}
	_ scheduler.PredicateTies       = callback{}
	_ scheduler.NodesPredicates     = callback{}
	_ scheduler.NominationCallback  = callback{}
	_ scheduler.WaitCallback        = callback{}
	_ scheduler.GroupCallback       = callback{}
	_ scheduler.PredicateSimulator  = callback{}
	_ scheduler.ForeignPodEnder     = callback{}
	_ scheduler.LeastUser           = callback{}
	_ scheduler.DisruptionBudgeter  = callback{}
)

// UpdateAllocation takes what was placed, released and rejected. A pod that was placed is
// assumed before this returns, since the core asks about the next pod then.
func (c callback) UpdateAllocation(response *si.AllocationResponse) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, a := range response.GetNew() {
		c.placed(a)
	}
	for _, r := range response.GetRejectedAllocations() {
		c.rejected(r)
	}
	for _, r := range response.GetReleased() {
		c.released(r)
	}
	return nil
}

// placed takes a placement, or the echo of what was told. The lock must be held.
func (c callback) placed(a *si.Allocation) {
	if t := c.growing(a.AllocationKey); t != nil {
		c.grown(t)
		return
	}
	t := c.tasks[a.AllocationKey]
	switch {
	case t == nil || t.told == untold || t.foreign():
		// It has ended, or was withdrawn: the release is on its way.
	case t.node == a.NodeID:
		t.told = placed
	case t.node != "":
		// It was bound elsewhere before the core decided. What the core has is taken back.
		t.told = placed
		if t.sent != nil {
			t.sent.NodeID = a.NodeID
		}
		c.sync(t)
	case c.nodes[a.NodeID] == nil || c.stopping:
		// The node is gone, which the core is told of; it will release what was there.
	default:
		c.binder.assume(t, a.NodeID)
	}
}

// rejected takes in that the core refuses a message about a pod. The lock must be held.
func (c callback) rejected(r *si.RejectedAllocation) {
	if t := c.growing(r.AllocationKey); t != nil {
		c.growthEnds(t, true)
		return
	}
	t := c.tasks[r.AllocationKey]
	if t == nil || t.told == untold {
		return
	}
	t.unknown()
	t.rejections++
	t.waits = r.Reason
	if t.rejections > rejectionsMax {
		c.status.waits(t.key(), waitsRefused, r.Reason)
		c.log.Warn("pod rejected", refer(t.pod), zap.String("allocation", r.AllocationKey), zap.String("reason", r.Reason))
		c.events.warn(t.pod, reasonFailedScheduling, r.Reason)
		return
	}
	c.sync(t)
}

// released takes in that something is to end, or that it is off the books of the core. The
// lock must be held.
func (c callback) released(r *si.AllocationRelease) {
	if t := c.growing(r.AllocationKey); t != nil {
		c.growthEnds(t, r.TerminationType != si.TerminationType_STOPPED_BY_RM)
		return
	}
	t := c.tasks[r.AllocationKey]
	if t == nil || t.told == untold {
		return
	}
	if r.TerminationType != si.TerminationType_STOPPED_BY_RM {
		c.evict(t, r)
		return
	}
	// Nothing was released here, so its node is gone or its partition. It is told again as it
	// is then.
	t.unknown()
	if t.binding != nil {
		t.binding.revoke()
		return
	}
	c.sync(t)
}

// evict begins to end a pod because the core wants it. One that is being bound is not ended
// yet: perhaps it need not run. An ask of a gang that has failed is marked, and not deleted. The core may hold room for
// a placeholder that could not be bound just now; it is told at once that there is none, since the deletion may take long.
// The lock must be held.
func (c callback) evict(t *task, r *si.AllocationRelease) {
	if t.told == asked && !t.foreign() && !pods.IsPlaceholder(t.pod) {
		t.unknown()
		c.sync(t)
		c.gangs.queue.Add(t.app.id)
		return
	}
	t.eviction = &eviction{termination: r.TerminationType, message: r.Message}
	c.leaving[t.key()] = t
	c.syncGrowth(t)
	switch {
	case t.binding != nil:
		t.binding.revoke()
		return
	case t.told == asked && !t.foreign(): // a placeholder that could not be bound has no room to give back
		c.release(t, r.TerminationType, r.Message)
		c.sync(t)
	}
	c.evictor.add(t.key())
}

// UpdateApplication takes what became of applications.
func (c callback) UpdateApplication(response *si.ApplicationResponse) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, a := range response.GetRejected() {
		c.rejectApplication(a.ApplicationID, a.Reason)
	}
	for _, a := range response.GetAccepted() {
		c.acceptApplication(a.ApplicationID)
	}
	for _, a := range response.GetUpdated() {
		switch a.State {
		case stateCompleted:
			c.completeApplication(a.ApplicationID)
		case stateFailed:
			c.failApplication(a.ApplicationID)
		default:
			c.gangs.follow(a.ApplicationID, a.State, a.Message)
		}
	}
	return nil
}

// UpdateNode takes answers about nodes. Those that are accepted need nothing.
func (c callback) UpdateNode(response *si.NodeResponse) error {
	for _, n := range response.GetRejected() {
		c.log.Error("node rejected", zap.String("node", n.NodeID), zap.String("reason", n.Reason))
	}
	return nil
}

// SendEvent takes what happened to pods, for people.
func (c callback) SendEvent(records []*si.EventRecord) {
	for _, r := range records {
		if r.Type != si.EventRecord_REQUEST {
			continue
		}
		pod, err := c.podOf(r.ObjectID)
		if err != nil {
			continue // it has ended
		}
		switch {
		case r.EventChangeDetail == si.EventRecord_ALLOC_PREEMPT:
			c.events.warn(pod, reasonPreempted, r.Message)
		case r.EventChangeDetail == si.EventRecord_NODE_RESERVATION && r.EventChangeType == si.EventRecord_ADD:
			c.events.tell(pod, reasonNominated, "room is made on node "+r.ReferenceID)
		case r.EventChangeDetail == si.EventRecord_NODE_RESERVATION || r.Message == "":
		default:
			c.events.warn(pod, reasonFailedScheduling, r.Message)
		}
	}
}

// UpdateContainerSchedulingState takes that only another node can help a pod, which
// autoscalers read in its status.
func (c callback) UpdateContainerSchedulingState(request *si.UpdateContainerSchedulingStateRequest) {
	if pods.GrowingPod(request.AllocationKey) != "" || request.GetState() != si.UpdateContainerSchedulingStateRequest_FAILED {
		return
	}
	c.status.waits(request.AllocationKey, scheduler.WaitsForNodes, request.Reason)
	c.groups.statuses.podWaits(request.AllocationKey, request.Reason)
	if pod, err := c.podOf(request.AllocationKey); err == nil {
		c.events.warn(pod, reasonFailedScheduling, request.Reason)
	}
}

// AskWaits takes why a pod waits.
func (c callback) AskWaits(args *scheduler.AskWaitsArgs) {
	if pods.GrowingPod(args.AllocationKey) == "" { // else the kubelet says it in the status of the pod
		c.status.waits(args.AllocationKey, args.Reason, args.Message)
		c.groups.statuses.podWaits(args.AllocationKey, args.Message)
	}
}

// Nominate publishes the node on which room is made for a pod. Autoscalers add none for it
// then.
func (c callback) Nominate(allocationKey, nodeID string) {
	c.status.nominate(allocationKey, nodeID)
	c.status.waits(allocationKey, scheduler.WaitsForVictims, "room is made on node "+nodeID)
}

// ClearNomination takes that back.
func (c callback) ClearNomination(allocationKey string) { c.status.nominate(allocationKey, "") }

// EndsForeignPods reports whether pods of other schedulers are deleted when they are
// released.
func (c callback) EndsForeignPods() bool { return !c.options.KeepForeign }

// What a container counts with in the order of nodes that asks for no processor, or no memory, as kube-scheduler
// counts it.
const (
	leastMilliCPU = 100
	leastMemory   = 200 << 20
)

// LeastUse has pods without requests count in the order of nodes.
func (c callback) LeastUse() map[string]int64 {
	return map[string]int64{resources.VCore: leastMilliCPU, resources.Memory: leastMemory}
}

// sortedTasks is all tasks by age. The lock must be held.
func (c *Context) sortedTasks() []*task {
	return slices.SortedFunc(maps.Values(c.tasks), compareTasks)
}
