package core_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"
	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/core"
	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/core/preemptor"
	"github.com/narwhal-scheduler/narwhal/pkg/internal/seeds"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// A closed system is a cluster whose demand does not change: there are so many
// workers, of one unit each, which run or ask to run, and a worker that is evicted
// comes back as a new ask. Some end late, some never. It comes to rest, because
// two figures fall, the first before the second:
//
//	what is due      what queues lack of their guarantees and others have beyond theirs
//	the disorder     how many run while a more important one waits
//
// An eviction by guarantee lessens the first by a unit; nothing else adds to it,
// since floors hold for every trigger. It does not add to the second, since
// no worker is evicted for a less important one. An eviction by priority ends with a
// more important worker where a less important one was. The latter comes back, and may
// in turn have a still less important one evicted, so that one arrival sets off at
// most levels-1 evictions by priority. Arrivals are the workers at first, and
// those that were evicted by guarantee or by quota, or did not end in time.
// Where a more important worker takes the room that was made for another, the
// other has a worker evicted that would have been evicted for the first.
type closedSystem struct {
	lawChecker
	chance
	now        time.Time
	events     []event
	workers    []worker
	running    map[api.AllocationKey]int   // workers by key, those that wait included
	evictedFor map[api.AllocationKey][]int // the workers, by the ask, since it was nominated
	evicted    [preemptor.Triggers]int
	late       int  // victims that do not end in time
	cleared    int  // nominations whose room was taken, or does not come
	beyond     int  // units beyond a max when it was lowered, altogether
	slow       bool // some end late, or never
}

type worker struct {
	app      api.ApplicationID
	priority int32
	times    int // how often it came
}

// An event happens at its time, the earlier first and in the order of telling.
type event struct {
	at time.Time
	do func()
}

const levels = 4

func (s *closedSystem) later(after time.Duration, do func()) {
	at := s.now.Add(after)
	i := len(s.events)
	for i > 0 && s.events[i-1].at.After(at) {
		i--
	}
	s.events = slices.Insert(s.events, i, event{at, do})
}

// units is a max of the first kind only.
func units(most int) resources.Limits { return resources.Limits{int64(most), resources.Unlimited} }

// newClosedSystem has nodes of ten units, and twice as many workers as units.
func newClosedSystem(c chance, nodes int) *closedSystem {
	s := &closedSystem{chance: c, now: start, running: map[api.AllocationKey]int{}, evictedFor: map[api.AllocationKey][]int{}, slow: c.IntN(2) == 0}
	properties := api.QueueProperties{PreemptionDelay: time.Second, QuotaDelay: time.Second}
	all := 10 * nodes
	leaf := func(name string, most int) api.QueueConfig {
		return api.QueueConfig{Name: name, Properties: properties, Guaranteed: resources.Amounts{int64(c.IntN(most + 1))}}
	}
	s.lawChecker.config = api.Config{Name: "default", Root: api.QueueConfig{
		Name: "root", Parent: true, Properties: properties,
		Queues: []api.QueueConfig{leaf("a", all/3), leaf("b", all/6), {
			Name: "p", Parent: true, Properties: properties, Guaranteed: resources.Amounts{int64(c.IntN(all/3 + 1))},
			Queues: []api.QueueConfig{leaf("c", all/6), leaf("d", all/6)},
		}},
	}}
	s.lawChecker.config.Preemption = api.PreemptionConfig{Quota: true, VictimTimeout: 5 * time.Second, LoopMax: math.MaxInt32}
	s.lawChecker.evictedAt = map[api.AllocationKey]time.Time{}
	s.p = core.NewPartition(api.Options{Kinds: testKinds(), ReserveDelay: -1, BatchMax: 1 + c.IntN(20)}, s.lawChecker.config)
	for i := range nodes {
		s.p.Apply(s.now, api.AddNode{ID: api.NodeID(fmt.Sprintf("n%02d", i)), Capacity: resources.Amounts{10, 100}})
	}
	for i, queue := range []api.QueuePath{"root.a", "root.b", "root.p.c", "root.p.d"} {
		s.p.Apply(s.now, api.AddApplication{ID: api.ApplicationID(fmt.Sprint("app", i)), Queue: queue})
	}
	return s
}

// come has a worker ask to run.
func (s *closedSystem) come(i int) {
	w := &s.workers[i]
	w.times++
	key := api.AllocationKey(fmt.Sprintf("w%d-%d", i, w.times))
	s.running[key] = i
	s.p.Apply(s.now, api.AddAllocation{Allocation: &api.Allocation{
		Key: key, Application: w.app, Amounts: resources.Amounts{1, 1}, Priority: w.priority, Created: s.now,
	}})
}

