package doctor

import (
	"testing"

	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
)

// TestGroupsThatCannotStart: a group of which too few members are there waits for ever, and is found. One whose members are all there
// waits for room, and is not.
func TestGroupsThatCannotStart(t *testing.T) {
	ask := func(group string) api.AskView {
		tags := map[string]string{api.TagQuorum: group}
		return api.AskView{Allocation: &api.Allocation{Key: api.AllocationKey(group + "-0"), Application: "app", Tags: tags}, Waiting: &api.Waiting{Reason: api.AwaitsGang}}
	}
	app := &api.ApplicationView{ID: "app", Queue: "root.a", User: "ada", Asks: []api.AskView{ask("few"), ask("all")}}
	e := examination{
		view: &api.View{
			Root: &api.QueueView{Path: "root", Queues: []*api.QueueView{{Path: "root.a"}}},
			Groups: map[string]api.GroupView{
				api.QuorumOf + "few": {Terms: api.GroupTerms{Least: 3}, Waiting: 1},
				api.QuorumOf + "all": {Terms: api.GroupTerms{Least: 1}, Waiting: 1},
			},
		},
		byLeaf: map[api.QueuePath][]*api.ApplicationView{"root.a": {app}},
	}
	e.groups()
	assert.Equal(t, len(e.found), 1)
	f := e.found[0]
	assert.Equal(t, f.Subject, api.QuorumOf+"few")
	assert.Equal(t, f.Cause, "it cannot start: 1 of the 3 members that it needs are there")
	assert.Equal(t, f.Remedy, "none was tried: 2 members more must come")
	assert.Equal(t, f.Asks, 1)
}
