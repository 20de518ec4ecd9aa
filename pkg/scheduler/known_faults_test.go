package scheduler_test

import (
	"strings"
	"testing"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"
	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/scheduler/schedulertest"
)

// inNamespace is an application of a namespace.
func inNamespace(m *schedulertest.MockScheduler, t *testing.T, id, namespace string) {
	t.Helper()
	assert.NilError(t, m.UpdateApplication(&si.ApplicationRequest{RmID: "rm", New: []*si.AddApplicationRequest{{
		ApplicationID: id, PartitionName: "default", Ugi: &si.UserGroupInformation{User: "ann"}, Tags: map[string]string{"namespace": namespace},
	}}}))
	m.Settle()
}

const byNamespace = `
partitions:
  - placementrules:
      - {name: fixed, value: drained.x, create: true, filter: {users: [ann]}}
      - {name: tag, value: namespace, create: true, parent: {name: fixed, value: teams.inner, create: true}}
    queues:
      - {name: drained, parent: true}
      - name: teams
        parent: true
        properties: {preemption.policy: PROTECTED}
        childtemplate: {resources: {max: {vcore: MAX}}}
        queues: [{name: inner, parent: true}, {name: leaf}]
`

func namespaceConfig(policy, most string) string {
	return strings.NewReplacer("PROTECTED", policy, "MAX", most).Replace(byNamespace)
}

// Dynamic queues inherit properties, an inherited template outlives a reload and
// reaches queues that are there, and a leaf with applications stays one.
func TestW20DynamicQueuesOverReloads(t *testing.T) {
	first := strings.Replace(namespaceConfig("disabled", "2"), "      - {name: fixed, value: drained.x, create: true, filter: {users: [ann]}}\n", "", 1)
	bubble(t, schedulertest.Options{Config: first}, func(t *testing.T, m *schedulertest.MockScheduler) {
		inNamespace(m, t, "a", "web")
		web := m.Queue("root.teams.inner.web")
		assert.Assert(t, web.Dynamic)
		assert.Equal(t, web.Properties.PreemptionPolicy, api.PreemptionDisabled)
		assert.Equal(t, m.Kinds().FormatLimits(web.Max), "vcore=2000")
		for _, most := range []string{"3", "4"} {
			assert.NilError(t, m.Configure(strings.Replace(first, "vcore: 2", "vcore: "+most, 1)))
			assert.Equal(t, m.Kinds().FormatLimits(m.Queue("root.teams.inner.web").Max), "vcore="+most+"000")
		}
		inNamespace(m, t, "b", "new")
		assert.Equal(t, m.Kinds().FormatLimits(m.Queue("root.teams.inner.new").Max), "vcore=4000")
		grown := strings.Replace(first, "{name: inner, parent: true}", "{name: inner, queues: [{name: web, parent: true}]}", 1)
		assert.ErrorContains(t, m.Configure(grown), "queue root.teams.inner.web has 1 applications and cannot become a parent")
	})
}

// A rule that leads below a leaf or below a queue that drains gives way to the next
// one; rules that are not known and wrong quantities of a template do not pass.
func TestW21RulesGiveWayAndAreChecked(t *testing.T) {
	bubble(t, schedulertest.Options{Config: namespaceConfig("default", "2")}, func(t *testing.T, m *schedulertest.MockScheduler) {
		inNamespace(m, t, "before", "web")
		assert.Equal(t, m.Application("before").Queue, api.QueuePath("root.drained.x"))
		assert.NilError(t, m.Configure(strings.Replace(namespaceConfig("default", "2"), "      - {name: drained, parent: true}\n", "", 1)))
		assert.Assert(t, m.Queue("root.drained").Draining)
		inNamespace(m, t, "after", "web")
		assert.Equal(t, m.Application("after").Queue, api.QueuePath("root.teams.inner.web"))
		for text, want := range map[string]string{
			strings.Replace(byNamespace, "name: tag", "name: recovery", 1): "unknown rule",
			namespaceConfig("default", "2GB"):                              "unknown suffix",
			namespaceConfig("default", "-1"):                               "negative",
		} {
			assert.ErrorContains(t, m.Configure(text), want)
		}
		assert.Equal(t, m.Application("after").Queue, api.QueuePath("root.teams.inner.web"))
	})
}

// An update that one partition refuses changes neither queues nor rules of another,
// and says where it is wrong.
func TestW27AnUpdateIsWholeOrNothing(t *testing.T) {
	text := func(rule, most, below string) string {
		return "partitions:\n  - placementrules: [{name: tag, value: " + rule + ", create: true}]\n    queues: [{name: a, resources: {max: {vcore: " + most +
			"}}}]\n  - name: other\n    queues: [{name: b" + below + "}]\n"
	}
	bubble(t, schedulertest.Options{Config: text("namespace", "1", "")}, func(t *testing.T, m *schedulertest.MockScheduler) {
		other := &si.AddApplicationRequest{ApplicationID: "x", PartitionName: "other", QueueName: "root.b", Ugi: &si.UserGroupInformation{User: "ann"}}
		assert.NilError(t, m.UpdateApplication(&si.ApplicationRequest{RmID: "rm", New: []*si.AddApplicationRequest{other}}))
		m.Settle()
		assert.ErrorContains(t, m.Configure(text("team", "2", ", queues: [{name: c}]")), "root.b has 1 applications")
		assert.ErrorContains(t, m.Configure(text("team", "2GB", "")), "line 3:49: root.a: resources.max.vcore")
		assert.Equal(t, m.Kinds().FormatLimits(m.Queue("root.a").Max), "vcore=1000")
		inNamespace(m, t, "n", "web")
		assert.Equal(t, m.Application("n").Queue, api.QueuePath("root.web"))
	})
}
