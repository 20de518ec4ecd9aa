package object

import (
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/archive"
	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/events"
	"github.com/narwhal-scheduler/narwhal/pkg/webservice/internal/fixture"
)

// TestUsage adds up what a user has in several queues, in an order that a name
// with a hyphen could spoil.
func TestUsage(t *testing.T) {
	w := fixture.New(t)
	app := func(id, queue string, vcore int64) *api.ApplicationView {
		return &api.ApplicationView{
			ID: api.ApplicationID(id), Queue: api.QueuePath(queue), User: "u", State: api.Running,
			Used: w.Amounts(t, vcore, 0, 0), Allocations: []*api.Allocation{{}},
		}
	}
	at := &Snapshot{from: &Sources{Kinds: w.Kinds}, kinds: w.Kinds, View: &api.View{Root: &api.QueueView{Path: "root"}, Applications: []*api.ApplicationView{
		app("1", "root.a.c", 1), app("2", "root.a-b.x", 2), app("3", "root.a.d", 4), app("4", "root.a.c", 8),
	}}}
	got := encoded(at.users(), w.Kinds)
	assert.Equal(t, got, `[{"userName":"u","queues":{"queuePath":"root","resourceUsage":{"vcore":15},"runningApplications":["2","1","4","3"],"children":[`+
		`{"queuePath":"root.a","resourceUsage":{"vcore":13},"runningApplications":["1","4","3"],"children":[`+
		`{"queuePath":"root.a.c","resourceUsage":{"vcore":9},"runningApplications":["1","4"]},`+
		`{"queuePath":"root.a.d","resourceUsage":{"vcore":4},"runningApplications":["3"]}]},`+
		`{"queuePath":"root.a-b","resourceUsage":{"vcore":2},"runningApplications":["2"],"children":[{"queuePath":"root.a-b.x","resourceUsage":{"vcore":2},"runningApplications":["2"]}]}]}}]`)
}

// TestUsageWaits: what waits and came lately is said of users that run nothing, too, and counts for
// every group of theirs; limits of groups play no part in that.
func TestUsageWaits(t *testing.T) {
	w := fixture.New(t)
	now := time.Unix(1_000_000, 0)
	kept, err := archive.New(archive.Config{})
	assert.NilError(t, err)
	book := kept.Open("p")
	book.Observe(events.Step{Now: now, Effects: api.Effects{
		&api.ApplicationAccepted{ID: "1", Queue: "root.a", User: "ada", Groups: []string{"dev", "ops"}},
		api.AskAdded{Allocation: &api.Allocation{Application: "1", Key: "k-1", Created: now}},
		&api.ApplicationAccepted{ID: "2", Queue: "root.b", User: "bob"},
		api.AskAdded{Allocation: &api.Allocation{Application: "2", Key: "k-2", Created: now}},
	}})
	ask := func(at int64) api.AskView { return api.AskView{Allocation: &api.Allocation{Created: time.Unix(0, at)}} }
	at := &Snapshot{
		from: &Sources{Kinds: w.Kinds, Now: func() time.Time { return now }}, kinds: w.Kinds, past: book,
		View: &api.View{Root: &api.QueueView{Path: "root"}, Applications: []*api.ApplicationView{
			{ID: "1", Queue: "root.a", User: "ada", Groups: []string{"dev", "ops"}, Pending: w.Amounts(t, 3, 0, 0), Asks: []api.AskView{ask(70), ask(40), ask(50)}},
			{ID: "3", Queue: "root.b", User: "ada", Groups: []string{"dev"}, Pending: w.Amounts(t, 1, 0, 0), Asks: []api.AskView{ask(30)}},
		}},
	}
	assert.Equal(t, encoded(at.users(), w.Kinds), `[{"userName":"ada","pendingAsks":4,"oldestRequestTime":30,"arrivals":1,"queues":{"queuePath":"root","pendingAsks":4,"oldestRequestTime":30,"arrivals":1,"pendingResource":{"vcore":4},"children":[`+
		`{"queuePath":"root.a","pendingAsks":3,"oldestRequestTime":40,"arrivals":1,"pendingResource":{"vcore":3}},`+
		`{"queuePath":"root.b","pendingAsks":1,"oldestRequestTime":30,"pendingResource":{"vcore":1}}]}},`+
		`{"userName":"bob","arrivals":1,"queues":{"queuePath":"root","arrivals":1,"children":[{"queuePath":"root.b","arrivals":1}]}}]`)
	groups := at.groups()
	assert.Equal(t, len(groups), 2)
	for i, want := range []struct {
		name              string
		pending, arrivals int
	}{{"dev", 4, 1}, {"ops", 3, 1}} {
		assert.Equal(t, groups[i].GroupName, want.name)
		assert.Equal(t, groups[i].PendingAsks, want.pending)
		assert.Equal(t, groups[i].Arrivals, want.arrivals)
	}
}
