package core_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/core"
	"github.com/narwhal-scheduler/narwhal/pkg/core/access"
	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/core/placement"
	"github.com/narwhal-scheduler/narwhal/pkg/internal/seeds"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// A placing makes random histories use rules of placement, templates and access lists, and
// applications that have users, tags, quotas of namespaces or are forced.
type placing struct{ chance }

func (c placing) pick(texts ...string) string { return texts[c.IntN(len(texts))] }

// config adds to a configuration what queues and applications are placed by.
func (c placing) config(config *api.Config) {
	config.Closed = c.IntN(2) == 0
	for range c.IntN(5) {
		rule := c.rule()
		if c.IntN(2) == 0 {
			above := c.rule()
			rule.Parent = &above
		}
		config.Rules = append(config.Rules, rule)
	}
	c.queue(&config.Root, nil)
}

func (c placing) rule() placement.Rule {
	rule := placement.Rule{Kind: placement.Kind(c.IntN(4)), Create: c.IntN(4) > 0}
	switch rule.Kind {
	case placement.Tag:
		rule.Value = "namespace"
	case placement.Fixed:
		rule.Value = c.pick("a", "p", "p.b", "new", "new.er", "a.x", "p.d")
	}
	if c.IntN(3) == 0 {
		rule.Filter.Users, _ = placement.NewNames([]string{c.pick("ann", "bob", "a.*")})
		rule.Filter.Deny = c.IntN(2) == 0
	}
	return rule
}

// queue adds to a queue and to those below it. Some of those are left out, or made by rules.
func (c placing) queue(q *api.QueueConfig, above *api.QueueTemplate) {
	q.Submit, _ = access.Parse(c.pick("", "", "*", "ann", "bob dev"))
	q.Admin, _ = access.Parse(c.pick("", "", "", "ann"))
	var kept []api.QueueConfig
	for _, child := range q.Queues {
		if c.IntN(8) > 0 {
			kept = append(kept, child)
		}
	}
	q.Queues = kept
	if !q.Parent {
		return
	}
	if q.Below = above; c.IntN(3) == 0 {
		q.Below = c.template(q.Properties)
	}
	for i := range q.Queues {
		c.queue(&q.Queues[i], q.Below)
	}
}

func (c placing) template(properties api.QueueProperties) *api.QueueTemplate {
	t := &api.QueueTemplate{Leaf: properties, Parent: properties}
	if c.IntN(2) == 0 {
		t.Max = resources.Limits{int64(1 + c.IntN(8)), resources.Unlimited}
	}
	if c.IntN(3) == 0 {
		t.Guaranteed = resources.Amounts{int64(c.IntN(4)), 0, int64(c.IntN(2))}
	}
	if c.IntN(3) == 0 {
		t.Leaf.PriorityFence, t.Leaf.PriorityOffset = c.IntN(2) == 0, int32(c.IntN(3))
		t.Leaf.PreemptionPolicy = api.PreemptionPolicy(c.IntN(3))
		t.Leaf.ApplicationSort = api.SortPolicy(c.IntN(2))
	}
	return t
}

// application adds to an application that comes what rules look at.
func (c placing) application(a *api.AddApplication) {
	a.User = c.pick("ann", "bob", "eve", "J.Doe", "x$")
	if c.IntN(3) == 0 {
		a.Groups = []string{"dev"}
	}
	a.Queue = api.QueuePath(c.pick("", "root.a", "Root.P.B", "p.c", "new", "root.p.d", "root.new.er", "root.p", "root.@recovery@", "..", "root.a.b"))
	if c.IntN(3) > 0 {
		a.Tags = map[string]string{"Namespace": c.pick("one", "two", "Root.P.one", "a.b", "p", "@recovery@")}
	}
	a.Forced = c.IntN(4) == 0
	if c.IntN(3) == 0 {
		a.Quota = &api.QueueQuota{}
		if c.IntN(3) > 0 {
			a.Quota.Max = resources.Limits{int64(c.IntN(6)), resources.Unlimited, int64(c.IntN(3))}
		}
		if c.IntN(3) == 0 {
			a.Quota.Guaranteed = resources.Amounts{int64(c.IntN(4))}
		}
	}
}

// newPlacedHistory is a random history with rules of placement.
func newPlacedHistory(c chance) *history {
	h := newHistory(c)
	h.placing = &placing{c}
	h.applications = 12
	reconfigured := api.Reconfigure{Config: h.config()}
	h.laws.config = reconfigured.Config
	h.apply(reconfigured)
	return h
}

// seen is what random histories came by.
type seen map[string]int

// look counts what there is, so that a history which shows nothing fails the test.
func (s seen) look(q *api.QueueView) {
	s["dynamic"] += count(q.Dynamic)
	s["draining and dynamic"] += count(q.Draining && q.Dynamic && q.Path != api.RecoveryQueue)
	s["of a namespace"] += count(q.Quota != nil)
	s["recovery"] += count(q.Path == api.RecoveryQueue)
	s["parents"] += count(q.Dynamic && !q.Leaf)
	s["beyond max"] += count(q.Dynamic && !q.OverMaxSince.IsZero())
	for _, child := range q.Queues {
		s.look(child)
	}
}

