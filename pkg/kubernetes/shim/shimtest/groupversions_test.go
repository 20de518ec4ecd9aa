package shimtest_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"gotest.tools/v3/assert"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/pods"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/shim/shimtest"
)

// Where the API server serves no pod groups, a pod that names one waits and is told why. That is looked up again less and less
// often, and never by a request for what is not served.
func TestPodGroupsAreNotServed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := shimtest.New(t, shimtest.Options{})
		m.AddNode("node-1", "cpu=3")
		m.Start()
		m.AddPod("web", "cpu=1", inGroup("train"))
		m.AddPod("other", "cpu=1")
		m.Advance(5 * time.Minute)
		assert.DeepEqual(t, m.Booked(), []string{"other node-1"})
		assert.Assert(t, slices.Contains(m.Events(), "web FailedScheduling: the API server serves no pod groups, and it names pod group train"), "%v", m.Events())
		assert.Equal(t, m.API.Requests("look"), 5) // at 0 s, 10 s, 30 s, 70 s, 150 s
		m.Advance(time.Hour)
		assert.Equal(t, m.API.Requests("look"), 5+12) // then every 5 minutes
		assert.Equal(t, m.API.Requests("unknown"), 0)
	})
}

// Groups of an API server that begins to serve them are read from then on, in either version.
func TestPodGroupsAreServedLater(t *testing.T) {
	for _, resource := range pods.PodGroupResources() {
		synctest.Test(t, func(t *testing.T) {
			m := shimtest.New(t, shimtest.Options{})
			m.AddNode("node-1", "cpu=3")
			m.Start()
			w := groupWorld{m}
			w.inGang("train", 1, 2)
			m.API.Serve(resource.GroupVersion(), resource.Resource)
			m.Create(shimtest.PodGroupIn(resource, "train", 3))
			m.Advance(time.Minute)
			assert.DeepEqual(t, m.Booked(), []string{"train-1 -", "train-2 -"})
			w.inGang("train", 3)
			assert.Equal(t, len(m.API.Bindings()), 3)
			assert.Equal(t, m.API.Requests("unknown"), 0)
		})
	}
}

// An upgrade from 1.36 to 1.37: the groups of the former version are gone, their pods run on, what waits does not start by
// itself, and the groups of the next version count. A server that serves both is read in the newer one.
func TestPodGroupsOfTheNextVersion(t *testing.T) {
	versions := pods.PodGroupResources()
	newer, older := versions[0], versions[len(versions)-1]
	for _, both := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			m := shimtest.New(t, shimtest.Options{})
			m.API.Serve(older.GroupVersion(), older.Resource)
			m.AddNode("node-1", "cpu=3")
			m.Create(shimtest.PodGroupIn(older, "runs", 1), shimtest.PodGroupIn(older, "train", 3))
			m.Start()
			w := groupWorld{m}
			w.inGang("runs", 1)
			w.inGang("train", 1, 2)
			assert.DeepEqual(t, m.Booked(), []string{"runs-1 node-1", "train-1 -", "train-2 -"})

			if both {
				serve(m, newer)
			} else {
				m.API.Refuse(older.GroupVersion())
			}
			m.Advance(10 * time.Minute)
			assert.DeepEqual(t, m.Booked(), []string{"runs-1 node-1"})
			if !both {
				assert.Assert(t, slices.Contains(m.Events(), "train-1 FailedScheduling: the API server serves no pod groups, and it names pod group train"), "%v", m.Events())
				serve(m, newer)
				m.Advance(10 * time.Minute)
			}
			m.Create(shimtest.PodGroupIn(newer, "train", 2), shimtest.PodGroupIn(newer, "runs", 2))
			m.Advance(5 * time.Second)
			assert.DeepEqual(t, m.Booked(), []string{"runs-1 node-1", "train-1 node-1", "train-2 node-1"})
			assert.Equal(t, w.condition(t, newer, "runs"), "False Unschedulable: group default/runs is below its minimum: 1 of 2 members run")
			assert.Assert(t, m.API.Requests("unknown") < 10, "%d", m.API.Requests("unknown")) // until the next look, at most 10 s
		})
	}
}

