package scheduler_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"
	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/events"
	"github.com/narwhal-scheduler/narwhal/pkg/scheduler"
	"github.com/narwhal-scheduler/narwhal/pkg/scheduler/schedulertest"
)

// manyAsks are asks of app-1 that have not been made before: as many requests as there
// are sizes, over and over, until so many asks are in them.
func manyAsks(name string, total int, sizes ...int) (requests [][]*si.Allocation) {
	for made := 0; made < total; {
		request := asks(min(sizes[len(requests)%len(sizes)], total-made))
		for _, a := range request {
			a.AllocationKey = fmt.Sprint(name, "-", made)
			made++
		}
		requests = append(requests, request)
	}
	return requests
}

// placedKeys are how often each allocation was announced.
func placedKeys(m *schedulertest.MockScheduler) map[string]int {
	times := map[string]int{}
	for _, call := range m.Calls() {
		if r, ok := call.Message.(*si.AllocationResponse); ok {
			for _, a := range r.New {
				times[a.AllocationKey]++
			}
		}
	}
	return times
}

// One callback blocks, and 80,000 asks come in requests of various sizes. No more are
// taken than the limit says, wherever they wait. When the callback returns all goes
// on, and nothing that was taken is lost.
func TestABlockedCallbackLimitsWhatIsTaken(t *testing.T) {
	const limit = 2000
	history, err := events.NewHistory("test", events.Config{})
	assert.NilError(t, err)
	for name, history := range map[string]*events.History{"without a history": nil, "with a history": history} {
		t.Run(name, func(t *testing.T) {
			gate := new(blocked)
			options := schedulertest.Options{During: gate.on("node-1")}
			options.Scheduler = scheduler.Config{InboxMax: limit, SkipPredicates: true, BatchAllocations: 256, Events: history}
			cluster(t, options, "vcore=1000000", func(t *testing.T, m *schedulertest.MockScheduler) {
				m.Ask("app-1", "first", "vcore=1")
				var taken, refused int
				var again [][]*si.Allocation
				for _, request := range manyAsks("pod", 80_000, 1, 600, 2, 4000, 20, 200, 1000) {
					if err := m.Send(request...); err == nil {
						taken += len(request)
					} else {
						assert.ErrorIs(t, err, scheduler.ErrInboxFull)
						refused++
						again = append(again, request)
					}
					m.Settle()
				}
				assert.Assert(t, refused > 0)
				assert.Assert(t, taken > limit/4 && taken <= limit, "%d were taken", taken)
				app := m.Application("app-1")
				assert.Equal(t, len(app.Allocations)+len(app.Asks), taken+1)

				gate.letGo()
				m.Settle()
				assert.Equal(t, len(placedKeys(m)), taken+1)
				for _, request := range again[:5] {
					assert.NilError(t, m.Send(request...))
					m.Settle()
					taken += len(request)
				}
				told := placedKeys(m)
				assert.Equal(t, len(told), taken+1)
				for key, times := range told {
					assert.Equal(t, times, 1, key)
				}
			})
		})
	}
}

// A request that is larger than the limit is taken when nothing else waits, and the next
// one when all of it is done.
func TestALargeRequestIsTakenAlone(t *testing.T) {
	gate := new(blocked)
	options := schedulertest.Options{During: gate.on("node-1")}
	options.Scheduler = scheduler.Config{InboxMax: 10, SkipPredicates: true}
	cluster(t, options, "vcore=1000", func(t *testing.T, m *schedulertest.MockScheduler) {
		requests := manyAsks("pod", 201, 100, 1, 100)
		assert.NilError(t, m.Send(requests[0]...))
		assert.ErrorIs(t, m.Send(requests[1]...), scheduler.ErrInboxFull)
		m.Settle()
		assert.ErrorIs(t, m.Send(requests[1]...), scheduler.ErrInboxFull)
		assert.ErrorIs(t, m.Send(requests[2]...), scheduler.ErrInboxFull)
		gate.letGo()
		m.Settle()
		assert.NilError(t, m.Send(requests[2]...))
		m.Settle()
		assert.NilError(t, m.Send(requests[1]...))
		m.Settle()
		assert.Equal(t, len(placedKeys(m)), 201)
	})
}

// A resource manager that sends from within its callbacks is refused when too much waits.
// It does not wait for itself.
func TestACallbackThatSendsIsNotBlocked(t *testing.T) {
	var m *schedulertest.MockScheduler
	more := manyAsks("more", 1000, 1)
	refused := 0
	options := schedulertest.Options{During: func(call schedulertest.Call) error {
		if placedOn(call) == "" || len(more) == 0 {
			return nil
		}
		err := m.Send(more[0]...)
		if errors.Is(err, scheduler.ErrInboxFull) {
			refused++
			return nil
		}
		more = more[1:]
		return err
	}}
	options.Scheduler = scheduler.Config{InboxMax: 100, SkipPredicates: true}
	cluster(t, options, "vcore=10000", func(t *testing.T, made *schedulertest.MockScheduler) {
		m = made
		assert.NilError(t, m.Send(asks(1000)...))
		m.Settle()
		assert.Assert(t, refused > 0)
		assert.Equal(t, len(placedKeys(m)), 2000-len(more))
	})
}

// Asks that wait for room have been tried and do not count, however many they are.
func TestAsksThatWaitForRoomDoNotCount(t *testing.T) {
	options := schedulertest.Options{}
	options.Scheduler = scheduler.Config{InboxMax: 10}
	cluster(t, options, "vcore=1", func(t *testing.T, m *schedulertest.MockScheduler) {
		for _, request := range manyAsks("pod", 1000, 10) {
			assert.NilError(t, m.Send(request...))
			m.Settle()
		}
		assert.Equal(t, len(m.Application("app-1").Asks), 999)
	})
}
