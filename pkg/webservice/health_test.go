package webservice

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/config"
	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
)

// TestHealth breaks one thing at a time, and each time the scheduler recovers.
func TestHealth(t *testing.T) {
	w := newWorld(t)
	service := w.service(t)
	h := service.Handler()
	right := w.Views[w.Names[0]]
	for _, c := range []struct {
		check  int // that fails; also is another that must
		also   int
		says   string
		damage func(v *api.View, n *api.NodeView, app *api.ApplicationView)
	}{
		{0, -1, "partition default has -1 of vcore", func(v *api.View, _ *api.NodeView, _ *api.ApplicationView) {
			v.Used = w.Amounts(t, -1, 0, 0)
		}},
		{1, 3, "node node-1 has -1 of pods", func(_ *api.View, n *api.NodeView, _ *api.ApplicationView) {
			n.Occupied = w.Amounts(t, 500, 768<<20, -1)
		}},
		{2, -1, "partition default has memory=1", func(v *api.View, _ *api.NodeView, _ *api.ApplicationView) {
			v.Capacity = w.Amounts(t, 0, 1, 0)
		}},
		{3, -1, "and memory=1342177280 pods=106 is left of its capacity", func(_ *api.View, n *api.NodeView, _ *api.ApplicationView) {
			n.Available = w.Amounts(t, 1, 1280<<20, 106)
		}},
		{4, -1, "node node-1 is reserved for gone, which waits for no such reservation; node node-1 is reserved for other", func(_ *api.View, n *api.NodeView, _ *api.ApplicationView) {
			n.Reservations = append([]api.Reservation{{Node: "node-1", Key: "gone"}, {Node: "node-1", Key: "other"}}, n.Reservations...)
		}},
		{4, -1, "ask waiting has a reservation of node node-2, which knows of none", func(_ *api.View, _ *api.NodeView, app *api.ApplicationView) {
			app.Asks = []api.AskView{{Allocation: &api.Allocation{Key: "waiting"}, Waiting: &api.Waiting{Reserved: "node-2"}}}
		}},
		{5, -1, "allocation filler-3 on node node-2 is of no application", func(_ *api.View, _ *api.NodeView, app *api.ApplicationView) {
			app.Allocations = app.Allocations[:2]
		}},
		{6, -1, "allocation filler-1 of application filler-app is not on node node-1", func(_ *api.View, n *api.NodeView, _ *api.ApplicationView) {
			n.Allocations = n.Allocations[1:]
		}},
		// One is missing and one is too many: their number is right.
		{5, 6, "allocation stranger on node node-1 is of no application", func(_ *api.View, n *api.NodeView, _ *api.ApplicationView) {
			n.Allocations = append([]*api.Allocation{{Key: "stranger", Node: "node-1"}}, n.Allocations[1:]...)
		}},
	} {
		view, node, app := *right, *right.Nodes[0], *right.Applications[2]
		c.damage(&view, &node, &app)
		view.Nodes = []*api.NodeView{&node, right.Nodes[1]}
		view.Applications = []*api.ApplicationView{right.Applications[0], &app}
		w.Views[w.Names[0]] = &view
		code, answer := checked(t, h)
		assert.Equal(t, code, http.StatusServiceUnavailable, c.says)
		assert.Assert(t, !answer.Healthy)
		for i, one := range answer.HealthChecks {
			assert.Equal(t, one.Succeeded, i != c.check && i != c.also, "%s: %s", c.says, one.DiagnosisMessage)
		}
		assert.Assert(t, strings.Contains(answer.HealthChecks[c.check].DiagnosisMessage, c.says), answer.HealthChecks[c.check].DiagnosisMessage)

		faults, err := service.Faults(t.Context())
		assert.NilError(t, err)
		assert.Assert(t, strings.Contains(strings.Join(faults, "\n"), c.says), "%v", faults)

		w.Views[w.Names[0]] = right
		faults, err = service.Faults(t.Context())
		assert.NilError(t, err)
		assert.Equal(t, len(faults), 0)
		code, answer = checked(t, h)
		assert.Equal(t, code, http.StatusOK)
		assert.Assert(t, answer.Healthy)
	}
}

func checked(t *testing.T, h http.Handler) (int, healthJSON) {
	t.Helper()
	w := ask(h, http.MethodGet, "/ws/v1/scheduler/healthcheck")
	var answer healthJSON
	assert.NilError(t, json.Unmarshal(w.Body.Bytes(), &answer))
	return w.Code, answer
}

func TestDiagnosisIsShort(t *testing.T) {
	faults := make([]string, 25)
	assert.Assert(t, strings.HasSuffix(shortened(faults), "; and 5 more"))
	assert.Equal(t, shortened([]string{"a", "b"}), "a; b")
}

func TestValidate(t *testing.T) {
	h := newWorld(t).service(t).Handler()
	for _, c := range []struct{ body, want string }{
		{configText, `{"allowed":true}`},
		{"partitions: []", `{"allowed":false,"reason":`},
		{strings.Repeat("#", config.TextMax+1), `{"allowed":false,"reason":"the configuration has more than 4194304 bytes"}`},
	} {
		r := httptest.NewRequest(http.MethodPost, "/ws/v1/validate-conf", strings.NewReader(c.body))
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		assert.Equal(t, w.Code, http.StatusOK)
		assert.Assert(t, strings.HasPrefix(w.Body.String(), c.want), w.Body)
	}
}

// TestHealthOfAPartitionThatDoesNotAnswer comes within a second, and says which one
// it is and for how long; whether there has been a view of it or not.
func TestHealthOfAPartitionThatDoesNotAnswer(t *testing.T) {
	for _, seen := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t)
			w.Names = append(w.Names, "[mycluster]other")
			w.Hangs, w.Age = "[mycluster]other", 90*time.Second
			if seen {
				w.Views[w.Hangs] = w.Views[w.Names[0]]
			}
			h := w.service(t).Handler()
			began := time.Now()
			code, answer := checked(t, h)
			assert.Assert(t, time.Since(began) < time.Second)
			assert.Equal(t, code, http.StatusServiceUnavailable)
			for i, one := range answer.HealthChecks {
				assert.Equal(t, one.Succeeded, i != len(checks), one.Name)
			}
			assert.Equal(t, answer.HealthChecks[len(checks)].DiagnosisMessage, "partition [mycluster]other has not answered for 1m30s")

			w.Hangs, w.Views["[mycluster]other"] = "", w.Views[w.Names[0]]
			began = time.Now()
			code, _ = checked(t, h)
			assert.Equal(t, code, http.StatusOK)
			assert.Equal(t, time.Since(began), time.Duration(0))
		})
	}
}

// TestHealthOfABusyPartition: one that goes on with its work is healthy, and the
// answer says how old its view is.
func TestHealthOfABusyPartition(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.Hangs, w.Age = w.Names[0], healthWait-1
		began := time.Now()
		answer := ask(w.service(t).Handler(), http.MethodGet, "/ws/v1/scheduler/healthcheck")
		assert.Assert(t, time.Since(began) < time.Second)
		assert.Equal(t, answer.Code, http.StatusOK)
		assert.Equal(t, answer.Header().Get("Age"), "1")
	})
}
