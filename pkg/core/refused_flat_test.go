package core_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/core"
	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
)

// A refuser is a resource manager that knows nothing of classes, and refuses some asks on every node.
type refuser struct {
	p       *core.Partition
	now     time.Time
	refused map[api.AllocationKey]int // how often each
	asked   int
}

// refusing is a full cluster of one with so many more important asks that it refuses, at rest.
func refusing(nodes, asks int) *refuser {
	r := &refuser{now: start, refused: map[api.AllocationKey]int{}}
	feasible := func(key api.AllocationKey) error {
		if r.asked++; key[0] == 'w' {
			r.refused[key]++
			return errors.New("no")
		}
		return nil
	}
	r.p = cluster(nodes, 2, api.Options{
		Feasible: func(key api.AllocationKey, _ api.NodeID, _ bool) error { return feasible(key) },
		Simulate: func(key api.AllocationKey, _ api.NodeID, _, _ []api.AllocationKey) error { return feasible(key) },
	})
	r.p.Apply(start, api.AddApplication{ID: "a", Queue: "root.q0000"})
	r.p.Apply(start, api.AddApplication{ID: "b", Queue: "root.q0001"})
	for i := range nodes {
		a := ask("a", fmt.Sprint("full", i), 16000, 1<<30, 1)
		a.Allocation.Node = api.NodeID(fmt.Sprintf("n%06d", i))
		r.p.Apply(start, a)
	}
	for i := range asks {
		r.add(fmt.Sprint("w", i), 100)
	}
	r.run()
	for end := start.Add(90 * time.Second); r.now.Before(end); r.run() {
		r.now = r.now.Add(time.Second)
	}
	return r
}

func (r *refuser) add(key string, priority int32) {
	a := ask("b", key, 16000, 1<<30, 1)
	a.Allocation.Priority, a.Allocation.Created = priority, r.now
	r.p.Apply(r.now, a)
}

// run schedules until nothing is left to do now, and lets end what is evicted.
func (r *refuser) run() {
	for more := true; more; {
		var fx api.Effects
		fx, more = r.p.Schedule(r.now)
		for _, e := range fx {
			if e, evicted := e.(*api.EvictionRequested); evicted {
				r.p.Apply(r.now, api.ReleaseAllocation{Application: e.Application, Key: e.Key})
				more = true
			}
		}
		if at, due := r.p.Due(); due && !at.After(r.now) {
			more = true
		}
	}
}

// TestNominationsBesideRefusedAsks: what a nomination costs does not depend on how many asks the
// resource manager refuses, although all of them may be helped by the node that it changes. They are
// tried again so many in a second, each in its turn.
func TestNominationsBesideRefusedAsks(t *testing.T) {
	if testing.Short() {
		t.Skip("long, so make test-long plays it")
	}
	const nodes, asks, nominations, atOnce = 150, 640, 100, 64
	work := func(asks int) (questions, attempts int, r *refuser) {
		r = refusing(nodes, asks)
		for i := range 2 { // each is asked about once on the first node that is freed
			r.add(fmt.Sprint("first", i), 50)
			r.run()
			r.now = r.now.Add(2 * time.Second)
			r.run()
		}
		asked, before := r.asked, r.p.View().Work.Attempts
		for i := range nominations {
			r.add(fmt.Sprint("good", i), 50)
			r.run()
		}
		assert.Equal(t, r.p.View().Preempted.Nominations, uint64(nominations+2))
		assert.NilError(t, r.p.Verify())
		return r.asked - asked, int(r.p.View().Work.Attempts - before), r
	}
	questions, attempts, _ := work(0)
	asked, tried, r := work(asks)
	assert.Assert(t, asked <= 3*questions, "%d questions, %d without refused asks", asked, questions)
	assert.Assert(t, tried <= 3*attempts, "%d attempts, %d without refused asks", tried, attempts)

	clear(r.refused)
	for second := range 2 * asks * nominations / atOnce {
		before := r.asked
		r.now = r.now.Add(time.Second)
		r.run()
		if second < 20 { // until everything is asked anew
			assert.Assert(t, r.asked-before <= 4*atOnce, "%d questions in a second", r.asked-before)
		}
	}
	for i := range asks {
		assert.Assert(t, r.refused[api.AllocationKey(fmt.Sprint("w", i))] > 0, "w%d was not tried again", i)
	}
}
