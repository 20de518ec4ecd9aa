package explain_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/core/preemptor"
	"github.com/narwhal-scheduler/narwhal/pkg/explain"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// question is asks of one application, by key, vcore and priority.
func question(app string, asks ...*api.Allocation) explain.Question {
	for i, a := range asks {
		a.Application = api.ApplicationID(app)
		a.Created = start.Add(time.Duration(i) * time.Second)
	}
	return explain.Question{Asks: asks}
}

func wish(key string, vcore int64, priority int32) *api.Allocation {
	return &api.Allocation{Key: api.AllocationKey(key), Amounts: resources.Amounts{vcore, 1}, Priority: priority}
}

func crowd(t *testing.T) *cluster {
	t.Helper()
	c := newCluster(t, twoQueues(), api.Options{})
	c.node("n1", 4000, 1<<30)
	c.node("n2", 4000, 1<<30)
	c.ask("batch", "b-1", 3000, 1, on("n1"))
	c.ask("batch", "b-2", 3000, 1, on("n2"), priority(2))
	c.settle(start)
	return c
}

// TestWhatIf is a dry run of asks: one fits, one has room made, one waits and one is
// refused. The partition is as before.
func TestWhatIf(t *testing.T) {
	c := crowd(t)
	before := fmt.Sprintf("%+v", c.View().Root)
	q := question("web", wish("fits", 1000, 0), wish("takes", 3000, 9), wish("large", 9000, 0), wish("b-1", 1000, 0))
	out, err := explain.WhatIf(t.Context(), c.View(), c.kinds, start.Add(time.Minute), q)
	assert.NilError(t, err)
	assert.Equal(t, len(out.Asks), 4)
	assert.Equal(t, out.Asks[0].Placed, api.NodeID("n2"))
	assert.Equal(t, out.Asks[1].Nominated, api.NodeID("n1"))
	assert.Equal(t, out.Asks[2].Waits.Reason, api.QuotaExceeded)
	assert.Equal(t, out.Asks[3].Refused, "allocation b-1 is known as one of application batch")
	assert.Equal(t, len(out.Victims), 1)
	assert.Equal(t, out.Victims[0].Key, api.AllocationKey("b-1"))
	assert.Equal(t, out.Victims[0].Message, "preempted on node n1 to make room for takes of application web, by priority 9 over 0")
	assert.Equal(t, fmt.Sprintf("%+v", c.View().Root), before)
}

// TestWhatIfOfAGroup: asks that start together do so in the dry run. Room is made for all of them, or for none.
func TestWhatIfOfAGroup(t *testing.T) {
	c := crowd(t)
	q := question("web", wish("one", 3000, 9), wish("two", 3000, 9))
	for _, a := range q.Asks {
		a.Tags = map[string]string{api.TagQuorum: "train", api.TagQuorumLeast: "2"}
	}
	out, err := explain.WhatIf(t.Context(), c.View(), c.kinds, start.Add(time.Minute), q)
	assert.NilError(t, err)
	assert.Equal(t, len(out.Victims), 2)
	assert.Assert(t, out.Asks[0].Nominated != "" && out.Asks[1].Nominated != "" && out.Asks[0].Nominated != out.Asks[1].Nominated)

	q.Asks[1].Amounts = resources.Amounts{5000, 1}
	out, err = explain.WhatIf(t.Context(), c.View(), c.kinds, start.Add(time.Minute), q)
	assert.NilError(t, err)
	assert.Equal(t, len(out.Victims), 0)
	assert.Equal(t, out.Asks[0].Waits.Reason, api.AwaitsGang)
}

