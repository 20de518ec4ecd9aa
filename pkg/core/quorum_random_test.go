package core_test

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/core"
	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

func quorumTags(name string, least int) map[string]string {
	return map[string]string{api.TagQuorum: name, api.TagQuorumLeast: strconv.Itoa(least)}
}

// A quorumWorld is quorums that compete for three nodes. No room is reserved, so that nothing
// excuses a member that starts alone.
type quorumWorld struct {
	chance
	p     *core.Partition
	now   time.Time
	least map[string]int // by quorum
	keys  map[string][]api.AllocationKey
}

func newQuorumWorld(c chance) *quorumWorld {
	w := &quorumWorld{chance: c, now: start, least: map[string]int{}, keys: map[string][]api.AllocationKey{}}
	w.p = core.NewPartition(api.Options{Kinds: testKinds(), BatchMax: 1 + c.IntN(8), ReserveDelay: -1}, leaves("a", "b"))
	for i := range 3 {
		w.p.Apply(w.now, api.AddNode{ID: api.NodeID(fmt.Sprint("n", i)), Capacity: resources.Amounts{4, 100}})
	}
	for _, app := range []api.ApplicationID{"a", "b"} {
		w.p.Apply(w.now, api.AddApplication{ID: app, Queue: api.QueuePath("root." + app)})
	}
	return w
}

// come brings members of a quorum of which the least number fits the empty cluster. Some have
// one more, some are of two applications.
func (w *quorumWorld) come(name string) {
	each := int64(1 + w.IntN(2))
	least := 1 + w.IntN(int(12/each))
	w.least[name] = least
	other := w.IntN(3) == 0
	for i := range least + w.IntN(2) {
		app := api.ApplicationID("a")
		if other && i%2 == 0 {
			app = "b"
		}
		key := api.AllocationKey(fmt.Sprint(name, "-", i))
		w.keys[name] = append(w.keys[name], key)
		w.p.Apply(w.now, api.AddAllocation{Allocation: &api.Allocation{
			Key: key, Application: app, Amounts: resources.Amounts{each}, Created: w.now, Tags: quorumTags(name, least),
		}})
		if w.IntN(4) == 0 {
			w.settle()
		}
	}
}

func (w *quorumWorld) settle() {
	for more := true; more; {
		_, more = w.p.Schedule(w.now)
	}
}

// running counts the members that run by quorum.
func (w *quorumWorld) running(t *testing.T) map[string]int {
	t.Helper()
	assert.NilError(t, w.p.Verify())
	count := map[string]int{}
	for _, app := range w.p.View().Applications {
		for _, a := range app.Allocations {
			count[a.Tags[api.TagQuorum]]++
		}
	}
	for name, n := range count {
		assert.Assert(t, n >= w.least[name], "%s runs %d of %d", name, n, w.least[name])
	}
	return count
}

// TestQuorumsDoNotBlockEachOther has quorums compete. None holds anything before it can start,
// and each runs in the end as others end.
func TestQuorumsDoNotBlockEachOther(t *testing.T) {
	waited := 0
	for seed := range uint64(150) {
		w := newQuorumWorld(rand.New(rand.NewPCG(seed, 92)))
		for i := range 8 {
			w.come(fmt.Sprint("quorum", i))
			w.settle()
			w.running(t)
		}
		for round := 0; len(w.least) > 0; round++ {
			assert.Assert(t, round < 40, "seed %d: %v never run", seed, w.least)
			running := w.running(t)
			if len(running) < len(w.least) {
				waited++
			}
			for i := range 8 {
				name := fmt.Sprint("quorum", i)
				if running[name] == 0 {
					continue
				}
				for _, key := range w.keys[name] {
					w.p.Apply(w.now, api.ReleaseAllocation{Application: "a", Key: key})
					w.p.Apply(w.now, api.ReleaseAllocation{Application: "b", Key: key})
				}
				delete(w.least, name)
				break
			}
			for range 3 {
				w.now = w.now.Add(time.Second)
				w.settle()
			}
		}
	}
	assert.Assert(t, waited > 200, "%d", waited)
}

// TestQuorumAtTenTimesItsSize starts ten thousand members together, and one that has no room
// for the last of them does not start.
func TestQuorumAtTenTimesItsSize(t *testing.T) {
	const size, nodes = 10_000, 500
	for _, missing := range []int64{0, 1} {
		p := core.NewPartition(api.Options{Kinds: testKinds(), BatchMax: 1000}, leaves("a"))
		now := start
		for i := range nodes {
			capacity := resources.Amounts{size / nodes, 1000}
			if i == 0 {
				capacity[0] -= missing
			}
			p.Apply(now, api.AddNode{ID: api.NodeID(fmt.Sprint("n", i)), Capacity: capacity})
		}
		p.Apply(now, api.AddApplication{ID: "big", Queue: "root.a"})
		began := time.Now()
		for i := range size {
			p.Apply(now, api.AddAllocation{Allocation: &api.Allocation{
				Key: api.AllocationKey(fmt.Sprint("k", i)), Application: "big", Amounts: resources.Amounts{1}, Tags: quorumTags("q", size),
			}})
		}
		for more := true; more; {
			_, more = p.Schedule(now)
		}
		want := size
		if missing > 0 {
			want = 0
		}
		assert.Equal(t, len(p.View().Applications[0].Allocations), want)
		assert.NilError(t, p.Verify())
		t.Logf("%d members, %d that run: %v", size, want, time.Since(began).Round(time.Millisecond))
	}
}