// While room is made for a group in one rack its group is deleted, or the API server becomes one of 1.37, which has lost it. Its pods stay as they are
// then: nothing more ends, and none of them starts, however much room there is, nor takes the room of a pod that ends slowly. They start in
// that rack when the group is there again.
func TestRoomIsMadeForAPodGroupThatGoes(t *testing.T) {
	versions := pods.PodGroupResources()
	newer, older := versions[0], versions[len(versions)-1]
	for _, upgrade := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			next := older
			m := shimtest.New(t, shimtest.Options{})
			m.API.Serve(older.GroupVersion(), older.Resource)
			for i, node := range []string{"node-1", "node-2"} {
				m.AddNode(node, "cpu=2")
				m.ChangeNode(node, func(n *v1.Node) { n.Labels = map[string]string{"rack": fmt.Sprint("r", i)} })
				m.AddPod(fmt.Sprintf("first-%d", i), "cpu=1", shimtest.On(node), shimtest.Priority(int32(10*i)))
				m.AddPod(fmt.Sprintf("other-%d", i), "cpu=1", shimtest.On(node), shimtest.Priority(int32(10*i)))
			}
			create := func() {
				group := shimtest.PodGroupIn(next, "train", 2)
				spec := group.Object["spec"].(map[string]any)
				spec["priority"], spec["schedulingConstraints"] = int64(10), map[string]any{"topology": []any{map[string]any{"key": "rack"}}}
				m.Create(group)
			}
			create()
			m.AddPod("train-1", "cpu=1", inGroup("train"), shimtest.Priority(10))
			m.AddPod("train-2", "cpu=1", inGroup("train"), shimtest.Priority(10))
			m.Start()
			m.Advance(10 * time.Second)
			victims := []string{"first-0", "other-0"}
			assert.DeepEqual(t, slices.Sorted(slices.Values(m.API.Deleted())), victims)
			m.EndPod("first-0")
			if upgrade {
				m.API.Refuse(older.GroupVersion())
				next = newer
				serve(m, next)
			} else {
				assert.NilError(t, m.API.Dynamic.Resource(older).Namespace(metav1.NamespaceDefault).Delete(t.Context(), "train", metav1.DeleteOptions{}))
			}
			m.Advance(10 * time.Minute)
			assert.DeepEqual(t, m.Booked(), []string{"first-1 node-2", "other-0 node-1", "other-1 node-2"})
			create()
			m.Advance(10 * time.Minute)
			assert.Equal(t, len(m.API.Bindings()), 0)
			m.EndPod("other-0")
			m.Advance(10 * time.Second)
			assert.DeepEqual(t, m.Booked(), []string{"first-1 node-2", "other-1 node-2", "train-1 node-1", "train-2 node-1"})
			assert.DeepEqual(t, slices.Sorted(slices.Values(m.API.Deleted())), victims)
		})
	}
}

// A server that serves groups, ceases to and serves the same version again, as after a wrong restart, has its groups read again.
// That it ceases is noticed soon, by the requests that fail, also after hours in which nothing has changed.
func TestPodGroupsAreServedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newGroupWorld(t, "3", shimtest.NewPodGroup("train", 3))
		w.inGang("train", 1, 2)
		for i := range 3 {
			w.Advance(61 * time.Minute) // between two looks
			w.API.Refuse(shimtest.PodGroupResource.GroupVersion())
			w.Advance(15 * time.Second)
			assert.DeepEqual(t, w.Booked(), []string{})
			w.Advance(time.Hour)
			assert.Assert(t, w.API.Requests("unknown") <= 10*(i+1), "%d", w.API.Requests("unknown"))
			serve(w.MockScheduler, shimtest.PodGroupResource)
			w.Advance(5 * time.Minute)
			assert.DeepEqual(t, w.Booked(), []string{"train-1 -", "train-2 -"})
		}
		w.inGang("train", 3)
		assert.Equal(t, len(w.API.Bindings()), 3)
		assert.Assert(t, w.API.Requests("look") < 6*13+30, "%d", w.API.Requests("look")) // 12 in an hour, and some after a change
	})
}

// While it is not known what is served, as when the API server does not answer, what is known of groups counts on.
func TestWhatIsServedIsNotKnown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newGroupWorld(t, "3", shimtest.NewPodGroup("train", 3))
		w.inGang("train", 1, 2)
		w.API.Fail(shimtest.Faults{Look: func() error { return errors.New("no answer") }})
		w.Advance(10 * time.Minute)
		assert.DeepEqual(t, w.Booked(), []string{"train-1 -", "train-2 -"})
		w.inGang("train", 3)
		assert.Equal(t, len(w.API.Bindings()), 3)
	})
}

func serve(m *shimtest.MockScheduler, resource schema.GroupVersionResource) {
	m.API.Serve(resource.GroupVersion(), resource.Resource)
}
