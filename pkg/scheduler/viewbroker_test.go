package scheduler

import (
	"cmp"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/core"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

func emptyPartition() *core.Partition {
	return core.NewPartition(core.Options{Kinds: new(resources.Kinds)}, core.Config{Name: "default", Root: core.QueueConfig{Name: "root"}})
}

// TestWhoGlancesDoesNotWait sends many nodes. Who wants a view sees all that was sent
// before, who glances what there is soon.
func TestWhoGlancesDoesNotWait(t *testing.T) {
	o := &owner{partition: emptyPartition(), inbox: newInbox(meter{}), outbox: newOutbox(meter{}), done: make(chan struct{})}
	glance, view := make(look, 1), make(look, 1)
	for i := range 3 * showEvery {
		assert.Assert(t, o.inbox.force(core.AddNode{ID: core.NodeID(fmt.Sprint(i))}))
	}
	assert.Assert(t, o.inbox.force(view))
	assert.Assert(t, o.inbox.look(glance))
	go o.run(nil)
	assert.Equal(t, len((<-glance).complete().Nodes), showEvery)
	assert.Equal(t, len((<-view).complete().Nodes), 3*showEvery)
	o.inbox.end()
	<-o.done
	assert.Assert(t, !o.inbox.look(glance))
}

// TestReadersShareAView has two readers who wait while it is too soon for a view. They
// get the same one, and as long as nothing happens it is shown again at once.
func TestReadersShareAView(t *testing.T) {
	p := emptyPartition()
	first, second := make(look, 1), make(look, 1)
	var g gallery
	g.changed, g.cost = time.Now(), time.Hour
	g.waiting = []look{first, second}
	g.show(p)
	assert.Equal(t, len(first)+len(second), 0)
	g.cost = 0
	g.show(p)
	view := <-first
	assert.Assert(t, view != nil && view == <-second)
	assert.Equal(t, len(g.waiting), 0)

	g.cost = time.Hour
	g.waiting = append(g.waiting, first)
	g.show(p)
	assert.Assert(t, <-first == view)
	g.changes()
	g.waiting = append(g.waiting, first)
	g.show(p)
	assert.Equal(t, len(first), 0)
}

// TestAnswersCount has readers whose answers were charged wait: in proportion, but
// neither less nor more than a pause.
func TestAnswersCount(t *testing.T) {
	g := gallery{changed: time.Unix(100, 0), cost: time.Millisecond}
	assert.Equal(t, g.due().Sub(g.changed), 9*time.Millisecond)
	g.charge(time.Microsecond)
	assert.Equal(t, g.due().Sub(g.changed), answerSoonest)
	g.charge(45*time.Millisecond - time.Microsecond)
	assert.Equal(t, g.due().Sub(g.changed), 135*time.Millisecond)
	g.charge(time.Second)
	assert.Equal(t, g.due().Sub(g.changed), answerLatest)
	g.cost = time.Second
	assert.Equal(t, g.due().Sub(g.changed), 9*time.Second)
}

// TestPicturesAreCompletedInOrder has readers of several pictures at the same time. One
// that nobody looks at is completed with the next.
func TestPicturesAreCompletedInOrder(t *testing.T) {
	p := emptyPartition()
	var last *picture
	var pictures []*picture
	var readers sync.WaitGroup
	for i := range 20 {
		p.Apply(time.Unix(0, 0), core.AddNode{ID: "n", Capacity: resources.Amounts{1000}})
		for k := range 20 {
			p.Apply(time.Unix(0, 0), core.AddAllocation{Allocation: &core.Allocation{
				Key: core.AllocationKey(fmt.Sprint(100*i - k + 1000)), Node: "n", Origin: core.Foreign, Amounts: resources.Amounts{1},
			}})
		}
		last = last.after(p.Draft())
		pictures = append(pictures, last)
	}
	for i, one := range pictures {
		if i%3 != 0 {
			readers.Go(func() { one.complete() })
		}
	}
	readers.Wait()
	for i, one := range pictures[:len(pictures)-1] {
		assert.Assert(t, one.done.Load(), i)
		keys := one.view.Nodes[0].ForeignAllocations
		assert.Equal(t, len(keys), 20*(i+1))
		assert.Assert(t, slices.IsSortedFunc(keys, func(a, b *core.Allocation) int { return cmp.Compare(a.Key, b.Key) }))
	}
	assert.Assert(t, last.after(nil).before == nil)
}
