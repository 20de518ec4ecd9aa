package metrics_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/core/placement"
)

// TestQueuesThatGoLeaveNoSeries has queues come and go with their applications: each has
// series while it is there, and none after.
func TestQueuesThatGoLeaveNoSeries(t *testing.T) {
	w := newFixture(t, api.QueueConfig{Name: "root", Parent: true})
	w.does(api.Reconfigure{Config: api.Config{
		Name: "p", Root: api.QueueConfig{Name: "root", Parent: true}, Rules: []placement.Rule{{Kind: placement.Provided, Create: true}},
	}})
	come := func(i int) api.ApplicationID {
		id := api.ApplicationID(fmt.Sprint("app", i))
		w.does(api.AddApplication{ID: id, Queue: api.QueuePath(fmt.Sprint("root.space", i)), User: "ann"})
		return id
	}
	w.does(api.RemoveApplication{ID: come(0)}) // what is counted of all applications has series from here on
	before := slices.Sorted(maps.Keys(w.series()))
	for i := range 50 {
		id := come(i)
		found := 0
		for name := range w.series() {
			if strings.Contains(name, fmt.Sprint("root.space", i)) {
				found++
			}
		}
		assert.Assert(t, found > 0)
		w.does(api.RemoveApplication{ID: id})
	}
	assert.DeepEqual(t, slices.Sorted(maps.Keys(w.series())), before)
}
