package shim

import (
	"testing"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/api"
	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"
	"gotest.tools/v3/assert"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/pods"
)

// noFilters is a Feasibility without constraints; other methods are not called here.
type noFilters struct{ Feasibility }

func (noFilters) SetNode(*v1.Node)  {}
func (noFilters) SetPod(*v1.Pod)    {}
func (noFilters) RemovePod(*v1.Pod) {}

// newCallback is a context whose messages are not sent, with a node and its namespace.
func newCallback(t *testing.T) callback {
	t.Helper()
	c, err := New(Options{
		Client: &fake.Clientset{}, Dynamic: &dynamicfake.FakeDynamicClient{}, Core: struct{ api.SchedulerAPI }{}, Feasibility: noFilters{},
		Rules: pods.Rules{SchedulerNames: []string{"narwhal"}},
	})
	assert.NilError(t, err)
	c.started = true
	c.refers.AddNamespace(&v1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "default"}})
	for _, name := range []string{"node-1", "node-2"} {
		c.AddNode(&v1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}})
	}
	c.sent()
	return callback{c}
}

// sent is what was put for the core since the last time, one line each.
func (c *Context) sent() []string {
	c.sender.mu.Lock()
	defer c.sender.mu.Unlock()
	lines := []string{}
	for _, m := range c.sender.waiting {
		switch {
		case m.application != nil:
			lines = append(lines, "application "+m.application.ApplicationID)
		case m.allocation != nil:
			lines = append(lines, "allocation "+m.allocation.AllocationKey+" on "+m.allocation.NodeID)
		case m.release != nil:
			lines = append(lines, "release "+m.release.AllocationKey+" "+m.release.TerminationType.String())
		}
	}
	c.sender.waiting = nil
	return lines
}

func ourPod(node string) *v1.Pod {
	return &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web", UID: "web", Labels: map[string]string{"applicationId": "app"}},
		Spec:       v1.PodSpec{SchedulerName: "narwhal", NodeName: node},
	}
}

func released(why si.TerminationType) *si.AllocationResponse {
	return &si.AllocationResponse{Released: []*si.AllocationRelease{{AllocationKey: "web", ApplicationID: "app", TerminationType: why}}}
}

// The end of a pod is confirmed as the core asked for it.
func TestConfirmations(t *testing.T) {
	for _, why := range []si.TerminationType{
		si.TerminationType_PREEMPTED_BY_SCHEDULER, si.TerminationType_TIMEOUT, si.TerminationType_PLACEHOLDER_REPLACED,
	} {
		c := newCallback(t)
		c.AddPod(ourPod("node-1"))
		assert.DeepEqual(t, c.sent(), []string{"application app", "allocation web on node-1"})
		assert.NilError(t, c.UpdateAllocation(released(why)))
		assert.Equal(t, len(c.leaving), 1)
		c.DeletePod(ourPod("node-1"))
		assert.DeepEqual(t, c.sent(), []string{"release web " + why.String()})
		assert.Equal(t, len(c.tasks)+len(c.leaving), 0)
	}
	// One that the core has dropped by itself is told again.
	c := newCallback(t)
	c.AddPod(ourPod("node-1"))
	c.sent()
	assert.NilError(t, c.UpdateAllocation(released(si.TerminationType_STOPPED_BY_RM)))
	assert.DeepEqual(t, c.sent(), []string{"allocation web on node-1"})
}

// The core forgets an application at the moment at which a pod of it comes. What it rejects
// is told again, with an end.
func TestCompletedApplicationWithAPod(t *testing.T) {
	c := newCallback(t)
	c.AddPod(ourPod(""))
	c.sent()
	assert.NilError(t, c.UpdateApplication(&si.ApplicationResponse{Updated: []*si.UpdatedApplication{{ApplicationID: "app", State: "Completed"}}}))
	assert.DeepEqual(t, c.sent(), []string{"application app", "allocation web on "})
	for range 10 * rejectionsMax {
		assert.NilError(t, c.UpdateAllocation(&si.AllocationResponse{RejectedAllocations: []*si.RejectedAllocation{{AllocationKey: "web", Reason: "no"}}}))
	}
	assert.DeepEqual(t, c.sent(), []string{"allocation web on ", "allocation web on ", "allocation web on "})
}

// A pod runs on a node, and the core, which does not know yet, has placed it on another one.
func TestPlacedWhileBoundElsewhere(t *testing.T) {
	c := newCallback(t)
	c.AddPod(ourPod(""))
	c.AddPod(ourPod("node-2"))
	c.sent()
	assert.NilError(t, c.UpdateAllocation(&si.AllocationResponse{New: []*si.Allocation{{AllocationKey: "web", ApplicationID: "app", NodeID: "node-1"}}}))
	assert.DeepEqual(t, c.sent(), []string{"release web 5", "allocation web on node-2"})
}
