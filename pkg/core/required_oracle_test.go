package core_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"
	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/core"
	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/core/preemptor"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// A requiredWorld is one full node and some asks that may run there only. It keeps books
// of its own, and knows nothing of how victims are chosen.
type requiredWorld struct {
	came int32 // the highest priority of the others that came
	*rand.Rand
	p        *core.Partition
	now      time.Time
	node     resources.Amounts // the capacity
	most     int64             // quota of the queue of the agents, of the first kind
	pods     []*api.Allocation
	asks     []*api.Allocation // in their order
	mine     map[api.AllocationKey]bool
	conflict map[[2]api.AllocationKey]bool
	told     []api.AllocationKey
	toldFor  map[api.AllocationKey]api.AllocationKey
	gone     map[api.AllocationKey]bool
	placed   map[api.AllocationKey]bool
}

var errConflict = errors.New("conflict")

func newRequiredWorld(seed uint64, strategies []preemptor.Strategy) *requiredWorld {
	w := &requiredWorld{
		Rand: rand.New(rand.NewPCG(seed, 77)), now: start, most: 1 << 40, mine: map[api.AllocationKey]bool{},
		conflict: map[[2]api.AllocationKey]bool{}, toldFor: map[api.AllocationKey]api.AllocationKey{},
		gone: map[api.AllocationKey]bool{}, placed: map[api.AllocationKey]bool{},
	}
	conflicts := w.IntN(3) == 0
	if w.IntN(3) == 0 {
		w.most = int64(w.IntN(12))
	}
	plans := preemptor.DefaultConfig()
	plans.StartDelay, plans.Strategies = 0, strategies
	options := api.Options{Kinds: testKinds(), ReserveDelay: -1}
	if conflicts {
		options.Simulate = func(ask api.AllocationKey, _ api.NodeID, add, remove []api.AllocationKey) error {
			return w.fitsBeside(ask, add, remove)
		}
		options.Feasible = func(ask api.AllocationKey, _ api.NodeID, allocate bool) error {
			if !allocate {
				return nil
			}
			return w.fitsBeside(ask, nil, nil)
		}
	}
	w.p = core.NewPartition(options, api.Config{
		Name: "default", Preemption: api.PreemptionConfig{RequiredNode: plans},
		Root: api.QueueConfig{Name: "root", Parent: true, Queues: []api.QueueConfig{
			{Name: "web"}, {Name: "agents", Max: resources.Limits{w.most}},
		}},
	})
	w.fill(conflicts)
	return w
}

// fill adds the node with its pods, and the asks.
func (w *requiredWorld) fill(conflicts bool) {
	w.hear(w.p.Apply(w.now, api.AddApplication{ID: "web", Queue: "root.web"}))
	w.hear(w.p.Apply(w.now, api.AddApplication{ID: "agents", Queue: "root.agents"}))
	amounts := func() resources.Amounts { return resources.Amounts{int64(1 + w.IntN(6)), int64(w.IntN(4))} }
	levels := int32(1 + w.IntN(3))
	for i := range 1 + w.IntN(6) {
		pod := &api.Allocation{
			Key: api.AllocationKey(fmt.Sprint("pod", i)), Application: "web", Node: "n", Amounts: amounts(), Created: w.now,
			Priority: w.Int32N(levels), Originator: w.IntN(4) == 0,
			Preemptable: api.Preemptable{Stated: true, AllowSelf: w.IntN(5) > 0, AllowOthers: true},
		}
		w.node.Add(pod.Amounts)
		w.pods = append(w.pods, pod)
	}
	w.node.Add(resources.Amounts{int64(w.IntN(3)), int64(w.IntN(2))})
	w.hear(w.p.Apply(w.now, api.AddNode{ID: "n", Capacity: w.node.Clone()}))
	for _, pod := range w.pods {
		w.hear(w.p.Apply(w.now, api.AddAllocation{Allocation: pod}))
	}
	for i := range 1 + w.IntN(3) {
		ask := &api.Allocation{
			Key: api.AllocationKey(fmt.Sprint("agent", i)), Application: "agents", Required: "n", Amounts: amounts(),
			Priority: w.Int32N(levels), Created: w.now,
		}
		for _, other := range slices.Concat(w.pods, w.asks) {
			if conflicts && w.IntN(4) == 0 {
				w.conflict[[2]api.AllocationKey{ask.Key, other.Key}], w.conflict[[2]api.AllocationKey{other.Key, ask.Key}] = true, true
			}
		}
		w.asks, w.mine[ask.Key] = append(w.asks, ask), true
		w.hear(w.p.Apply(w.now, api.AddAllocation{Allocation: ask}))
	}
	slices.SortStableFunc(w.asks, func(a, b *api.Allocation) int { return int(b.Priority - a.Priority) })
}