// TestWhatIfTheMaxWere says which queue would be over which limit, and which of the
// asks that wait now would run.
func TestWhatIfTheMaxWere(t *testing.T) {
	c := crowd(t)
	c.ask("web", "waits", 1000, 1)
	c.ask("web", "large", 9500, 1)
	c.node("n3", 20_000, 1<<30)
	c.Apply(start, api.DrainNode{ID: "n3"})
	c.settle(start)
	config := twoQueues()
	config.Name = "default"
	config.Root.Queues[0].Max = nil
	config.Root.Queues[1].Max = resources.Limits{5000}
	c.Apply(start, api.UndrainNode{ID: "n3"})
	out, err := explain.WhatIf(t.Context(), c.View(), c.kinds, start.Add(time.Minute), explain.Question{Config: &config})
	assert.NilError(t, err)
	assert.Equal(t, len(out.OverUse), 1)
	assert.Equal(t, out.OverUse[0].Queue, api.QueuePath("root.batch"))
	assert.Equal(t, c.kinds.Format(out.OverUse[0].By), "vcore=1000")
	assert.Equal(t, len(out.OverLimits), 0)
	assert.Equal(t, len(out.Others), 1)
	assert.Equal(t, out.Others[0], explain.AskOutcome{Key: "large", Placed: "n3"})

	config.Root.Queues[1].Parent = true
	_, err = explain.WhatIf(t.Context(), c.View(), c.kinds, start, explain.Question{Config: &config})
	assert.Error(t, err, "configuration: queue root.batch has 1 applications and cannot become a parent")
}

// TestWhatIfNothingIsOverdue waits for longer than the victim timeout: no victims take
// the place of those that have not ended, whether they were evicted in the dry run or
// before it.
func TestWhatIfNothingIsOverdue(t *testing.T) {
	c := crowd(t)
	c.ask("web", "first", 3000, 1, priority(8))
	c.settle(start)
	q := question("web", wish("takes", 3000, 7))
	for _, config := range []*api.Config{nil, new(twoQueues())} {
		q.Within, q.Config = time.Hour, config
		out, err := explain.WhatIf(t.Context(), c.View(), c.kinds, start, q)
		assert.NilError(t, err)
		assert.Equal(t, out.Asks[0].Nominated, api.NodeID("n2"))
		assert.Equal(t, len(out.Victims), 1)
		assert.Equal(t, out.Victims[0].Key, api.AllocationKey("b-2"))
	}
}

// TestWhatIfWaits lets time pass, for what is due only after a delay.
func TestWhatIfWaits(t *testing.T) {
	config := twoQueues()
	config.Root.Queues[0].Guaranteed = resources.Amounts{4000}
	config.Root.Queues[0].Properties.PreemptionDelay = 30 * time.Second
	c := newCluster(t, config, api.Options{})
	c.node("n1", 4000, 1<<30)
	c.ask("batch", "b-1", 4000, 1, on("n1"))
	c.settle(start)
	for within, victims := range map[time.Duration]int{0: 0, 29 * time.Second: 0, 30 * time.Second: 1} {
		q := question("web", wish("due", 4000, 0))
		q.Within = within
		out, err := explain.WhatIf(t.Context(), c.View(), c.kinds, start, q)
		assert.NilError(t, err)
		assert.Equal(t, len(out.Victims), victims, "%v", within)
	}
}

// A hurry is a context that ends with an error after it was looked at so many times.
type hurry struct {
	context.Context
	looks int
	end   error
}

func (h *hurry) Err() error {
	if h.looks--; h.looks < 0 {
		return h.end
	}
	return nil
}

// TestWhatIfInAHurry gives a partial outcome when the time for it is over, and none
// when nothing waits for it. Without an end, all asks are placed.
func TestWhatIfInAHurry(t *testing.T) {
	c := newCluster(t, api.Config{Root: api.QueueConfig{Name: "root", Parent: true, Queues: []api.QueueConfig{{Name: "web"}}}}, api.Options{})
	c.node("n1", 1_000_000, 1<<30)
	var asks []*api.Allocation
	for i := range 1000 {
		asks = append(asks, wish(fmt.Sprintf("k-%03d", i), int64(i+1), 0))
	}
	q := question("web", asks...)
	q.Within = time.Hour
	for looks, want := range map[int]int{0: 0, 1: 256, 3: 768, 10_000: 1000} {
		ctx := &hurry{context.Background(), looks, context.DeadlineExceeded}
		out, err := explain.WhatIf(ctx, c.View(), c.kinds, start, q)
		assert.NilError(t, err)
		count := 0
		for _, a := range out.Asks {
			if a.Placed != "" {
				count++
			}
		}
		assert.Equal(t, count, want)
		assert.Equal(t, out.Partial, want < 1000)
		assert.Equal(t, out.Simulated == time.Hour, want == 1000, "%v", out.Simulated)

		_, err = explain.WhatIf(&hurry{context.Background(), looks, context.Canceled}, c.View(), c.kinds, start, q)
		assert.Equal(t, errors.Is(err, context.Canceled), want < 1000, "%v", err)
	}
}

