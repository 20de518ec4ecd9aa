package object

import (
	"testing"

	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
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
		`{"queuePath":"root.a-b","resourceUsage":{"vcore":2},"runningApplications":["2"],"children":[{"queuePath":"root.a-b.x","resourceUsage":{"vcore":2},"runningApplications":["2"]}]},`+
		`{"queuePath":"root.a","resourceUsage":{"vcore":13},"runningApplications":["1","4","3"],"children":[`+
		`{"queuePath":"root.a.c","resourceUsage":{"vcore":9},"runningApplications":["1","4"]},`+
		`{"queuePath":"root.a.d","resourceUsage":{"vcore":4},"runningApplications":["3"]}]}]}}]`)
}
