package shimtest_test

import (
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	v1 "k8s.io/api/core/v1"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/pods"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/shim/shimtest"
)

// inTaskGroup is a pod of one of two task groups, of which a leader and two workers start together.
func inTaskGroup(name string) shimtest.PodOption {
	return func(pod *v1.Pod) {
		pod.Annotations = map[string]string{
			pods.AnnotationTaskGroups: `[{"name": "leader", "minMember": 1}, {"name": "worker", "minMember": 2}]`,
			pods.AnnotationTaskGroup:  name,
		}
	}
}

// withoutPlaceholders plays a test in a cluster whose namespace wants no placeholders.
func withoutPlaceholders(t *testing.T, room string, play func(t *testing.T, w gangWorld)) {
	inGangWorld(t, shimtest.Options{}, room, func(t *testing.T, w gangWorld) {
		annotate(t, w.MockScheduler, pods.AnnotationPlaceholders, "false")
		w.Advance(time.Second)
		play(t, w)
	})
}

// Where a namespace wants no placeholders, the task groups of an application start together, each with its minimum, and nothing is held before:
// another pod runs where they do not fit.
func TestTaskGroupsWithoutPlaceholders(t *testing.T) {
	withoutPlaceholders(t, "cpu=3", func(t *testing.T, w gangWorld) {
		w.AddPod("leader", "cpu=1", inTaskGroup("leader"))
		w.AddPod("worker-1", "cpu=1", inTaskGroup("worker"))
		w.AddPod("other", "cpu=1", shimtest.Application("other"))
		w.Advance(10 * time.Second)
		assert.Equal(t, len(w.API.Bindings()), 1)

		w.AddPod("worker-2", "cpu=1", inTaskGroup("worker"))
		w.Advance(10 * time.Second)
		assert.Equal(t, len(w.API.Bindings()), 1)
		w.EndPod("other")
		w.Advance(10 * time.Second)
		assert.DeepEqual(t, w.Expected(), []string{"leader node-1", "worker-1 node-1", "worker-2 node-1"})
		assert.Equal(t, w.API.Requests("create"), 0)
	})
}

// A member that has succeeded counts, so that what replaces another one starts; so it is after a restart of the scheduler.
func TestDoneMembersOfTaskGroups(t *testing.T) {
	for _, restarts := range []bool{false, true} {
		withoutPlaceholders(t, "cpu=3", func(t *testing.T, w gangWorld) {
			w.AddPod("leader", "cpu=1", inTaskGroup("leader"))
			w.AddPod("worker-1", "cpu=1", inTaskGroup("worker"))
			w.AddPod("worker-2", "cpu=1", inTaskGroup("worker"))
			w.Advance(10 * time.Second)
			assert.Equal(t, len(w.API.Bindings()), 3)
			w.ChangePod("worker-1", func(pod *v1.Pod) { pod.Status.Phase = v1.PodSucceeded })
			w.EndPod("worker-2")
			if restarts {
				w = w.restarted(t)
			}
			w.AddPod("worker-3", "cpu=1", inTaskGroup("worker"))
			w.Advance(10 * time.Second)
			assert.Assert(t, strings.Contains(strings.Join(w.Expected(), "\n"), "worker-3 node-1"))
		})
	}
}

// An application that has placeholders when its namespace wants none goes on with them, also after a restart.
func TestGangsKeepTheirPlaceholders(t *testing.T) {
	inGangWorld(t, shimtest.Options{}, "cpu=2", func(t *testing.T, w gangWorld) {
		w.gang(3, "", "one")
		w.Advance(10 * time.Second)
		before := w.Expected()
		annotate(t, w.MockScheduler, pods.AnnotationPlaceholders, "false")
		w = w.restarted(t)
		w.Advance(10 * time.Second)
		assert.DeepEqual(t, w.Expected(), before)
		w.AddNode("node-2", "cpu=1")
		w.Advance(10 * time.Second)
		w.endHolders(0)
		assert.Assert(t, strings.Contains(strings.Join(w.Expected(), "\n"), "one node-"), "%v", w.Expected())
	})
}
