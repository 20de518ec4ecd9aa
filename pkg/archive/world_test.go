package archive

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"
	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/core"
	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/core/preemptor"
	"github.com/narwhal-scheduler/narwhal/pkg/events"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// start is not the end of a minute.
var start = time.Unix(1_800_000_000, 0).Add(7 * time.Second)

// A moment is what a partition did, for which command if any, and what it was then.
type moment struct {
	events.Step
	command api.Command
	view    *api.View
}

// A world is a partition with a random history, which is kept whole and in a book.
type world struct {
	*rand.Rand
	t         testing.TB
	kinds     *resources.Kinds
	partition *core.Partition
	book      *Book
	now       time.Time
	moments   []moment
}

func newWorld(t testing.TB, seed uint64, config Config) *world {
	w := &world{Rand: rand.New(rand.NewPCG(seed, 9)), t: t, kinds: new(resources.Kinds), now: start}
	for _, name := range []string{resources.VCore, resources.Memory} {
		_, err := w.kinds.Intern(name)
		assert.NilError(t, err)
	}
	w.book = newBook(config.withDefaults())
	first := w.config()
	w.partition = core.NewPartition(api.Options{
		Kinds: w.kinds, ReserveDelay: time.Second, ReserveMax: 20 * time.Second, CompletingDelay: 3 * time.Second, BatchMax: 1 + w.IntN(5),
	}, first)
	w.take(nil, api.Effects{&api.Reconfigured{After: first.Root}})
	for i := range 3 {
		w.apply(api.AddNode{ID: api.NodeID(fmt.Sprint("n", i)), Capacity: resources.Amounts{int64(4 + w.IntN(6)), 8}, Attributes: w.attributes()})
	}
	return w
}

func (w *world) take(c api.Command, effects api.Effects) {
	m := moment{events.Step{Now: w.now, Effects: effects}, c, w.partition.View()}
	w.moments = append(w.moments, m)
	w.book.Observe(m.Step)
}

func (w *world) apply(c api.Command) { w.take(c, w.partition.Apply(w.now, c)) }

func (w *world) config() api.Config {
	limits := func() resources.Limits {
		if w.IntN(2) == 0 {
			return nil
		}
		return resources.Limits{int64(2 + w.IntN(8)), resources.Unlimited}
	}
	leaf := func(name string) api.QueueConfig {
		return api.QueueConfig{
			Name: name, Max: limits(), Guaranteed: resources.Amounts{int64(w.IntN(8)), int64(w.IntN(8))},
			Properties: api.QueueProperties{QuotaDelay: time.Duration(w.IntN(3)) * time.Second, PreemptionDelay: time.Second},
		}
	}
	plans := preemptor.DefaultConfig()
	plans.StartDelay = time.Duration(w.IntN(3)) * time.Second
	return api.Config{
		Name: "default", Root: api.QueueConfig{Name: "root", Parent: true, Queues: []api.QueueConfig{leaf("a"), leaf("b")}},
		Preemption: api.PreemptionConfig{
			RequiredNode: plans, VictimTimeout: time.Duration(1+w.IntN(5)) * time.Second, Quota: w.IntN(3) > 0,
			Priority: api.PriorityPreemption(w.IntN(3)), LoopMax: 1 + w.IntN(3), LoopWindow: 5 * time.Second,
		},
	}
}

func (w *world) attributes() map[string]string {
	if w.IntN(3) == 0 {
		return nil
	}
	return map[string]string{"si/instance-type": fmt.Sprint("type", w.IntN(2))}
}

func (w *world) node() api.NodeID       { return api.NodeID(fmt.Sprint("n", w.IntN(4))) }
func (w *world) app() api.ApplicationID { return api.ApplicationID(fmt.Sprint("app", w.IntN(4))) }

func (w *world) key() api.AllocationKey { return api.AllocationKey(fmt.Sprint("k", w.IntN(20))) }

