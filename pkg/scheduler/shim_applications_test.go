package scheduler_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"
	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/scheduler/schedulertest"
)

func TestEveryApplicationIsAnsweredOnce(t *testing.T) {
	bubble(t, schedulertest.Options{}, func(t *testing.T, m *schedulertest.MockScheduler) {
		ugi := &si.UserGroupInformation{User: "u"}
		assert.NilError(t, m.UpdateApplication(&si.ApplicationRequest{RmID: "rm", New: []*si.AddApplicationRequest{
			{ApplicationID: "app-1", QueueName: "root.default", Ugi: ugi},
			{ApplicationID: "app-2", QueueName: "root.nowhere", Ugi: ugi}, // to root.default
			{ApplicationID: "app-3", QueueName: "", Ugi: ugi},
			{ApplicationID: "app-4", QueueName: "root.default"},
			{ApplicationID: "app-1", QueueName: "root.default", Ugi: ugi},
		}}))
		m.Settle()
		answers := map[string]string{}
		for _, call := range m.Calls() {
			response := call.Message.(*si.ApplicationResponse)
			for _, a := range response.Accepted {
				answers[a.ApplicationID] += "accepted "
			}
			for _, a := range response.Rejected {
				assert.Assert(t, a.Reason != "")
				answers[a.ApplicationID] += "rejected "
			}
		}
		assert.DeepEqual(t, answers, map[string]string{
			"app-1": "accepted rejected ",
			"app-2": "accepted ",
			"app-3": "accepted ",
			"app-4": "rejected ",
		})
	})
}

func TestARejectedApplicationMayComeAgain(t *testing.T) {
	bubble(t, schedulertest.Options{Config: oneQueue}, func(t *testing.T, m *schedulertest.MockScheduler) {
		m.AddApplication("app-1", "root.nowhere")
		m.Heard()
		m.AddApplication("app-1", "root.default")
		assert.DeepEqual(t, m.Heard(), []string{"application app-1 accepted"})
	})
}

// A forced application belongs to the user nobody when it says nothing, not even that it
// says nothing.
func TestAForcedApplicationNeedsNoUser(t *testing.T) {
	bubble(t, schedulertest.Options{}, func(t *testing.T, m *schedulertest.MockScheduler) {
		assert.NilError(t, m.UpdateApplication(&si.ApplicationRequest{RmID: "rm", New: []*si.AddApplicationRequest{
			{ApplicationID: "app-1", QueueName: "root.default", Tags: map[string]string{"Application.Create.Force": "true"}},
		}}))
		m.Settle()
		assert.DeepEqual(t, m.Heard(), []string{"application app-1 accepted"})
		assert.Equal(t, m.Application("app-1").User, "nobody")
		assert.DeepEqual(t, m.Application("app-1").Groups, []string{"nogroup"})
	})
}

// An application is completed when nothing has come for a while after its last
// allocation, and not before everything is released.
func TestCompletedComesAfterEverythingIsReleased(t *testing.T) {
	bubble(t, schedulertest.Options{}, func(t *testing.T, m *schedulertest.MockScheduler) {
		m.AddNode("node-1", "vcore=4")
		m.AddApplication("app-1", "root.default")
		m.Ask("app-1", "pod-1", "vcore=1")
		assert.DeepEqual(t, m.Heard(), []string{
			"node node-1 accepted",
			"application app-1 accepted",
			"application app-1 is Accepted",
			"application app-1 is Running",
			"allocation pod-1 placed on node-1",
		})
		m.Advance(time.Hour)
		assert.DeepEqual(t, m.Heard(), []string{})
		m.Release("app-1", "pod-1")
		assert.DeepEqual(t, m.Heard(), []string{
			"allocation pod-1 released: STOPPED_BY_RM",
			"application app-1 is Completing",
		})
		m.Advance(29 * time.Second)
		assert.DeepEqual(t, m.Heard(), []string{})
		m.Advance(time.Second)
		assert.DeepEqual(t, m.Heard(), []string{"application app-1 is Completed"})
		assert.Assert(t, m.Application("app-1") == nil)
	})
}