// end has a victim end, sooner or later, and come back after a while.
func (s *closedSystem) end(key api.AllocationKey) {
	wait := time.Duration(s.IntN(3000)) * time.Millisecond
	if s.slow && s.IntN(20) == 0 {
		s.late++
		if wait += 10 * time.Second; s.IntN(3) == 0 {
			return // it never ends
		}
	}
	i := s.running[key]
	s.later(wait, func() {
		s.p.Apply(s.now, api.ReleaseAllocation{Application: s.workers[i].app, Key: key, Termination: si.TerminationType_PREEMPTED_BY_SCHEDULER})
		s.later(time.Duration(s.IntN(2000))*time.Millisecond, func() { s.come(i) })
	})
}

// step does what is due next, and says whether there is anything.
func (s *closedSystem) step(t *testing.T) bool {
	t.Helper()
	next, some := s.p.Due()
	if len(s.events) > 0 && (!some || s.events[0].at.Before(next)) {
		next, some = s.events[0].at, true
	}
	if !some || next.Sub(s.now) > time.Hour {
		return false
	}
	if next.After(s.now) {
		s.now = next
	}
	for len(s.events) > 0 && !s.events[0].at.After(s.now) {
		first := s.events[0]
		s.events = s.events[1:]
		first.do()
	}
	for more := true; more; {
		var err error
		_, more, err = s.schedule(s.now)
		assert.NilError(t, err)
		assert.NilError(t, s.p.Verify())
		for _, d := range s.actions {
			if d.what == "clear" {
				delete(s.evictedFor, d.key)
				s.cleared++
			}
			for _, key := range d.victims {
				assert.Assert(t, d.what == "end" || !slices.Contains(s.evictedFor[d.key], s.running[key]), "%s again for %s", key, d.key)
				s.evictedFor[d.key] = append(s.evictedFor[d.key], s.running[key])
				s.evicted[d.by]++
				s.end(key)
			}
		}
	}
	assert.NilError(t, s.p.VerifyAttempts())
	return true
}

// lower gives queues other max, for a while at random and then for good.
func (s *closedSystem) lower() {
	config := s.lawChecker.config
	config.Root.Queues = slices.Clone(config.Root.Queues)
	for i := range config.Root.Queues {
		if config.Root.Queues[i].Max = nil; s.IntN(2) == 0 {
			config.Root.Queues[i].Max = units(3 + s.IntN(15))
		}
	}
	s.lawChecker.config = config
	s.p.Apply(s.now, api.Reconfigure{Config: config})
	for _, q := range s.p.View().Root.Queues {
		if most := q.Max.Of(0); most != resources.Unlimited {
			s.beyond += int(max(q.Used.Of(0)-most, 0))
		}
	}
}

// guaranteed is what is guaranteed to queues altogether.
func guaranteed(q *api.QueueConfig) int {
	sum := int(q.Guaranteed.Of(0))
	for i := range q.Queues {
		sum += guaranteed(&q.Queues[i])
	}
	return sum
}

// atRest sees that no ask waits that might run, or for which a worker might be evicted.
func (s *closedSystem) atRest(t *testing.T) {
	t.Helper()
	w := worldOf(s.p.View(), naive{})
	for _, app := range w.apps {
		for i := range app.Asks {
			ask := &app.Asks[i]
			assert.Equal(t, ask.Nominated, api.NodeID(""), "%s is nominated for ever", ask.Key)
			o := oracle{world: w, ask: ask}
			for _, n := range w.nodes {
				assert.Assert(t, len(o.short(ask)) > 0 || !ask.Amounts.FitsIn(n.Available), "%s could run on %s", ask.Key, n.ID)
				for _, a := range n.Allocations {
					isIn := func(q *api.QueueView) bool { return strings.HasPrefix(string(o.queueOf(a))+".", string(q.Path)+".") }
					frees := !slices.ContainsFunc(o.short(ask), func(q *api.QueueView) bool { return !isIn(q) }) // its end alone, quota of each
					byPriority := frees && isIn(o.root()) && o.above(a) < 0
					byGuarantee := frees && o.mayBeVictim(a, resources.Amounts{1})
					assert.Assert(t, !byPriority && !byGuarantee || !o.keepsFloors([]*api.Allocation{a}),
						"%s (%s, priority %d) could be evicted for %s (%s, priority %d): %v %v", a.Key, a.Application, a.Priority, ask.Key, app.Queue, ask.Priority, byPriority, byGuarantee)
				}
			}
		}
	}
}

