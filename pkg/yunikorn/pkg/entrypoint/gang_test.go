package entrypoint

import (
	"net/http"
	"testing"
	"time"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"
	"gotest.tools/v3/assert"

	"github.com/apache/yunikorn-core/pkg/webservice/dao"
)

// gang adds an application of two workers, whose placeholders wait for a minute at most.
func (s *shim) gang(style string) {
	s.t.Helper()
	s.addApplication("app-1", "", func(a *si.AddApplicationRequest) {
		a.PlaceholderAsk, a.GangSchedulingStyle = cores(4), style
		a.ExecutionTimeoutMilliSeconds = time.Minute.Milliseconds()
	})
}

// member is an ask of a worker, or of its placeholder.
func member(placeholder bool) func(*si.Allocation) {
	return func(a *si.Allocation) { a.TaskGroupName, a.Placeholder = "workers", placeholder }
}

// shown is the application as REST shows it.
func (s *shim) shown() dao.ApplicationDAOInfo {
	s.t.Helper()
	var shown dao.ApplicationDAOInfo
	assert.Equal(s.t, s.read("/ws/v1/partition/default/application/app-1", &shown), http.StatusOK)
	return shown
}

// TestGang: placeholders keep room until the pods of the gang take their places.
func TestGang(t *testing.T) {
	run(t, "", func(t *testing.T, s *shim) {
		s.gang("Soft")
		s.ask("app-1", "holder-1", 2, member(true))
		assert.Equal(t, s.shown().State, "Accepted")
		s.ask("app-1", "holder-2", 2, member(true))
		assert.Equal(t, s.runs("holder-1"), "node-1")
		assert.Equal(t, s.runs("holder-2"), "node-1")
		shown := s.shown()
		assert.Equal(t, shown.State, "Running") // the gang is complete
		assert.Assert(t, shown.Allocations[0].Placeholder)
		assert.Equal(t, shown.Allocations[0].TaskGroupName, "workers")
		least := map[string]int64{"vcore": 2000}
		assert.DeepEqual(t, shown.PlaceholderData, []*dao.PlaceholderDAOInfo{{TaskGroupName: "workers", Count: 2, MinResource: least}})

		s.told()
		s.ask("app-1", "worker-1", 2, member(false))
		assert.DeepEqual(t, s.told(), []string{"holder-1 released: PLACEHOLDER_REPLACED", "worker-1 runs on node-1"})
		shown = s.shown()
		assert.DeepEqual(t, shown.PlaceholderData, []*dao.PlaceholderDAOInfo{{TaskGroupName: "workers", Count: 2, MinResource: least, Replaced: 1}})
		assert.DeepEqual(t, keys(s.Scheduler.GetClusterContext().GetApplication("app-1", partition).GetAllAllocations()), []string{"holder-2", "worker-1"})

		s.pass(time.Minute)
		s.says("holder-2 released: TIMEOUT") // no pod has taken its place
		shown = s.shown()
		assert.DeepEqual(t, shown.PlaceholderData,
			[]*dao.PlaceholderDAOInfo{{TaskGroupName: "workers", Count: 2, MinResource: least, Replaced: 1, TimedOut: 1}})
		assert.Equal(t, s.runs("worker-1"), "node-1")
	})
}

// TestAGangThatTimesOut: with the soft style the pods run like any others, with the hard one
// the application fails.
func TestAGangThatTimesOut(t *testing.T) {
	for _, c := range []struct{ style, state, then string }{
		{"Soft", "Resuming", "Running"},
		{"Hard", "Failing", "Failed"},
	} {
		run(t, "", func(t *testing.T, s *shim) {
			s.gang(c.style)
			s.ask("app-1", "holder-1", 3, member(true))
			s.ask("app-1", "holder-2", 3, member(true)) // has no room
			s.ask("app-1", "driver", 2)
			s.told()
			s.keep()
			s.pass(time.Minute)
			s.says("holder-1 released: TIMEOUT")
			assert.Equal(t, s.shown().State, c.state, c.style)
			data := s.shown().PlaceholderData[0]
			assert.Equal(t, data.Count, int64(2), c.style)
			s.release("app-1", "holder-1", si.TerminationType_TIMEOUT)
			s.says("application app-1 is " + c.then)
			assert.Equal(t, s.runs("driver") != "", c.style == "Soft")
		})
	}
}
