package scheduler

import (
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/core"
	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/reports"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

func emptyPartition() *core.Partition {
	return core.NewPartition(api.Options{Kinds: new(resources.Kinds)}, api.Config{Name: "default", Root: api.QueueConfig{Name: "root"}})
}

// request is a reader of a broker that waits for so many messages.
func request(b *viewBroker, after uint64) *readRequest {
	r := &readRequest{after: after, served: make(chan struct{})}
	b.add(r)
	return r
}

func isServed(r *readRequest) bool {
	select {
	case <-r.served:
		return true
	default:
		return false
	}
}

// Many nodes are sent. A view shows all that was sent before; a snapshot what there is
// soon.
func TestASnapshotDoesNotWaitForMessages(t *testing.T) {
	o := &owner{
		untracked: new(atomic.Bool),
		partition: emptyPartition(), inbox: newInbox(meter{}), outbox: newOutbox(meter{}), broker: newViewBroker(), done: make(chan struct{}),
	}
	o.steps, o.reports = plainSteps{o.partition}, reports.NewBook(o.partition, new(resources.Kinds))
	o.heartbeat.start(time.Now())
	for i := range 3 * serveEvery {
		assert.Assert(t, o.inbox.force(api.AddNode{ID: api.NodeID(fmt.Sprint(i))}))
	}
	view, snapshot := request(o.broker, o.inbox.total()), request(o.broker, 0)
	go o.run(nil)
	<-snapshot.served
	<-view.served
	assert.Equal(t, len(snapshot.view.Nodes), serveEvery)
	assert.Equal(t, len(view.view.Nodes), 3*serveEvery)
	o.inbox.end()
	<-o.done
}

// Two readers wait while it is too soon for a view. They get the same one, and as long
// as nothing happens it is current and had without the owner.
func TestReadersShareAView(t *testing.T) {
	p := emptyPartition()
	b := newViewBroker()
	assert.Assert(t, b.currentView() == nil)
	first, second := request(b, 0), request(b, 3)
	b.changed, b.cost = time.Now(), time.Hour
	b.serve(time.Now(), p, 3)
	assert.Assert(t, !isServed(first) && !isServed(second))
	b.cost = 0
	b.serve(time.Now(), p, 3)
	assert.Assert(t, isServed(first) && isServed(second))
	assert.Assert(t, first.view != nil && first.view == second.view)
	assert.Equal(t, len(b.waiting), 0)

	b.cost = time.Hour
	third, later := request(b, 3), request(b, 4)
	b.serve(time.Now(), p, 3)
	assert.Assert(t, isServed(third) && third.view == first.view)
	assert.Assert(t, !isServed(later))
	assert.Assert(t, b.currentView() == first.view)
	b.changes()
	assert.Assert(t, b.currentView() == nil)
	last, _ := b.latest()
	assert.Assert(t, last == first.view)
	b.serve(time.Now(), p, 4)
	assert.Assert(t, !isServed(later))
}

// A view that readers have is never written again.
func TestAViewStaysAsItIs(t *testing.T) {
	p := emptyPartition()
	b := newViewBroker()
	first := request(b, 0)
	b.serve(time.Now(), p, 0)
	b.changes()
	p.Apply(time.Unix(0, 0), api.AddNode{ID: "node-1"})
	b.cost = 0
	second := request(b, 0)
	b.serve(time.Now(), p, 0)
	assert.Equal(t, len(first.view.Nodes), 0)
	assert.Equal(t, len(second.view.Nodes), 1)
}

// Replies whose cost was reported keep readers waiting: in proportion, but neither
// less nor more than a pause.
func TestRepliesCount(t *testing.T) {
	b := viewBroker{changed: time.Unix(100, 0), cost: time.Millisecond}
	assert.Equal(t, b.due().Sub(b.changed), 9*time.Millisecond)
	b.reportReadCost(time.Microsecond)
	assert.Equal(t, b.due().Sub(b.changed), replySoonest)
	b.reportReadCost(45*time.Millisecond - time.Microsecond)
	assert.Equal(t, b.due().Sub(b.changed), 135*time.Millisecond)
	b.reportReadCost(time.Second)
	assert.Equal(t, b.due().Sub(b.changed), replyLatest)
	b.cost = time.Second
	assert.Equal(t, b.due().Sub(b.changed), 9*time.Second)
}

// Of a reader that went away nothing is left.
func TestAReaderGoesAway(t *testing.T) {
	b := newViewBroker()
	r := request(b, 0)
	_, waits := b.next()
	assert.Assert(t, waits)
	b.withdraw(r)
	b.withdraw(r)
	_, waits = b.next()
	assert.Assert(t, !waits)
	b.serve(time.Now(), emptyPartition(), 0)
	assert.Assert(t, !isServed(r))
}

// TestAViewIsMadeForAReader: none is made while no reader waits, nor while all of them
// wait for messages that are not handled yet.
func TestAViewIsMadeForAReader(t *testing.T) {
	b, p := newViewBroker(), emptyPartition()
	later := time.Now().Add(time.Hour)
	b.changes()
	_, waits := b.next()
	assert.Assert(t, !waits)
	b.serve(later, p, 7)
	assert.Assert(t, !b.current.Load())

	r := request(b, 9)
	_, waits = b.next()
	assert.Assert(t, waits)
	b.serve(later, p, 8)
	assert.Assert(t, !b.current.Load() && !isServed(r))
	other := request(b, 10)
	b.serve(later, p, 9)
	assert.Assert(t, b.current.Load() && isServed(r) && !isServed(other))
}
