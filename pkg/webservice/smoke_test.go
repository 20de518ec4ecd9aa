package webservice_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/scheduler/schedulertest"
	"github.com/narwhal-scheduler/narwhal/pkg/webservice"
)

// answered is what the tests look at of any object.
type answered struct {
	NodeID, ApplicationID           string
	AllocationKey, Why, Plan        string
	ReservedNode                    string
	Allocated, Occupied, Available  map[string]int64
	RequestTime, AllocationTime     int64
	AllocationDelay                 int64
	Preemptable, Preempted, Healthy bool
	Allocations, ForeignAllocations []answered
	Requests, Evictions             []answered
}

// A client reads the service of a real scheduler.
type client struct {
	*testing.T
	h http.Handler
}

func newClient(t *testing.T, m *schedulertest.MockScheduler) client {
	s, err := webservice.New(webservice.Config{Views: m, Kinds: m.Kinds()})
	assert.NilError(t, err)
	return client{t, s.Handler()}
}

func (c client) read(path string) (status int, out answered) {
	c.Helper()
	w := httptest.NewRecorder()
	c.h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/ws/v1"+path, nil))
	assert.NilError(c, json.Unmarshal(w.Body.Bytes(), &out), w.Body)
	return w.Code, out
}

// TestForeignAllocations shows a pod of another scheduler from when it comes to when
// it goes.
func TestForeignAllocations(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := schedulertest.New(t, schedulertest.Options{})
		c := newClient(t, m)
		m.AddNode("n1", "vcore=4 memory=8Gi")
		m.Foreign("proxy", "n1", "vcore=500m memory=1Gi")
		m.Static("kubelet", "n1", "vcore=100m")

		status, n := c.read("/partition/default/node/n1")
		assert.Equal(t, status, http.StatusOK)
		assert.DeepEqual(t, n.Occupied, map[string]int64{"memory": 1 << 30, "vcore": 600})
		assert.DeepEqual(t, n.Available, map[string]int64{"memory": 7 << 30, "vcore": 3400})
		assert.Equal(t, len(n.Allocations), 0)
		assert.Equal(t, len(n.ForeignAllocations), 2)
		static, foreign := n.ForeignAllocations[0], n.ForeignAllocations[1]
		assert.Equal(t, static.AllocationKey, "kubelet")
		assert.Assert(t, !static.Preemptable && foreign.Preemptable)
		assert.Equal(t, foreign.RequestTime, time.Now().UnixNano())

		m.Release("", "proxy")
		_, n = c.read("/partition/default/node/n1")
		assert.DeepEqual(t, n.Occupied, map[string]int64{"vcore": 100})
	})
}

// TestWhyAnAskWaits follows an agent that needs a full node, until it has its room.
func TestWhyAnAskWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := schedulertest.New(t, schedulertest.Options{KeepReleased: true})
		c := newClient(t, m)
		m.AddNode("n1", "vcore=2")
		m.AddApplication("web", "root.default")
		m.AddApplication("agents", "root.default")
		m.Ask("web", "web-1", "vcore=2")
		m.AskOn("n1", "agents", "agent-1", "vcore=1")

		_, app := c.read("/partition/default/application/agents")
		assert.Equal(t, app.Requests[0].Why, "required node has no room")
		assert.Equal(t, app.Requests[0].ReservedNode, "n1")

		m.Advance(time.Minute)
		_, n := c.read("/partition/default/node/n1")
		assert.Assert(t, n.Allocations[0].Preempted)
		assert.Equal(t, n.Evictions[0].AllocationKey, "web-1")
		_, app = c.read("/partition/default/application/agents")
		assert.Equal(t, app.Requests[0].Plan, "victims found: frees vcore=2000 for vcore=1000")

		m.Confirm("web-1")
		_, app = c.read("/partition/default/application/agents")
		assert.Equal(t, len(app.Requests), 0)
		bound := app.Allocations[0]
		assert.Equal(t, bound.AllocationDelay, int64(time.Minute))
		assert.Equal(t, bound.AllocationTime-bound.RequestTime, bound.AllocationDelay)

		status, health := c.read("/scheduler/healthcheck")
		assert.Equal(t, status, http.StatusOK)
		assert.Assert(t, health.Healthy)
	})
}

// TestStoppedScheduler has no partition any more, or none that answers.
func TestStoppedScheduler(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := schedulertest.New(t, schedulertest.Options{})
		c := newClient(t, m)
		m.Stop()
		status, _ := c.read("/partition/default/nodes?fields=none")
		assert.Equal(t, status, http.StatusServiceUnavailable)
	})
}
