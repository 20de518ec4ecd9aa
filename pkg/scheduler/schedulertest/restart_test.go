package schedulertest_test

import (
	"maps"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"
	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/scheduler"
	"github.com/narwhal-scheduler/narwhal/pkg/scheduler/schedulertest"
)

// tagged adds tags to an allocation.
func tagged(tags map[string]string) func(*si.Allocation) {
	return func(a *si.Allocation) { a.AllocationTags = maps.Clone(tags) }
}

// The scheduler restarts while cheap leaves for urgent, which used up the budget of
// cheap. What the resource manager knows is sent again: with the tags nothing else is
// evicted, and urgent runs where it was nominated. Without them dear is evicted, too.
func TestRestartWhileAnAskIsNominated(t *testing.T) {
	for _, with := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			allowed := 1
			m := schedulertest.New(t, schedulertest.Options{
				KeepReleased: true,
				DisruptionBudgets: func([]string) []scheduler.DisruptionBudget {
					return []scheduler.DisruptionBudget{{Name: "web", Allowed: allowed, Allocations: []string{"cheap"}}}
				},
			})
			load := func(cheap, urgent map[string]string) {
				m.AddNode("node-1", "vcore=4")
				m.AddNode("node-2", "vcore=4")
				m.AddApplication("work", "root.default")
				m.AddApplication("late", "root.default")
				m.Ask("work", "cheap", "vcore=4", on("node-1"), tagged(cheap))
				m.Ask("work", "dear", "vcore=4", on("node-2"), priority(5))
				m.Ask("late", "urgent", "vcore=4", priority(10), tagged(urgent))
			}
			load(nil, nil)
			assert.DeepEqual(t, victims(m), []string{"cheap"})
			node, _ := m.Nominated("urgent")
			assert.Equal(t, node, "node-1")
			began := time.Now()
			m.Advance(10 * time.Second)

			allowed = 0
			m.Register()
			if !with {
				load(nil, nil)
				assert.DeepEqual(t, victims(m), []string{"cheap", "dear"})
				return
			}
			load(map[string]string{api.TagTerminating: strconv.FormatInt(began.Unix(), 10)}, map[string]string{api.TagNominatedNode: "node-1"})
			m.Advance(time.Minute)
			assert.DeepEqual(t, victims(m), []string{"cheap"})
			node, _ = m.Nominated("urgent")
			assert.Equal(t, node, "node-1")
			assert.DeepEqual(t, m.Node("node-1").Evictions, []api.Eviction{{Key: "cheap", Since: time.Unix(began.Unix(), 0), Reported: true}})

			m.Release("work", "cheap")
			assert.Equal(t, m.WaitPlaced("urgent"), "node-1")
			assert.DeepEqual(t, victims(m), []string{"cheap"})
		})
	}
}

// on has an allocation run on a node already.
func on(node string) func(*si.Allocation) {
	return func(a *si.Allocation) { a.NodeID = node }
}

// A shim registers nodes that take nothing new, sends the pods that run and those that
// wait, and enables the nodes last. The nomination is found again whichever pods come
// first.
func TestRestartOfAShim(t *testing.T) {
	for _, waitingFirst := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			m := schedulertest.New(t, schedulertest.Options{KeepReleased: true})
			m.AddDrainedNode("node-1", "vcore=4")
			m.AddDrainedNode("node-2", "vcore=4")
			m.AddApplication("work", "root.default")
			urgent := func() {
				m.Ask("work", "urgent", "vcore=4", priority(10), tagged(map[string]string{api.TagNominatedNode: "node-1"}))
			}
			if waitingFirst {
				urgent()
			}
			m.Ask("work", "leaving", "vcore=4", on("node-1"), priority(5), tagged(map[string]string{api.TagTerminating: "true"}))
			m.Ask("work", "stays", "vcore=4", on("node-2"))
			if !waitingFirst {
				urgent()
			}
			m.EnableNode("node-1")
			m.EnableNode("node-2")
			assert.Equal(t, len(victims(m)), 0)
			node, _ := m.Nominated("urgent")
			assert.Equal(t, node, "node-1")
			m.Release("work", "leaving")
			assert.Equal(t, m.WaitPlaced("urgent"), "node-1")
		})
	}
}