func count(is bool) int {
	if is {
		return 1
	}
	return 0
}

func (s seen) all(t *testing.T) {
	t.Helper()
	t.Logf("%v", s)
	for what, times := range s {
		assert.Assert(t, times >= seeds.Part(t, 3), "%s was seen %d times", what, times)
	}
}

// TestRandomHistoriesWithDynamicQueues keeps the laws while queues come with applications,
// go with them, and are configured and taken out of the configuration again.
func TestRandomHistoriesWithDynamicQueues(t *testing.T) {
	came := seen{}
	for seed := range seeds.Of(t, 400) {
		h := newPlacedHistory(rand.New(rand.NewPCG(seed, 20)))
		for i := range 160 {
			h.lawful(t, seed, i)
		}
		came.look(h.p.View().Root)
		h.settle(t)
		for i := range h.applications {
			h.p.Apply(h.now, api.RemoveApplication{ID: api.ApplicationID(fmt.Sprint("app", i))})
		}
		noneIsLeft(t, seed, h.p.View().Root)
	}
	came.all(t)
}

// noneIsLeft fails if there is a queue that is not configured.
func noneIsLeft(t *testing.T, seed uint64, q *api.QueueView) {
	t.Helper()
	assert.Assert(t, !q.Dynamic && !q.Draining, "seed %d: %s is left", seed, q.Path)
	for _, child := range q.Queues {
		noneIsLeft(t, seed, child)
	}
}

// TestDynamicQueuesDecideLikeTheNaiveTwin compares placements with those of the twin, which
// knows nothing of how queues came to be.
func TestDynamicQueuesDecideLikeTheNaiveTwin(t *testing.T) {
	compared, came := 0, seen{}
	for seed := range seeds.Of(t, 400) {
		h := &history{chance: rand.New(rand.NewPCG(seed, 21)), now: start, applications: 12}
		h.placing = &placing{h.chance}
		config := h.config()
		config.Preemption.Disabled = true
		h.p = core.NewPartition(api.Options{Kinds: testKinds(), ReserveDelay: -1, BatchMax: 1}, config)
		h.populate()
		twin := naive{weights: map[resources.Kind]int64{0: 3, 1: 1}, packing: config.Nodes.Packing}
		for i := range 120 {
			if h.IntN(40) == 0 {
				next := h.config()
				next.Preemption.Disabled, next.Nodes = true, config.Nodes
				h.p.Apply(h.now, api.Reconfigure{Config: next})
			}
			h.plainStep(i)
			compared += twin.compare(t, h, fmt.Sprintf("seed %d, step %d", seed, i))
		}
		came.look(h.p.View().Root)
	}
	t.Logf("%d placements compared", compared)
	assert.Assert(t, compared > seeds.Part(t, 1500))
	delete(came, "beyond max") // it is rare without preemption
	came.all(t)
}

// TestRestoreKnowsDynamicQueues restores partitions in the middle of random histories. What
// they do with the next configuration and the next applications is the same.
func TestRestoreKnowsDynamicQueues(t *testing.T) {
	for seed := range seeds.Of(t, 300) {
		h := newPlacedHistory(rand.New(rand.NewPCG(seed, 22)))
		for range 80 {
			h.step()
		}
		other := core.Restore(api.Options{Kinds: testKinds()}, h.now, h.p.View())
		assert.NilError(t, other.Verify(), "seed %d", seed)
		sameQueues(t, other.View().Root, h.p.View().Root)
		for i := range 40 {
			h.now = h.now.Add(time.Second)
			add := api.AddApplication{ID: api.ApplicationID(fmt.Sprint("more", i))}
			h.placing.application(&add)
			commands := []api.Command{add}
			if h.IntN(4) == 0 {
				commands = append(commands, api.Reconfigure{Config: h.config()})
			}
			if h.IntN(3) == 0 {
				commands = append(commands, api.RemoveApplication{ID: h.app()})
			}
			for _, c := range commands {
				h.p.Apply(h.now, c)
				other.Apply(h.now, c)
			}
			assert.NilError(t, other.Verify(), "seed %d, step %d", seed, i)
			sameStanding(t, fmt.Sprintf("seed %d, step %d: %+v", seed, i, commands), other.View().Root, h.p.View().Root)
		}
	}
}

// sameStanding compares what queues are, and not what they use.
func sameStanding(t *testing.T, when string, a, b *api.QueueView) {
	t.Helper()
	line := func(q *api.QueueView) string {
		return fmt.Sprintln(q.Path, q.Leaf, q.Draining, q.Dynamic, q.Applications, q.Max, q.Guaranteed, q.Properties, q.WasDynamic)
	}
	assert.Equal(t, line(a), line(b), when)
	assert.Equal(t, len(a.Queues), len(b.Queues), when)
	for i := range a.Queues {
		sameStanding(t, when, a.Queues[i], b.Queues[i])
	}
}
