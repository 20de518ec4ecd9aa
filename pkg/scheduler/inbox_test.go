package scheduler

import (
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/reports"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// Ten times as many messages come as may wait where nothing is configured. What fits is
// taken and nothing beyond, also while the owner carries them out. After that the memory
// of the flood is given up, and as many may wait again.
func TestMessagesBeyondInboxMax(t *testing.T) {
	if testing.Short() {
		t.Skip("large, and played without the race detector")
	}
	limit := Config{}.withDefaults().InboxMax
	assert.Equal(t, limit, inboxMax)
	o := &owner{
		untracked: new(atomic.Bool),
		partition: emptyPartition(), inbox: newInbox(meter{}), outbox: newOutbox(meter{}), broker: newViewBroker(), done: make(chan struct{}),
	}
	o.steps, o.reports = plainSteps{o.partition}, reports.NewBook(o.partition, new(resources.Kinds))
	o.heartbeat.start(time.Now())
	// Each message is of a kind that the owner has nothing to do for.
	flood := func(times int) (taken int) {
		const request = 5000
		for range times * limit / request {
			messages := slices.Repeat([]message{struct{}{}}, request)
			err := (&conversion{batches: []batch{{to: o, messages: messages}}}).post(limit)
			if err == nil {
				taken += request
			} else {
				assert.ErrorIs(t, err, ErrInboxFull)
			}
		}
		return taken
	}
	most := limit / 5000 * 5000
	assert.Equal(t, flood(10), most)
	for range 2 {
		batches, _, open := o.inbox.take(nil)
		assert.Assert(t, open)
		assert.Equal(t, len(slices.Concat(batches...)), most)
		assert.Equal(t, flood(2), 0, "what the owner has taken counts until it is carried out")
		o.handleAll(time.Now(), batches)
		assert.Equal(t, len(slices.Concat(batches...)), 0, "what is carried out is given up")
		assert.Equal(t, flood(2), most)
	}
	assert.Equal(t, o.handled, uint64(2*most))
}

// A slice that held ten times as much as is kept is given up, and a small one is used again.
// Neither keeps what was in it.
func TestSlicesBeyondSparesMax(t *testing.T) {
	for size, kept := range map[int]bool{sparesMax: true, sparesMax + 1: false, 10 * sparesMax: false} {
		list := make([]message, size)
		for i := range list {
			list[i] = retire{}
		}
		again := emptied(list)
		assert.Equal(t, len(again), 0)
		assert.Equal(t, cap(again), map[bool]int{true: size}[kept])
		assert.Assert(t, !slices.ContainsFunc(list, func(m message) bool { return m != nil }))
	}
}

// What is sent waits as it was sent, in order, without being copied, and is counted.
func TestAnInboxCopiesNothing(t *testing.T) {
	b := newInbox(meter{})
	first, second := []message{refusal{}, retire{}}, []message{retire{}}
	b.add(first)
	b.add(second)
	assert.ErrorContains(t, b.room(1, 0, 3), "3 entries wait")
	assert.NilError(t, b.room(1, 0, 4))
	all, _, open := b.take(nil)
	assert.Assert(t, open)
	assert.Equal(t, len(all), 2)
	assert.Assert(t, &all[0][0] == &first[0] && &all[1][0] == &second[0])
	assert.ErrorContains(t, b.room(1, 0, 3), "3 entries wait")
	b.taken.Add(-3)
	assert.NilError(t, b.room(1, 0, 1))
	assert.Equal(t, b.total(), uint64(3))
}