// fitsBeside says whether an ask conflicts with nothing on the node.
func (w *requiredWorld) fitsBeside(ask api.AllocationKey, add, remove []api.AllocationKey) error {
	for pair := range w.conflict {
		there := w.placed[pair[1]] || slices.Contains(add, pair[1])
		for _, pod := range w.pods {
			there = there || pod.Key == pair[1] && !w.gone[pod.Key]
		}
		if pair[0] == ask && there && !slices.Contains(remove, pair[1]) {
			return errConflict
		}
	}
	return nil
}

func (w *requiredWorld) hear(fx api.Effects) {
	for _, e := range fx {
		switch e := e.(type) {
		case api.Placed:
			w.placed[e.Key] = true
		case *api.EvictionRequested:
			w.told = append(w.told, e.Key)
			w.toldFor[e.Key] = e.For
		}
	}
}

func (w *requiredWorld) schedule(t *testing.T) {
	for {
		fx, more := w.p.Schedule(w.now)
		w.hear(fx)
		told := slices.Sorted(slices.Values(w.told))
		assert.Equal(t, len(slices.Compact(told)), len(w.told), "an eviction was requested twice: %v", w.told)
		assert.NilError(t, w.p.Verify())
		if !more {
			return
		}
	}
}

// play has all victims end, in any order. Other asks come meanwhile.
func (w *requiredWorld) play(t *testing.T, others int) {
	w.schedule(t)
	left := slices.Clone(w.told)
	for len(left) > 0 {
		if others > 0 {
			others--
			other := &api.Allocation{
				Key: api.AllocationKey(fmt.Sprint("other", others)), Application: []api.ApplicationID{"web", "agents"}[w.IntN(2)],
				Amounts: resources.Amounts{int64(1 + w.IntN(3))}, Priority: w.Int32N(4), Created: w.now,
			}
			w.came = max(w.came, other.Priority)
			w.hear(w.p.Apply(w.now, api.AddAllocation{Allocation: other}))
			w.schedule(t)
		}
		w.now = w.now.Add(time.Second)
		at, told := w.IntN(len(left)), len(w.told)
		w.gone[left[at]] = true
		w.hear(w.p.Apply(w.now, api.ReleaseAllocation{Application: "web", Key: left[at], Termination: si.TerminationType_PREEMPTED_BY_SCHEDULER}))
		left = slices.Delete(left, at, at+1)
		w.schedule(t)
		left = append(left, w.told[told:]...)
	}
}

// fit says whether some asks run together on the node without some pods, as far as amounts,
// quota and conflicts go.
func (w *requiredWorld) fit(asks []*api.Allocation, without map[api.AllocationKey]bool) bool {
	var used, charged resources.Amounts
	for _, pod := range w.pods {
		if !without[pod.Key] {
			used.Add(pod.Amounts)
		}
	}
	for _, a := range asks {
		used.Add(a.Amounts)
		charged.Add(a.Amounts)
		for pair := range w.conflict {
			there := slices.ContainsFunc(asks, func(o *api.Allocation) bool { return o.Key == pair[1] }) ||
				!w.mine[pair[1]] && !without[pair[1]]
			if pair[0] == a.Key && there {
				return false
			}
		}
	}
	return charged.Of(0) <= w.most && used.FitsIn(w.node)
}

// lawful are the sets of pods that an ask of a priority may take the place of.
func (w *requiredWorld) lawful(priority int32) (sets []map[api.AllocationKey]bool) {
	sets = append(sets, map[api.AllocationKey]bool{})
	for _, pod := range w.pods {
		if pod.Priority > priority {
			continue
		}
		for _, set := range slices.Clone(sets) {
			more := map[api.AllocationKey]bool{pod.Key: true}
			for key := range set {
				more[key] = true
			}
			sets = append(sets, more)
		}
	}
	return sets
}

// harm is what sets of pods are compared by: the worst class, the highest priority, and the
// number.
func (w *requiredWorld) harm(set map[api.AllocationKey]bool) (harm [3]int) {
	for _, pod := range w.pods {
		if !set[pod.Key] {
			continue
		}
		class := 0
		switch {
		case !pod.Preemptable.AllowSelf:
			class = 2
		case pod.Originator:
			class = 1
		}
		harm = [3]int{max(harm[0], class), max(harm[1], int(pod.Priority)), harm[2] + 1}
	}
	return harm
}
