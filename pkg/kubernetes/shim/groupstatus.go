package shim

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"go.uber.org/zap"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/pods"
	"github.com/narwhal-scheduler/narwhal/pkg/scheduler"
)

// Reasons of the condition of pod groups.
const (
	groupScheduled     = "Scheduled"
	groupUnschedulable = "Unschedulable"
	groupNotUnderstood = "SchedulerError"
)

// groupPause is how long it takes at least until another message is written of a group that waits on.
const groupPause = 10 * time.Second

// groupStatuses write the condition of pod groups that says whether they have started, as kube-scheduler does: True once the
// minimum is on its way to be bound, False with the reason before, never back from True. Only the last state of a group counts.
// They are guarded by the lock of the context.
type groupStatuses struct {
	*Context
	groups *podGroups
	queue  statusQueue // of namespaces and names
	wanted map[string]groupState
	odd    map[string]pods.PodGroup // that are not understood
	wrote  map[string]time.Time     // the last message of a group that waits
}

// A groupState is what the condition of a group is to say.
type groupState struct {
	started bool
	reason  string
	message string
}

func newGroupStatuses(g *podGroups) *groupStatuses {
	return &groupStatuses{
		Context: g.Context, groups: g, queue: newStatusQueue(g.ctx, g.options, func(string) bool { return false }),
		wanted: map[string]groupState{}, odd: map[string]pods.PodGroup{}, wrote: map[string]time.Time{},
	}
}

func (s *groupStatuses) start() { s.run(func() { work(s.Context, s.queue, s.write) }) }

// came takes the state of a group. The lock must be held.
func (s *groupStatuses) came(name string, group pods.PodGroup) {
	delete(s.odd, name)
	if s.wanted[name].reason == groupNotUnderstood {
		delete(s.wanted, name)
	}
	if group.MinCount == 0 && group.Condition.Status != metav1.ConditionTrue {
		for _, t := range s.groups.members[name] {
			s.podRuns(t)
		}
	}
	if s.isDue(name) {
		s.queue.Add(name)
	}
}

// left forgets a group, and forgetAll all of them. Of one that is made again the core says anew what it does, but for parts of a composite one,
// which may do what they did. The lock must be held.
func (s *groupStatuses) left(name string, was pods.PodGroup) {
	delete(s.odd, name)
	delete(s.wrote, name)
	if was.Parent == "" || len(s.groups.members[name]) == 0 {
		delete(s.wanted, name)
	}
}

func (s *groupStatuses) forgetAll() {
	for name, was := range s.groups.of {
		s.left(name, was)
	}
	clear(s.odd)
}

// unreadable says that a group is not understood. The lock must be held.
func (s *groupStatuses) unreadable(name string, head pods.PodGroup, err error) {
	s.odd[name] = head
	s.want(name, groupState{reason: groupNotUnderstood, message: shortened(err.Error())})
}

// want says what the condition of a group is to be. The lock must be held.
func (s *groupStatuses) want(name string, state groupState) {
	if s.wanted[name] == state {
		return
	}
	if s.wanted[name] = state; s.isDue(name) {
		s.queue.Add(name)
	}
}

// podRuns has a group of pods that are scheduled one by one count as started with the first of them. The lock must be held.
func (s *groupStatuses) podRuns(t *task) {
	name := podGroupName(t.pod)
	if group, known := s.groups.of[name]; known && group.MinCount == 0 && t.node != "" && !s.wanted[name].started {
		s.want(name, groupState{started: true, reason: groupScheduled, message: "pod " + t.pod.Name + " is scheduled"})
	}
}

// podWaits says why such a group has not started, or one of a composite group, of which the core says nothing more where others run already.
func (s *groupStatuses) podWaits(key, message string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.tasks[key]
	if t == nil || t.foreign() || t.node != "" {
		return
	}
	name := podGroupName(t.pod)
	if group, known := s.groups.of[name]; known && !s.wanted[name].started && (group.MinCount == 0 || group.Parent != "" && s.wanted[name].reason == "") {
		s.want(name, groupState{reason: groupUnschedulable, message: shortened(message)})
	}
}

// UpdateGroup takes what the core says of a group.
func (c callback) UpdateGroup(args *scheduler.UpdateGroupArgs) {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.groups.statuses
	if namespace, name, is := strings.Cut(args.Name, "/composite/"); is {
		s.compositeChanged(namespace+"/"+name, args)
		return
	}
	group, known := c.groups.of[args.Name]
	switch args.State {
	case scheduler.GroupRuns:
		s.want(args.Name, groupState{started: true, reason: groupScheduled, message: shortened(args.Message)})
		if known && !args.BelowSince.IsZero() {
			s.tell(group, reasonGroupWhole, args.Message)
		}
	case scheduler.GroupWaits:
		s.want(args.Name, groupState{reason: groupUnschedulable, message: shortened(args.Message)})
	case scheduler.GroupBelowMinimum: // it has started, or was made again with a larger minimum
		if known {
			s.warn(group, reasonGroupBelow, args.Message)
		}
		if !s.wanted[args.Name].started {
			s.want(args.Name, groupState{reason: groupUnschedulable, message: shortened(args.Message)})
		}
	}
}