// arrive lets twice as many workers come as there are units: at random, or so
// that the first take what is due to the others.
func (s *closedSystem) arrive(units int, first []int) {
	for i := range 2 * units {
		w, wait := worker{app: appOf(s.IntN(4)), priority: int32(s.IntN(levels))}, s.IntN(15000)
		if len(first) > 0 {
			w = worker{app: appOf(s.IntN(4)), priority: int32(s.IntN(2))}
			if i < units {
				w.app, wait = appOf(first[s.IntN(len(first))]), wait/8
			}
		}
		s.workers = append(s.workers, w)
		s.later(time.Duration(wait)*time.Millisecond, func() { s.come(i) })
	}
}

func appOf(i int) api.ApplicationID { return api.ApplicationID(fmt.Sprint("app", i)) }

// TestClosedSystemComesToRest lets closed systems run with all triggers at once,
// until nothing more happens, and counts the evictions.
func TestClosedSystemComesToRest(t *testing.T) {
	var evicted [preemptor.Triggers]int
	late := 0
	for seed := range seeds.Of(t, 150) {
		nodes := 2 + int(seed%3)
		s := newClosedSystem(rand.New(rand.NewPCG(seed, 6)), nodes)
		if seed%2 == 0 {
			s.arrive(10*nodes, []int{1, 3})
		} else {
			s.arrive(10*nodes, nil)
		}
		for i := range 3 {
			s.later(time.Duration(20+10*i)*time.Second, s.lower)
		}
		steps := 0
		for ; s.step(t); steps++ {
			assert.Assert(t, steps < 10000, "seed %d: it does not come to rest: %v", seed, s.evicted)
		}
		if s.late == 0 {
			s.atRest(t)
		}
		byGuarantee := guaranteed(&s.lawChecker.config.Root) + s.late + s.cleared
		byQuota := s.beyond + s.late
		arrivals := len(s.workers) + s.evicted[preemptor.Guarantee] + s.evicted[preemptor.Quota] + s.late
		assert.Assert(t, s.evicted[preemptor.Guarantee] <= byGuarantee, "seed %d: %v, due are %d", seed, s.evicted, byGuarantee)
		assert.Assert(t, s.evicted[preemptor.Quota] <= byQuota, "seed %d: %v, beyond were %d", seed, s.evicted, byQuota)
		assert.Assert(t, s.evicted[preemptor.Priority] <= (levels-1)*arrivals, "seed %d: %v, arrivals %d", seed, s.evicted, arrivals)
		for by, count := range s.evicted {
			evicted[by] += count
		}
		late += s.late
	}
	t.Logf("evicted %v, %d of them late", evicted, late)
	assert.Assert(t, evicted[preemptor.Priority] > seeds.Part(t, 1000) && evicted[preemptor.Guarantee] > seeds.Part(t, 100) && evicted[preemptor.Quota] > seeds.Part(t, 500) && late > seeds.Part(t, 50))
}

// TestGuaranteeIsReached has a queue take from another what is due to it, and
// not a unit more: of 300 units that the one fills, the other gets its 100 by as
// many evictions.
func TestGuaranteeIsReached(t *testing.T) {
	s := newClosedSystem(rand.New(rand.NewPCG(1, 7)), 30)
	s.slow = false
	for i := range s.lawChecker.config.Root.Queues {
		s.lawChecker.config.Root.Queues[i].Guaranteed = nil
	}
	s.lawChecker.config.Root.Queues[0].Guaranteed = resources.Amounts{100}
	s.p.Apply(s.now, api.Reconfigure{Config: s.lawChecker.config})
	for i := range 400 {
		s.workers = append(s.workers, worker{app: appOf(1)})
		if i >= 300 {
			s.workers[i].app = appOf(0)
			s.later(2*time.Second, func() { s.come(i) })
		} else {
			s.later(0, func() { s.come(i) })
		}
	}
	for steps := 0; s.step(t); steps++ {
		assert.Assert(t, steps < 10000, "it does not come to rest")
	}
	s.atRest(t)
	root := s.p.View().Root
	assert.Equal(t, root.Queues[0].Used.Of(0), int64(100))
	assert.Equal(t, root.Queues[1].Used.Of(0), int64(200))
	assert.Equal(t, s.evicted, [preemptor.Triggers]int{preemptor.Guarantee: 100})
}
