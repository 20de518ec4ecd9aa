package object

import (
	"fmt"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// Names that asks make up fill no table: of ten times as many as that, 64 are called by their names, in order, and the others are counted
// as unknown. The table of the scheduler learns none.
func TestFewNamesOfAsksAreLearned(t *testing.T) {
	kinds := new(resources.Kinds)
	unknown, err := kinds.Intern(resources.UnknownKind)
	assert.NilError(t, err)
	ask := &api.Allocation{Key: "a", Application: "app", Unknown: map[string]int64{}}
	for i := range 640 {
		ask.Unknown[fmt.Sprintf("kind-%03d", i)] = 2
	}
	ask.Amounts.Set(unknown, ask.Unknowns())
	view := &api.View{Root: &api.QueueView{Path: "root", Pending: ask.Amounts}, Applications: []*api.ApplicationView{{
		ID: "app", Queue: "root", Pending: ask.Amounts, Asks: []api.AskView{{Allocation: ask}},
	}}}
	own := kinds.Clone()
	known := named(view, own, unknown)
	assert.Equal(t, own.Len(), 1+64)
	assert.Equal(t, own.Name(resources.Kind(64)), "kind-063")
	assert.Equal(t, len(known.Applications[0].Asks[0].Unknown), 640-64)
	for _, pending := range []resources.Amounts{known.Root.Pending, known.Applications[0].Pending, known.Applications[0].Asks[0].Amounts} {
		assert.Equal(t, pending.Of(unknown), int64(2*(640-64)))
		assert.Equal(t, pending.Of(64), int64(2))
	}
	assert.Equal(t, kinds.Len(), 1)
	assert.Equal(t, view.Root.Pending.Of(unknown), int64(2*640), "the view itself stays")
}