// guarded is a crowd whose disruption budgets bind.
func guarded(t *testing.T) *cluster {
	t.Helper()
	config := twoQueues()
	config.Preemption.Budgets = preemptor.HardBudgets
	c := newCluster(t, config, api.Options{})
	for i := 1; i <= 2; i++ {
		node := fmt.Sprintf("n%d", i)
		c.node(node, 4000, 1<<30)
		c.ask("batch", fmt.Sprintf("b-%d", i), 4000, 1, on(node), priority(int32(i)))
	}
	c.settle(start)
	return c
}

// TestWhatIfBudgets foretells no eviction that a budget forbids, and counts those that
// it foretells.
func TestWhatIfBudgets(t *testing.T) {
	both := []api.AllocationKey{"b-1", "b-2"}
	for _, budgets := range []struct {
		are  []api.DisruptionBudget
		want string
	}{
		{nil, "[b-1 b-2]"},
		{[]api.DisruptionBudget{}, "[b-1 b-2]"},
		{[]api.DisruptionBudget{{Name: "one", Allocations: both[:1]}}, "[b-2]"},
		{[]api.DisruptionBudget{{Name: "all", Allocations: both}}, "[]"},
		{[]api.DisruptionBudget{{Name: "all", Allowed: 1, Allocations: both}}, "[b-1]"},
		{[]api.DisruptionBudget{{Name: "all", Allowed: 2, Allocations: both}}, "[b-1 b-2]"},
		{[]api.DisruptionBudget{{Name: "all", Allowed: 2, Allocations: both}, {Name: "two", Allocations: both[1:]}}, "[b-1]"},
	} {
		c := guarded(t)
		q := question("web", wish("first", 4000, 9), wish("second", 4000, 9))
		q.Budgets = budgets.are
		out, err := explain.WhatIf(t.Context(), c.View(), c.kinds, start, q)
		assert.NilError(t, err)
		victims := []api.AllocationKey{}
		for _, v := range out.Victims {
			victims = append(victims, v.Key)
		}
		slices.Sort(victims)
		assert.Equal(t, fmt.Sprint(victims), budgets.want)
	}
}

// TestWhatIfOfANewApplication: it would run, room would be made for it, or it would not
// be taken in, and then neither are its asks.
func TestWhatIfOfANewApplication(t *testing.T) {
	c := crowd(t)
	known := len(c.View().Applications)
	app := func(id, queue string) api.AddApplication {
		return api.AddApplication{ID: api.ApplicationID(id), Queue: api.QueuePath(queue), User: "anna"}
	}
	q := question("new", wish("fits", 1000, 0), wish("takes", 3000, 9), wish("modest", 3000, 9), wish("nowhere", 1000, 0))
	q.Asks[2].Application, q.Asks[2].Preemptable = "other", api.Preemptable{Stated: true}
	q.Asks[3].Application = "lost"
	q.Applications = []api.AddApplication{app("new", "root.web"), app("other", "root.batch"), app("lost", "root.none"), app("batch", "root.web")}
	out, err := explain.WhatIf(t.Context(), c.View(), c.kinds, start.Add(time.Minute), q)
	assert.NilError(t, err)
	assert.Equal(t, out.Asks[0].Placed, api.NodeID("n2"))
	assert.Equal(t, out.Asks[1].Nominated, api.NodeID("n1"))
	assert.Equal(t, out.Asks[2].Nominated, api.NodeID(""), "it may end no others")
	assert.Equal(t, out.Asks[2].Waits.Reason, api.NoNodeFits)
	assert.Equal(t, out.Asks[3].Refused, `application "lost" is not registered`)
	assert.Equal(t, len(out.Victims), 1)
	assert.Equal(t, out.Victims[0].Message, "preempted on node n1 to make room for takes of application new, by priority 9 over 0")
	assert.Equal(t, len(out.Rejected), 2)
	assert.Assert(t, strings.Contains(out.Rejected["lost"], "root.none"), out.Rejected)
	assert.Assert(t, strings.Contains(out.Rejected["batch"], "batch"), out.Rejected)
	assert.Equal(t, len(c.View().Applications), known, "nothing was changed")
}

