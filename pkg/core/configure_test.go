package core_test

import (
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/core"
	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/core/preemptor"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// TestConvertible: one application is enough to keep a leaf, and one queue to keep a
// parent, at any depth. Reconfigure keeps such a queue as it is.
func TestConvertible(t *testing.T) {
	parent := func(name string, queues ...api.QueueConfig) api.QueueConfig {
		return api.QueueConfig{Name: name, Parent: true, Queues: queues}
	}
	leaf := func(name string) api.QueueConfig { return api.QueueConfig{Name: name} }
	for _, c := range []struct {
		root api.QueueConfig
		says string
	}{
		{parent("root", parent("p", leaf("busy"), leaf("idle"), leaf("new"))), ""},
		{parent("root", parent("p", leaf("busy"), parent("idle", leaf("below")))), ""},
		{parent("root", leaf("new")), ""}, // p drains
		{parent("root", parent("p", parent("busy", leaf("below")))), "queue root.p.busy has 1 applications and cannot become a parent"},
		{parent("root", parent("p", parent("busy"))), "queue root.p.busy has 1 applications and cannot become a parent"},
		{parent("root", leaf("p")), "queue root.p has 2 queues and cannot become a leaf before they are empty"},
	} {
		p := core.NewPartition(api.Options{Kinds: testKinds()}, api.Config{
			Name: "default", Root: parent("root", parent("p", leaf("busy"), leaf("idle"))),
		})
		p.Apply(start, api.AddApplication{ID: "one", Queue: "root.p.busy"})
		err := p.Convertible(api.Config{Root: c.root})
		if c.says == "" {
			assert.NilError(t, err)
			continue
		}
		assert.Error(t, err, c.says)
		p.Apply(start, api.Reconfigure{Config: api.Config{Name: "default", Root: c.root}})
		assert.NilError(t, p.Verify())
	}
}

// TestForeignThatStay: where the resource manager cannot end foreign allocations they are
// no victims, whatever the configuration says.
func TestForeignThatStay(t *testing.T) {
	for _, stay := range []bool{false, true} {
		p := core.NewPartition(api.Options{Kinds: testKinds(), KeepsForeign: stay}, api.Config{
			Name: "default", Root: api.QueueConfig{Name: "root", Parent: true, Queues: []api.QueueConfig{{Name: "q"}}},
			Preemption: api.PreemptionConfig{RequiredNode: preemptor.DefaultConfig()},
		})
		p.Apply(start, api.AddNode{ID: "n", Capacity: resources.Amounts{4}})
		p.Apply(start, api.AddApplication{ID: "a", Queue: "root.q"})
		p.Apply(start, api.AddAllocation{Allocation: &api.Allocation{Key: "foreign", Origin: api.Foreign, Node: "n", Amounts: resources.Amounts{4}}})
		p.Apply(start, api.AddAllocation{Allocation: &api.Allocation{
			Key: "agent", Application: "a", Required: "n", Priority: 9, Amounts: resources.Amounts{1}, Created: start,
		}})
		evicted := 0
		for _, now := range []time.Time{start, start.Add(time.Hour)} {
			fx, _ := p.Schedule(now)
			for _, e := range fx {
				if _, is := e.(*api.EvictionRequested); is {
					evicted++
				}
			}
		}
		assert.Equal(t, evicted == 0, stay)
		assert.NilError(t, p.Verify())
	}
}

// TestRefusalsOutliveAClass: an ask that room may be made for from now on is of another
// class, and what the resource manager said of it still holds.
func TestRefusalsOutliveAClass(t *testing.T) {
	asked := 0
	config := api.Config{Name: "default", Root: api.QueueConfig{Name: "root", Parent: true, Queues: []api.QueueConfig{{Name: "q"}}}}
	config.Preemption.Disabled = true
	options := api.Options{Kinds: testKinds(), Feasible: func(api.AllocationKey, api.NodeID, bool) error {
		asked++
		return errTaint
	}}
	p := core.NewPartition(options, config)
	p.Apply(start, api.AddNode{ID: "n", Capacity: resources.Amounts{4}})
	p.Apply(start, api.AddApplication{ID: "a", Queue: "root.q"})
	p.Apply(start, ask("a", "one", 1))
	p.Schedule(start)
	assert.Equal(t, asked, 1)
	config.Preemption.Disabled = false
	p.Apply(start, api.Reconfigure{Config: config})
	for range 3 {
		p.Schedule(start)
	}
	assert.Equal(t, asked, 1)
	assert.Equal(t, p.View().Applications[0].Asks[0].Reason, api.Infeasible)
}

// TestWhatIsALeaf: a parent stays one without queues, and so does what is to be a leaf
// while a queue below it is busy.
func TestWhatIsALeaf(t *testing.T) {
	config := func(children ...api.QueueConfig) api.Config {
		return api.Config{Name: "default", Root: api.QueueConfig{Name: "root", Parent: true, Queues: []api.QueueConfig{
			{Name: "empty", Parent: true}, {Name: "p", Queues: children},
		}}}
	}
	p := core.NewPartition(api.Options{Kinds: testKinds()}, config(api.QueueConfig{Name: "busy"}))
	p.Apply(start, api.AddApplication{ID: "a", Queue: "root.p.busy"})
	leaves := func() (leaves []bool) {
		for _, q := range p.View().Root.Queues {
			leaves = append(leaves, q.Leaf)
		}
		return leaves
	}
	assert.DeepEqual(t, leaves(), []bool{false, false})
	p.Apply(start, api.Reconfigure{Config: config()})
	assert.DeepEqual(t, leaves(), []bool{false, false})
	assert.NilError(t, p.Verify())
	p.Apply(start, api.RemoveApplication{ID: "a"})
	p.Apply(start, api.Reconfigure{Config: config()})
	assert.DeepEqual(t, leaves(), []bool{false, true})
	assert.NilError(t, p.Verify())
}

// TestAReconfigurationIsTold with the queues that were, those that are, and what the nodes have.
func TestAReconfigurationIsTold(t *testing.T) {
	p := oneQueue(api.Options{Kinds: testKinds()})
	p.Apply(start, api.AddNode{ID: "n", Capacity: []int64{4}})
	before := p.View().Config
	after := api.Config{Name: "default", Root: api.QueueConfig{Name: "root", Queues: []api.QueueConfig{{Name: "other"}}}}
	for _, e := range p.Apply(start, api.Reconfigure{Config: after}) {
		if told, is := e.(*api.Reconfigured); is {
			assert.DeepEqual(t, told.Before, before.Root)
			assert.DeepEqual(t, told.After, after.Root)
			assert.DeepEqual(t, told.Total, resources.Amounts{4})
			return
		}
	}
	t.Fatal("nothing is told")
}
