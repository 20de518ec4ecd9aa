package metrics_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/core"
	"github.com/narwhal-scheduler/narwhal/pkg/core/placement"
)

// TestQueuesThatGoLeaveNoSeries has queues come and go with their applications: each has
// series while it is there, and none after.
func TestQueuesThatGoLeaveNoSeries(t *testing.T) {
	w := newFixture(t, core.QueueConfig{Name: "root", Parent: true})
	w.does(core.Reconfigure{Config: core.Config{
		Name: "p", Root: core.QueueConfig{Name: "root", Parent: true}, Rules: []placement.Rule{{Kind: placement.Provided, Create: true}},
	}})
	come := func(i int) core.ApplicationID {
		id := core.ApplicationID(fmt.Sprint("app", i))
		w.does(core.AddApplication{ID: id, Queue: core.QueuePath(fmt.Sprint("root.space", i)), User: "ann"})
		return id
	}
	w.does(core.RemoveApplication{ID: come(0)}) // what is counted of all applications has series from here on
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
		w.does(core.RemoveApplication{ID: id})
	}
	assert.DeepEqual(t, slices.Sorted(maps.Keys(w.series())), before)
}