// TestWhatIfTheLimitsWere says which users and groups would be over which limit. What a limit names
// itself is not one of all others.
func TestWhatIfTheLimitsWere(t *testing.T) {
	c := crowd(t)
	c.settle(start)
	for i, app := range c.View().Applications {
		c.Apply(start, api.AddApplication{ID: api.ApplicationID(fmt.Sprint("more", i)), Queue: app.Queue, User: "ann", Groups: []string{"dev"}})
		key := api.AllocationKey(fmt.Sprint("own", i))
		c.Apply(start, api.AddAllocation{Allocation: &api.Allocation{
			Key: key, Application: api.ApplicationID(fmt.Sprint("more", i)), Node: "n1", Amounts: resources.Amounts{300}, Created: start, Placed: start,
		}})
	}
	config := twoQueues()
	config.Name = "default"
	config.Root.Limits = []api.Limit{
		{Users: []string{"ann"}, Max: resources.Limits{500}, ApplicationsMax: 1},
		{Users: []string{"*"}, Max: resources.Limits{1 << 40}},
		{Groups: []string{"dev"}, ApplicationsMax: 9},
	}
	config.Root.Queues[0].Limits = []api.Limit{{Groups: []string{"dev"}, Max: resources.Limits{0}}}
	out, err := explain.WhatIf(t.Context(), c.View(), c.kinds, start.Add(time.Minute), explain.Question{Config: &config})
	assert.NilError(t, err)
	var got []string
	for _, o := range out.OverLimits {
		got = append(got, fmt.Sprintf("%s %s %t by %s and %d", o.Queue, o.Owner.Name, o.Owner.Group, c.kinds.Format(o.By), o.Applications))
	}
	assert.DeepEqual(t, got, []string{"root ann false by vcore=100 and 1", "root.web dev true by vcore=300 and 0"})
}

// TestWhatIfLeavesWhatIsScarce: where nodes are tried by what is scarce, a pod that is asked about would leave the node with a disk
// to those that run there and need it, though it is the fullest, and with nodes in another order it would not. A pod of a
// removed node leaves it, too.
func TestWhatIfLeavesWhatIsScarce(t *testing.T) {
	config := twoQueues()
	config.Nodes.Scarcity = true
	c := newCluster(t, config, api.Options{})
	c.Apply(start, api.AddNode{ID: "n1", Capacity: resources.Amounts{4000, 1 << 30}, Attributes: map[string]string{"disk": "ssd"}})
	c.node("n2", 4000, 1<<30)
	c.node("n3", 4000, 1<<30)
	c.ask("web", "data", 2000, 1, on("n1"), func(a *api.Allocation) { a.Tags = map[string]string{api.TagNodeSelector: "disk=ssd"} })
	c.ask("web", "moves", 1000, 1, on("n3"))
	c.settle(start)

	q := question("web", wish("any", 1000, 0))
	assert.Equal(t, whatIf(t, c, q).Asks[0].Placed, api.NodeID("n3"))
	q.Config = new(twoQueues())
	q.Config.Nodes.Packing = true
	assert.Equal(t, whatIf(t, c, q).Asks[0].Placed, api.NodeID("n1"))

	removed := whatIf(t, c, explain.Question{Nodes: explain.Nodes{Remove: []api.NodeID{"n3"}}})
	assert.Equal(t, removed.Moved[0].Placed, api.NodeID("n2"))
}