func TestAnAskBringsACompletingApplicationBack(t *testing.T) {
	bubble(t, schedulertest.Options{}, func(t *testing.T, m *schedulertest.MockScheduler) {
		m.AddNode("node-1", "vcore=4")
		m.AddApplication("app-1", "root.default")
		m.Ask("app-1", "pod-1", "vcore=1")
		m.Release("app-1", "pod-1")
		assert.Equal(t, m.Application("app-1").State, api.Completing)
		m.Heard()
		m.Advance(20 * time.Second)
		m.Ask("app-1", "pod-2", "vcore=1")
		assert.DeepEqual(t, m.Heard(), []string{
			"application app-1 is Running",
			"allocation pod-2 placed on node-1",
		})
		m.Advance(time.Hour)
		assert.DeepEqual(t, m.Heard(), []string{})
	})
}

// A removed application releases what it had, as stopped by the resource manager,
// so that no pod is deleted for it. It may come again at once.
func TestARemovedApplicationReleasesWhatItHad(t *testing.T) {
	bubble(t, schedulertest.Options{}, func(t *testing.T, m *schedulertest.MockScheduler) {
		m.AddNode("node-1", "vcore=1")
		m.AddApplication("app-1", "root.default")
		m.Ask("app-1", "pod-1", "vcore=1")
		m.Ask("app-1", "pod-2", "vcore=1")
		m.Heard()
		m.RemoveApplication("app-1")
		m.RemoveApplication("app-1")
		m.RemoveApplication("never seen")
		assert.DeepEqual(t, m.Heard(), []string{"allocation pod-1 released: STOPPED_BY_RM"})
		m.AddApplication("app-1", "root.default")
		assert.DeepEqual(t, m.Heard(), []string{"application app-1 accepted"})
	})
}

// oneQueue has no rules of placement: an application goes to the queue that it asks for.
const oneQueue = `
partitions:
  - queues:
      - name: default
`

// TestANamespaceHasItsQuota shows that the queue which is made for a namespace gets its quota,
// that it follows a later one, and keeps what it has if one cannot be read.
func TestANamespaceHasItsQuota(t *testing.T) {
	bubble(t, schedulertest.Options{}, func(t *testing.T, m *schedulertest.MockScheduler) {
		add := func(id, quota, guaranteed string) {
			assert.NilError(t, m.UpdateApplication(&si.ApplicationRequest{RmID: "rm", New: []*si.AddApplicationRequest{{
				ApplicationID: id, Ugi: &si.UserGroupInformation{User: "ann"},
				Tags: map[string]string{"namespace": "web", "namespace.resourcequota": quota, "namespace.resourceguaranteed": guaranteed},
			}}}))
			m.Settle()
		}
		shown := func() string {
			for _, q := range m.Look().Root.Queues {
				if q.Path == "root.web" {
					return fmt.Sprint(q.Dynamic, " ", m.Text(q.Guaranteed), " ", m.Kinds().FormatLimits(q.Max))
				}
			}
			return "none"
		}
		for i, step := range []struct{ quota, guaranteed, want string }{
			{"", "", "true nothing unlimited"},
			{`{"resources": {"vcore": {"value": 4000}}}`, `{"resources": {"vcore": {"value": 1000}}}`, "true vcore=1000 vcore=4000"},
			{`{"resources": {"vcore": {"value": -1}}}`, "", "true vcore=1000 vcore=4000"},
			{`nonsense`, "", "true vcore=1000 vcore=4000"},
			{`{"resources": {"vcore": {"value": 2000}}}`, "", "true nothing vcore=2000"},
			{"", "", "true nothing vcore=2000"},
		} {
			add(fmt.Sprint("app-", i), step.quota, step.guaranteed)
			assert.Equal(t, shown(), step.want, "after %q %q", step.quota, step.guaranteed)
		}
	})
}
