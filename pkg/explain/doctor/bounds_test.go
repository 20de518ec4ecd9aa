package doctor

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/explain"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// TestFindingsAreBounded: of ten times as many findings of a kind as are told the others are counted, and no more remedies are tried
// than may be.
func TestFindingsAreBounded(t *testing.T) {
	tried := 0
	e := &examination{ctx: t.Context()}
	for i := range 10 * foundMax {
		e.add(Finding{Kind: Impossible, Subject: fmt.Sprintf("application %03d", i), try: func(*examination, *Finding) { tried++ }})
	}
	r := e.report()
	assert.Equal(t, len(r.Findings), 20)
	assert.Equal(t, r.More[Impossible], 180)
	assert.Equal(t, tried, 10)
	assert.Equal(t, r.Findings[19].Remedy, notTried)
	assert.Equal(t, r.Lines(time.Time{})[20*2], "impossible ask: 180 more")
}

// TestQuestionsAreBounded: of ten times as many applications and nodes as the resource manager is asked about, it is asked about so many.
func TestQuestionsAreBounded(t *testing.T) {
	view := &api.View{Root: &api.QueueView{Path: "root"}}
	for i := range 10 * askedMax {
		view.Nodes = append(view.Nodes, &api.NodeView{ID: api.NodeID(fmt.Sprint("n", i)), Schedulable: true, Capacity: resources.Amounts{8}})
	}
	for i := range 10 * refusedMax {
		id := api.ApplicationID(fmt.Sprint("a", i))
		ask := &api.Allocation{Key: "k", Application: id, Amounts: resources.Amounts{1}, Created: time.Unix(int64(i), 0)}
		view.Applications = append(view.Applications, &api.ApplicationView{
			ID: id, Asks: []api.AskView{{Allocation: ask, Waiting: &api.Waiting{Reason: api.Infeasible}}},
		})
	}
	asked := 0
	e := &examination{ctx: t.Context(), view: view, trial: explain.Trial{MayRun: func(api.AllocationKey, api.NodeID) (bool, error) {
		asked++
		return true, errors.New("no such label")
	}}}
	e.refused()
	assert.Equal(t, asked, 5*50)
	assert.Equal(t, len(e.found), 5)
	assert.Equal(t, e.found[0].Cause, "k of it is refused on all of 50 nodes that were asked about: no such label")
}

// TestLargeFloodsComeFirst: a flood without which nothing else would run is a note, and stands before notes about fewer asks.
func TestLargeFloodsComeFirst(t *testing.T) {
	e := &examination{ctx: t.Context()}
	e.add(Finding{Kind: OutOfReach, Severity: Note, Subject: "root.a", Remedy: "none"})
	e.add(Finding{Kind: AtQuota, Severity: Note, Subject: "root.a", Asks: 40, Remedy: "none"})
	e.add(Finding{Kind: Flood, Severity: Note, Subject: "user mallory", of: 3220, Remedy: "none"})
	assert.Equal(t, e.report().Findings[0].Subject, "user mallory")
}
