package core_test

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/internal/seeds"
)

// TestViewsAreNeverStale compares the view that objects kept with one made from
// scratch, and sees that an older view has not changed since.
func TestViewsAreNeverStale(t *testing.T) {
	for seed := range seeds.Of(t, 60) {
		h := newHistory(rand.New(rand.NewPCG(seed, 2)))
		before, printed := h.p.View(), ""
		for i := range 100 {
			printed = fmt.Sprint(flat(before))
			done := h.step()
			assert.Equal(t, fmt.Sprint(flat(before)), printed, "seed %d, step %d changed an older view: %T%+v", seed, i, done, done)
			kept := h.p.View()
			h.p.DropViews()
			fresh := h.p.View()
			assert.Assert(t, reflect.DeepEqual(kept, fresh), "seed %d, step %d: %T%+v\nkept  %v\nfresh %v",
				seed, i, done, done, flat(kept), flat(fresh))
			before = kept
		}
	}
}

// flat prints everything in a view.
func flat(v *api.View) []any {
	out := []any{v.Capacity, v.Used, v.Occupied, v.ForeignUnknownNode}
	for _, n := range v.Nodes {
		out = append(out, *n)
	}
	for _, app := range v.Applications {
		out = append(out, *app)
		for _, ask := range app.Asks {
			out = append(out, *ask.Waiting)
		}
	}
	var queues func(q *api.QueueView)
	queues = func(q *api.QueueView) {
		out = append(out, *q)
		for _, child := range q.Queues {
			queues(child)
		}
	}
	queues(v.Root)
	return out
}

// BenchmarkView measures a view of a large cluster in which little changed.
//
//	go test -run - -bench View -cpu 1 ./pkg/core
func BenchmarkView(b *testing.B) {
	p := load{10_000, 300_000, 10, 100}.build(api.Options{}, api.FIFO)
	run(p)
	p.View()
	for _, changed := range []int{0, 1000, 10_000} {
		b.Run(fmt.Sprintf("changed=%d", changed), func(b *testing.B) {
			for range b.N {
				b.StopTimer()
				p.View()
				for i := range changed {
					p.Apply(start, api.UpdateNode{ID: api.NodeID(fmt.Sprintf("n%06d", i)), Attributes: map[string]string{}})
				}
				b.StartTimer()
				p.View()
			}
		})
	}
}
