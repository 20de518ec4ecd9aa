package driver

import (
	"context"
	"testing"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/api"
	"github.com/apache/yunikorn-scheduler-interface/lib/go/common"
	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"
	"gotest.tools/v3/assert"
)

// What is sent of a pod says what it is: what it may do, where it must run, and whose it is.
func TestMessages(t *testing.T) {
	d := New(nil)
	one := Amounts{Vcore: 1000, Memory: 1}
	pods := []*Pod{
		{Key: "plain", Application: "app", Wants: one},
		{Key: "spared", Application: "app", Wants: one, OptedOut: true, Owner: true, Aged: true, Priority: 3},
		{Key: "agent", Application: "app", Wants: one, Required: "n1"},
		{Key: "foreign", Application: "app", Wants: Amounts{GPU: 500}, Foreign: true, Node: "n1"},
	}
	requests := d.Requests(pods)
	assert.Equal(t, len(requests), 1)
	plain, spared, agent, foreign := requests[0].Allocations[0], requests[0].Allocations[1], requests[0].Allocations[2], requests[0].Allocations[3]
	assert.Assert(t, plain.PreemptionPolicy.AllowPreemptSelf && plain.PreemptionPolicy.AllowPreemptOther)
	assert.Equal(t, len(plain.AllocationTags), 0)
	assert.Equal(t, plain.ApplicationID+plain.NodeID, "app")
	assert.Assert(t, plain.ResourcePerAlloc == spared.ResourcePerAlloc) // which both keep
	assert.Equal(t, plain.ResourcePerAlloc.Resources[common.CPU].Value, int64(1000))

	assert.Assert(t, !spared.PreemptionPolicy.AllowPreemptSelf && spared.PreemptionPolicy.AllowPreemptOther)
	assert.Assert(t, spared.Originator && !plain.Originator)
	assert.Equal(t, spared.Priority, int32(3))
	assert.DeepEqual(t, spared.AllocationTags, map[string]string{common.CreationTime: created})

	assert.Equal(t, agent.AllocationTags[common.DomainYuniKorn+common.KeyRequiredNode], "n1")
	assert.Equal(t, agent.NodeID, "")

	assert.Equal(t, foreign.AllocationTags[common.Foreign], common.AllocTypeDefault)
	assert.Equal(t, foreign.ApplicationID+" "+foreign.NodeID, " n1")
	assert.Equal(t, foreign.ResourcePerAlloc.Resources["gpu"].Value, int64(500))

	endings := d.Endings(pods)[0].Releases.AllocationsToRelease
	assert.Equal(t, endings[0].ApplicationID, "app")
	assert.Equal(t, endings[3].ApplicationID, "")
}

// A swift core answers before it returns.
type swift struct {
	api.SchedulerAPI
	to *Driver
}

func (c *swift) UpdateApplication(request *si.ApplicationRequest) error {
	return callback{c.to}.UpdateApplication(&si.ApplicationResponse{Accepted: make([]*si.AcceptedApplication, len(request.New))})
}

func (c *swift) UpdateNode(request *si.NodeRequest) error {
	return callback{c.to}.UpdateNode(&si.NodeResponse{Accepted: make([]*si.AcceptedNode, len(request.Nodes))})
}

// Answers that come before a call has returned count, each once.
func TestSwiftAnswersCount(t *testing.T) {
	core := new(swift)
	d := New(core)
	core.to = d
	over, end := context.WithCancel(t.Context())
	end() // so that nothing is waited for
	for _, id := range []string{"one", "two"} {
		assert.NilError(t, d.AddNodes(over, []Node{{ID: id}}))
		assert.NilError(t, d.AddApplications(over, []Application{{ID: id}}))
	}
}
