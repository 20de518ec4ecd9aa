package webservice_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"
	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/scheduler"
	"github.com/narwhal-scheduler/narwhal/pkg/webservice"
)

// A hanging resource manager does not return from Predicates until it is told to.
type hanging struct {
	tenant
	asked, on chan struct{}
}

func (m *hanging) Predicates(*si.PredicatesArgs) error {
	select {
	case m.asked <- struct{}{}:
	default:
	}
	<-m.on
	return nil
}

// TestAHangingResourceManager holds up no reader: lists come at once from the last
// view, with its age, and the health check says within a second for how long the
// partition has not answered. All is well again afterwards.
func TestAHangingResourceManager(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, err := scheduler.New(scheduler.Config{})
		assert.NilError(t, err)
		m := &hanging{tenant: tenant{full: make(chan struct{}, 1)}, asked: make(chan struct{}, 1), on: make(chan struct{})}
		_, err = s.RegisterResourceManager(&si.RegisterResourceManagerRequest{RmID: "rm"}, m)
		assert.NilError(t, err)
		assert.NilError(t, s.UpdateNode(&si.NodeRequest{RmID: "rm", Nodes: []*si.NodeInfo{
			{NodeID: "n1", Action: si.NodeInfo_CREATE, SchedulableResource: amounts(8000)},
		}}))
		assert.NilError(t, s.UpdateApplication(&si.ApplicationRequest{RmID: "rm", New: []*si.AddApplicationRequest{
			{ApplicationID: "app", QueueName: "root.default", Ugi: &si.UserGroupInformation{User: "anna"}},
		}}))
		service, err := webservice.New(webservice.Config{Views: s, Kinds: s.Kinds()})
		assert.NilError(t, err)
		read := func(path string) (w *httptest.ResponseRecorder, took time.Duration) {
			w, began := httptest.NewRecorder(), time.Now()
			service.Handler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/ws/v1"+path, nil))
			return w, time.Since(began)
		}
		w, _ := read("/partition/default/nodes")
		assert.Equal(t, w.Code, http.StatusOK)
		assert.Equal(t, w.Header().Get("Age"), "")

		assert.NilError(t, s.UpdateAllocation(&si.AllocationRequest{RmID: "rm", Allocations: []*si.Allocation{
			{AllocationKey: "web-1", ApplicationID: "app", ResourcePerAlloc: amounts(1000)},
		}}))
		<-m.asked
		time.Sleep(time.Minute)
		w, took := read("/partition/default/nodes")
		assert.Equal(t, w.Code, http.StatusOK)
		assert.Assert(t, took < time.Second, took)
		assert.Equal(t, w.Header().Get("Age"), "60")
		w, took = read("/scheduler/healthcheck")
		assert.Equal(t, w.Code, http.StatusServiceUnavailable)
		assert.Assert(t, took < time.Second, took)
		assert.Assert(t, strings.Contains(w.Body.String(), "partition [rm]default has not answered for 1m0"), w.Body)

		close(m.on)
		synctest.Wait()
		w, _ = read("/scheduler/healthcheck")
		assert.Equal(t, w.Code, http.StatusOK, w.Body)
		w, _ = read("/partition/default/nodes")
		assert.Equal(t, w.Header().Get("Age"), "")
		assert.Assert(t, strings.Contains(w.Body.String(), `"web-1"`))
		s.Stop()
	})
}
