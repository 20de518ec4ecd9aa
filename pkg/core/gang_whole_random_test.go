package core_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"
	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/core"
	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// wholeGangs are gangs that compete: each starts whole or not at all.
type wholeGangs struct {
	chance
	p    *core.Partition
	now  time.Time
	size map[api.ApplicationID]int // how many placeholders it has
}

// leaves is a configuration with leaf queues of some names.
func leaves(names ...string) api.Config {
	root := api.QueueConfig{Name: "root", Parent: true}
	for _, name := range names {
		root.Queues = append(root.Queues, api.QueueConfig{Name: name})
	}
	return api.Config{Name: "default", Root: root}
}

func newWholeGangs(c chance) *wholeGangs {
	config := leaves("a", "b")
	for i := range config.Root.Queues {
		config.Root.Queues[i].Properties.GangWhole = true
		config.Root.Queues[i].Properties.ApplicationSort = api.SortPolicy(c.IntN(2))
	}
	g := &wholeGangs{
		chance: c, now: start, size: map[api.ApplicationID]int{},
		p: core.NewPartition(api.Options{Kinds: testKinds(), BatchMax: 1 + c.IntN(8)}, config),
	}
	for i := range 3 {
		g.p.Apply(g.now, api.AddNode{ID: api.NodeID(fmt.Sprint("n", i)), Capacity: resources.Amounts{4, 100}})
	}
	return g
}

// come brings a gang that fits the empty cluster. Its members come in parts.
func (g *wholeGangs) come(id api.ApplicationID) {
	each := int64(1 + g.IntN(2))
	count := 1 + g.IntN(int(12/each))
	g.size[id] = count
	g.p.Apply(g.now, api.AddApplication{
		ID: id, Queue: []api.QueuePath{"root.a", "root.b"}[g.IntN(2)], Placeholders: resources.Amounts{each * int64(count)},
	})
	for i := range count {
		ask := &api.Allocation{
			Key: api.AllocationKey(fmt.Sprint(id, "-", i)), Application: id, Amounts: resources.Amounts{each},
			TaskGroup: "group", Placeholder: true, Created: g.now,
		}
		g.p.Apply(g.now, api.AddAllocation{Allocation: ask})
		if g.IntN(4) == 0 {
			g.p.Schedule(g.now)
		}
	}
}

// check sees that each gang runs as a whole, or not at all, and returns those that run.
func (g *wholeGangs) check(t *testing.T) (running []api.ApplicationID) {
	t.Helper()
	assert.NilError(t, g.p.Verify())
	for _, app := range g.p.View().Applications {
		if g.size[app.ID] == 0 {
			continue // no gang
		}
		switch len(app.Allocations) {
		case 0:
		case g.size[app.ID]:
			running = append(running, app.ID)
		default:
			t.Fatalf("%s runs %d of %d", app.ID, len(app.Allocations), g.size[app.ID])
		}
	}
	return running
}

// settle schedules until nothing more is to be done. Whole gangs may take several batches.
func (g *wholeGangs) settle(t *testing.T) {
	t.Helper()
	for range 1000 {
		if _, more := g.p.Schedule(g.now); !more {
			return
		}
	}
	t.Fatal("scheduling does not come to rest")
}

// TestWholeGangsDoNotBlockEachOther has gangs that start whole compete for three nodes. None
// holds anything before all of it runs, and each runs in the end as others end.
func TestWholeGangsDoNotBlockEachOther(t *testing.T) {
	waited := 0
	for seed := range uint64(150) {
		g := newWholeGangs(rand.New(rand.NewPCG(seed, 91)))
		for i := range 8 {
			g.come(api.ApplicationID(fmt.Sprint("app", i)))
			g.settle(t)
			g.check(t)
		}
		for round := 0; len(g.size) > 0; round++ {
			assert.Assert(t, round < 40, "seed %d: %v never run", seed, g.size)
			running := g.check(t)
			if len(running) < len(g.size) {
				waited++
			}
			if len(running) > 0 {
				ends := running[g.IntN(len(running))]
				g.p.Apply(g.now, api.RemoveApplication{ID: ends})
				delete(g.size, ends)
			}
			for range 3 {
				g.now = g.now.Add(time.Second)
				g.settle(t)
			}
		}
	}
	assert.Assert(t, waited > 200, "%d", waited)
}

// TestGangsAtTenTimesTheirSize starts ten thousand placeholders in a thousand task groups as a
// whole, and has real asks take all their places.
func TestGangsAtTenTimesTheirSize(t *testing.T) {
	const groups, each, nodes = 1000, 10, 500
	config := leaves("a")
	config.Root.Queues[0].Properties.GangWhole = true
	p := core.NewPartition(api.Options{Kinds: testKinds(), BatchMax: 1000}, config)
	now := start
	for i := range nodes {
		p.Apply(now, api.AddNode{ID: api.NodeID(fmt.Sprint("n", i)), Capacity: resources.Amounts{groups * each / nodes, 1000}})
	}
	p.Apply(now, api.AddApplication{ID: "big", Queue: "root.a", Placeholders: resources.Amounts{groups * each}})
	add := func(name string, placeholder bool) {
		for i := range groups * each {
			p.Apply(now, api.AddAllocation{Allocation: &api.Allocation{
				Key: api.AllocationKey(fmt.Sprint(name, i)), Application: "big", Amounts: resources.Amounts{1},
				TaskGroup: fmt.Sprint("group", i%groups), Placeholder: placeholder, Created: now,
			}})
		}
	}
	began := time.Now()
	add("holder", true)
	for more := true; more; {
		_, more = p.Schedule(now)
	}
	view := p.View()
	assert.Equal(t, len(view.Applications[0].Allocations), groups*each)
	add("real", false)
	var told []api.AllocationKey
	for more := true; more; {
		var fx api.Effects
		fx, more = p.Schedule(now)
		for _, e := range fx {
			if e, is := e.(*api.ReleaseRequested); is {
				told = append(told, e.Key)
			}
		}
	}
	assert.Equal(t, len(told), groups*each)
	slices.Sort(told)
	assert.Equal(t, len(slices.Compact(told)), groups*each)
	for _, key := range told {
		p.Apply(now, api.ReleaseAllocation{Application: "big", Key: key, Termination: si.TerminationType_PLACEHOLDER_REPLACED})
	}
	assert.NilError(t, p.Verify())
	gang := p.View().Applications[0].Gang
	for _, group := range gang.Groups {
		assert.Equal(t, group.Replaced, int64(each))
	}
	t.Logf("%d placeholders in %d task groups: %v", groups*each, groups, time.Since(began).Round(time.Millisecond))
}
