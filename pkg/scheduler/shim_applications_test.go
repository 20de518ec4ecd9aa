package scheduler_test

import (
	"testing"
	"time"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"
	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/core"
	"github.com/narwhal-scheduler/narwhal/pkg/scheduler/schedulertest"
)

func TestEveryApplicationIsAnsweredOnce(t *testing.T) {
	bubble(t, schedulertest.Options{}, func(t *testing.T, m *schedulertest.MockScheduler) {
		ugi := &si.UserGroupInformation{User: "u"}
		assert.NilError(t, m.UpdateApplication(&si.ApplicationRequest{RmID: "rm", New: []*si.AddApplicationRequest{
			{ApplicationID: "app-1", QueueName: "root.default", Ugi: ugi},
			{ApplicationID: "app-2", QueueName: "root.nowhere", Ugi: ugi},
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
			"app-2": "rejected ",
			"app-3": "accepted ",
			"app-4": "rejected ",
		})
	})
}

func TestARejectedApplicationMayComeAgain(t *testing.T) {
	bubble(t, schedulertest.Options{}, func(t *testing.T, m *schedulertest.MockScheduler) {
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
		assert.Equal(t, m.Application("app-1").State, core.Completing)
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