func (w *world) allocation() *api.Allocation {
	a := &api.Allocation{
		Key: w.key(), Application: w.app(), Amounts: resources.Amounts{int64(w.IntN(5)), int64(w.IntN(5))}, Priority: int32(w.IntN(3)),
		Created: w.now.Add(-time.Duration(w.IntN(5)) * time.Second),
	}
	switch w.IntN(8) {
	case 0:
		a.Application, a.Origin, a.Node = "", api.Foreign, w.node()
	case 1:
		a.Node = w.node()
	case 2:
		a.Required = w.node()
	case 3:
		a.Placeholder, a.TaskGroup = true, "group"
	}
	if known := w.known(a.Key); known != nil { // what is said again is as old as it was
		a.Created = known.Created
	}
	return a
}

// known finds an ask or allocation.
func (w *world) known(key api.AllocationKey) *api.Allocation {
	for _, app := range w.moments[len(w.moments)-1].view.Applications {
		for _, a := range app.Allocations {
			if a.Key == key {
				return a
			}
		}
		for _, ask := range app.Asks {
			if ask.Key == key {
				return ask.Allocation
			}
		}
	}
	return nil
}

func (w *world) release() api.Command {
	types := []si.TerminationType{
		si.TerminationType_STOPPED_BY_RM, si.TerminationType_PREEMPTED_BY_SCHEDULER, si.TerminationType_PLACEHOLDER_REPLACED,
		si.TerminationType_TIMEOUT, api.SchedulingFailed, api.SchedulingFailed,
	}
	c := api.ReleaseAllocation{Application: w.app(), Key: w.key(), Termination: types[w.IntN(len(types))], Message: "no port"}
	for _, app := range w.partition.View().Applications { // mostly one that runs
		if n := len(app.Allocations); n > 0 && w.IntN(3) == 0 {
			c.Application, c.Key = app.ID, app.Allocations[w.IntN(n)].Key
		}
	}
	switch w.IntN(16) {
	case 0:
		c.Application = ""
	case 1, 2:
		c.Key = ""
	}
	return c
}

func (w *world) command() api.Command {
	switch w.IntN(24) {
	case 0:
		return api.AddNode{ID: w.node(), Capacity: resources.Amounts{8, 8}, Attributes: w.attributes()}
	case 1:
		return api.UpdateNode{ID: w.node(), Capacity: resources.Amounts{int64(w.IntN(12)), 8}, Attributes: w.attributes()}
	case 2:
		return api.RemoveNode{ID: w.node()}
	case 3, 4, 5:
		id := w.app()
		return api.AddApplication{ID: id, Queue: []api.QueuePath{"root.a", "B", "root.none", "a"}[w.IntN(4)], User: "user of " + string(id)}
	case 6:
		if w.IntN(3) == 0 {
			return api.RemoveApplication{ID: w.app()}
		}
		return api.Reconfigure{Config: w.config()}
	case 7, 8, 9, 10:
		return w.release()
	default:
		return api.AddAllocation{Allocation: w.allocation()}
	}
}

// live does random things, and ends what is evicted.
func (w *world) live(steps int) {
	for range steps {
		switch w.IntN(8) {
		case 0:
			w.now = w.now.Add(time.Duration(w.IntN(3000)) * time.Millisecond)
		case 1:
			if w.IntN(10) == 0 {
				w.now = w.now.Add(time.Duration(w.IntN(200)) * time.Second)
			}
			w.evict()
		case 2, 3:
			effects, _ := w.partition.Schedule(w.now)
			w.take(nil, effects)
		default:
			w.apply(w.command())
		}
	}
}

// evict ends an allocation that was evicted.
func (w *world) evict() {
	for _, n := range w.partition.View().Nodes {
		for _, l := range n.Evictions {
			for _, a := range append(n.Allocations, n.ForeignAllocations...) {
				if a.Key == l.Key {
					w.apply(api.ReleaseAllocation{Application: a.Application, Key: a.Key, Termination: si.TerminationType_PREEMPTED_BY_SCHEDULER})
					return
				}
			}
		}
	}
}
