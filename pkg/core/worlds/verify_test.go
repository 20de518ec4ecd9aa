package worlds

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/core"
	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
)

// eventsOf plays a world, and lists all events. What is looked at after each step must
// not matter.
func eventsOf(w *world, look func(p *core.Partition)) (list []string) {
	g := newGame(w, nil)
	g.blind = true
	g.after = func(fx api.Effects) {
		for _, e := range fx {
			text, err := json.Marshal(e)
			if err != nil {
				panic(err)
			}
			list = append(list, fmt.Sprintf("%v %T %s", g.now, e, text))
		}
		look(g.p)
	}
	g.play()
	return list
}

// TestLookingChangesNothing compares worlds that nothing looks at with the same where
// the laws are checked, and a view is made, after every command and every batch.
func TestLookingChangesNothing(t *testing.T) {
	t.Parallel()
	for seed := range short(400) {
		w := newWorld(seed)
		want := eventsOf(w, func(*core.Partition) {})
		looks := 0
		got := eventsOf(w, func(p *core.Partition) {
			assert.NilError(t, p.Verify(), "seed %d", seed)
			p.View()
			looks++
		})
		assert.Assert(t, slices.Equal(got, want), "seed %d: other events", seed)
		assert.Assert(t, looks > len(w.Pods), "seed %d", seed)
	}
}