// compositeChanged has each pod group of a composite one say whether it has started, and those of one that is below its minimum tell of it.
// The lock must be held.
func (s *groupStatuses) compositeChanged(composite string, args *scheduler.UpdateGroupArgs) {
	for _, name := range s.groups.groupsIn(composite) {
		group := s.groups.of[name]
		above, why := s.groups.composites.Of(group)
		if why != "" || len(above) == 0 {
			continue
		}
		runs := slices.Contains(args.Subgroups, group.SubgroupIn(above...)) && args.State != scheduler.GroupWaits
		if runs {
			s.want(name, groupState{started: true, reason: groupScheduled, message: shortened(args.Message)})
		} else if !s.wanted[name].started {
			s.want(name, groupState{reason: groupUnschedulable, message: shortened(args.Message)})
		}
		switch {
		case args.State == scheduler.GroupBelowMinimum && !runs:
			s.warn(group, reasonGroupBelow, args.Message)
		case args.State == scheduler.GroupRuns && runs && !args.BelowSince.IsZero():
			s.tell(group, reasonGroupWhole, args.Message)
		}
	}
}

// warn and tell write an event about a group.
func (s *groupStatuses) warn(group pods.PodGroup, reason, note string) {
	s.events.put(string(group.UID), Event{s.reference(group), v1.EventTypeWarning, reason, actionScheduling, note})
}

func (s *groupStatuses) tell(group pods.PodGroup, reason, note string) {
	s.events.put(string(group.UID), Event{s.reference(group), v1.EventTypeNormal, reason, actionScheduling, note})
}

func (s *groupStatuses) reference(group pods.PodGroup) runtime.Object {
	return &metav1.PartialObjectMetadata{
		TypeMeta:   metav1.TypeMeta{Kind: "PodGroup", APIVersion: "scheduling.k8s.io/" + s.groups.version},
		ObjectMeta: metav1.ObjectMeta{Namespace: group.Namespace, Name: group.Name, UID: group.UID},
	}
}

// find is a group, also one that is not understood. The lock must be held.
func (s *groupStatuses) find(name string) (pods.PodGroup, bool) {
	if group, known := s.groups.of[name]; known {
		return group, true
	}
	group, known := s.odd[name]
	return group, known
}

// isDue reports whether the condition of a group is to be written. The lock must be held.
func (s *groupStatuses) isDue(name string) bool {
	group, known := s.find(name)
	state, said := s.wanted[name]
	is := group.Condition
	switch {
	case !known || !said || is.Status == metav1.ConditionTrue:
		return false
	case state.started:
		return true
	}
	return is.Status != metav1.ConditionFalse || is.Reason != state.reason || is.Message != state.message
}

// take is what is to be written of a group, or after what time.
func (s *groupStatuses) take(name string) (group pods.PodGroup, state groupState, later time.Duration, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.isDue(name) || s.stopping {
		return group, state, 0, false
	}
	group, _ = s.find(name)
	state = s.wanted[name]
	if last, waits := s.wrote[name]; waits && !state.started {
		later = max(groupPause-time.Since(last), 0)
	}
	return group, state, later, true
}

// write writes the condition of one group.
func (s *groupStatuses) write(name string) error {
	group, state, later, ok := s.take(name)
	if !ok {
		return nil
	}
	if later > 0 {
		s.queue.AddAfter(name, later)
		return nil
	}
	condition := s.conditionOf(group, state)
	patch, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"uid": group.UID, "resourceVersion": group.ResourceVersion},
		"status":   map[string]any{"conditions": append(append([]any{}, group.Others...), condition)},
	})
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(s.ctx, s.options.BindTimeout)
	defer cancel()
	object, err := s.options.Dynamic.Resource(s.groups.source.resource()).Namespace(group.Namespace).
		Patch(ctx, group.Name, types.MergePatchType, patch, metav1.PatchOptions{}, "status")
	switch {
	case apierrors.IsNotFound(err):
		return nil // it is gone, or its version is
	case err != nil:
		if !apierrors.IsConflict(err) {
			s.log.Warn("status of pod group not written yet", zap.String("podGroup", name), zap.Error(err))
		}
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if !state.started {
		s.wrote[name] = time.Now()
	}
	if is, known := s.groups.of[name]; known && is.UID == group.UID { // informers hear of it later
		is.Condition, is.ResourceVersion = condition, object.GetResourceVersion()
		s.groups.of[name] = is
	}
	return nil
}

// conditionOf is the condition that says this of a group.
func (s *groupStatuses) conditionOf(group pods.PodGroup, state groupState) metav1.Condition {
	is, status := group.Condition, metav1.ConditionFalse
	if state.started {
		status = metav1.ConditionTrue
	}
	since := metav1.Now()
	if is.Status == status {
		since = is.LastTransitionTime
	}
	return metav1.Condition{
		Type: pods.PodGroupCondition(s.groups.source.resource().Version), Status: status, Reason: state.reason, Message: state.message,
		LastTransitionTime: since, ObservedGeneration: group.Generation,
	}
}
