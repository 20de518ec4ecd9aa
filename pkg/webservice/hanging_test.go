package webservice_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"
	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/scheduler/schedulertest"
	"github.com/narwhal-scheduler/narwhal/pkg/webservice"
)

// paths are what clients read of a partition.
var paths = []string{
	"/ws/v1/scheduler/healthcheck", "/ws/v1/partitions", "/ws/v1/partition/default/queues", "/ws/v1/partition/default/nodes",
	"/ws/v1/partition/default/applications/active", "/ws/v1/fullstatedump", "/ws/v1/clusters", "/metrics",
}

// A resource manager does not return from Predicates, of the real scheduler. The health
// check says so within a second, whether there has been a view or not. A thousand
// clients that come and go leave no goroutine, and afterwards all is well.
func TestAResourceManagerThatDoesNotReturn(t *testing.T) {
	for _, seen := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			hangs := make(chan struct{})
			m := schedulertest.New(t, schedulertest.Options{Predicates: func(*si.PredicatesArgs) error {
				<-hangs
				return nil
			}})
			m.AddNode("node-1", "vcore=8")
			m.AddApplication("app-1", "root.default")
			service, err := webservice.New(webservice.Config{Views: m, Kinds: m.Kinds()})
			assert.NilError(t, err)
			h := service.Handler()
			if seen {
				assert.Equal(t, health(t, h), "")
			}
			assert.NilError(t, m.Send(&si.Allocation{
				AllocationKey: "pod", ApplicationID: "app-1", PartitionName: "default", ResourcePerAlloc: schedulertest.Resource("vcore=1"),
			}))
			synctest.Wait()
			before := bubbled()
			for range 3 {
				assert.Assert(t, strings.HasPrefix(health(t, h), "partition [rm]default has not answered for "))
			}
			var clients sync.WaitGroup
			for i := range 1000 {
				clients.Go(func() {
					ctx, cancel := context.WithTimeout(t.Context(), time.Duration(i%100)*10*time.Millisecond)
					defer cancel()
					r := httptest.NewRequestWithContext(ctx, http.MethodGet, paths[i%len(paths)], http.NoBody)
					h.ServeHTTP(httptest.NewRecorder(), r)
				})
			}
			clients.Wait()
			time.Sleep(time.Minute)
			synctest.Wait()
			assert.Equal(t, bubbled(), before)

			close(hangs)
			m.Settle()
			assert.Equal(t, health(t, h), "")
		})
	}
}

// health is what the health check says of partitions that do not answer, within a second.
func health(t *testing.T, h http.Handler) string {
	t.Helper()
	began, w := time.Now(), httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, paths[0], http.NoBody))
	assert.Assert(t, time.Since(began) < time.Second, "%v", time.Since(began))
	var answer struct {
		Healthy      bool
		HealthChecks []struct{ Name, DiagnosisMessage string }
	}
	assert.NilError(t, json.Unmarshal(w.Body.Bytes(), &answer), w.Body.String())
	last := answer.HealthChecks[len(answer.HealthChecks)-1]
	assert.Equal(t, last.Name, "Responsiveness")
	if answer.Healthy {
		assert.Equal(t, w.Code, http.StatusOK)
		return ""
	}
	assert.Equal(t, w.Code, http.StatusServiceUnavailable)
	return last.DiagnosisMessage
}

// bubbled is how many goroutines the bubbles of tests have.
func bubbled() int {
	stacks := make([]byte, 4<<20)
	return strings.Count(string(stacks[:runtime.Stack(stacks, true)]), "synctest bubble")
}
