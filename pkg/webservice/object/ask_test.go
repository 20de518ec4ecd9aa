package object

import (
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/core/preemptor"
	"github.com/narwhal-scheduler/narwhal/pkg/webservice/internal/fixture"
)

// Room is made only while the ask is nominated: an attempt whose nomination has ended is told as
// one that was made, and one that came to nothing as that.
func TestAttemptsInWords(t *testing.T) {
	w := fixture.New(t)
	at := &Snapshot{View: w.Views[w.Names[0]], kinds: w.Kinds}
	var planned *api.AskView
	for _, app := range at.Applications {
		for i := range app.Asks {
			if app.Asks[i].Plan != nil {
				planned = &app.Asks[i]
			}
		}
	}
	assert.Assert(t, planned.Plan.Cost.Feasible())
	made := api.PreemptionAttempt{Trigger: preemptor.Priority, Nodes: 2, Sufficient: 1, Node: "node-1", Plan: planned.Plan}
	assert.Assert(t, strings.HasPrefix(at.summary(made, "node-1"), "room is made on node-1: victims found: "))
	for _, nominated := range []api.NodeID{"", "node-2"} {
		text := at.summary(made, nominated)
		assert.Assert(t, strings.HasPrefix(text, "room was made by priority on node node-1: victims found: "), text)
		assert.Assert(t, strings.HasSuffix(text, "; the nomination has ended"), text)
	}
	var planner preemptor.Planner
	refused := planner.Refuse(preemptor.Config{}, preemptor.Ask{Key: "k", Trigger: preemptor.Priority}, preemptor.Node{Kinds: w.Kinds}, "no GPU")
	failed := api.PreemptionAttempt{Trigger: preemptor.Priority, Nodes: 2, Sufficient: 1, Refused: 1, Node: "node-1", Plan: &refused}
	for _, nominated := range []api.NodeID{"", "node-1"} {
		assert.Equal(t, at.summary(failed, nominated), "by priority on none of 2 nodes, 1 refused; nearest is node-1: refused even without the candidates: no GPU")
	}
}
