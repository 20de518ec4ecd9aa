package core_test

import (
	"cmp"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"
	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/core"
	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/core/preemptor"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// chance draws the choices of a random history: from a seed, or, for the
// fuzzer, from bytes.
type chance interface{ IntN(n int) int }

type bytesChance struct{ data []byte }

func (c *bytesChance) IntN(n int) int {
	if len(c.data) == 0 {
		return 0
	}
	b := int(c.data[0])
	c.data = c.data[1:]
	return b % n
}

// history applies random commands to a partition and checks the laws after
// each step.
type history struct {
	chance
	p       *core.Partition
	now     time.Time
	current api.Config // where the test keeps it
	laws    lawChecker
	asked   map[string]int    // questions to the resource manager, by what was asked
	broken  error             // the law that the last step broke
	heard   func(api.Effects) // of every step and command, where the test wants to know
	tags    chance            // of what tags say of the time before a restart; nil for none

	placing      *placing // of rules of placement; nil for none
	applications int      // that there may be, if not four
	gangs        bool     // what comes is of task groups

	devices  map[string]int64 // kinds that come in devices
	scarcity bool             // nodes are tried by what is scarce
	selects  bool             // asks name attributes of nodes

	refuses func(api.AllocationKey, api.NodeID) bool // an ask on a node, whatever ends there; nil is never
	choosy  bool                                     // the resource manager has a say in which victims make room
}

var errTaint = errors.New("taint")

func newHistory(c chance) *history { return newHistoryThatReserves(c, time.Second) }

func newHistoryThatReserves(c chance, after time.Duration) *history {
	h := &history{chance: c, now: start}
	options := api.Options{Kinds: testKinds(), ReserveDelay: after, ReserveMax: 10 * time.Second, CompletingDelay: 3 * time.Second, UnusedDelay: 20 * time.Second, BatchMax: 1 + h.IntN(5)}
	if h.IntN(3) == 0 {
		h.refuses = func(key api.AllocationKey, node api.NodeID) bool {
			return (len(key)+int(key[len(key)-1])+int(node[1]))%4 == 0
		}
		options.Feasible = func(key api.AllocationKey, node api.NodeID, _ bool) error {
			if h.refuses(key, node) {
				return errTaint
			}
			return nil
		}
	}
	h.advise(&options)
	h.choosy = options.Simulate != nil || options.SelectVictims != nil
	h.laws = lawChecker{
		advised:   options.Feasible != nil || options.Simulate != nil || options.SelectVictims != nil || options.Budgets != nil,
		evictedAt: map[api.AllocationKey]time.Time{},
	}
	h.laws.config = h.config()
	h.p = core.NewPartition(options, h.laws.config)
	h.laws.p = h.p
	if h.IntN(4) == 0 {
		h.p.SettleFor(time.Duration(1+h.IntN(3)) * time.Second)
	}
	if h.IntN(4) > 0 {
		h.populate()
	}
	return h
}

// populate begins with nodes and applications; otherwise it takes long until
// anything can run at all.
func (h *history) populate() {
	for i := range 3 {
		h.p.Apply(h.now, api.AddNode{ID: api.NodeID(fmt.Sprint("n", i)), Capacity: resources.Amounts{int64(4 + h.IntN(6)), 8, 3}})
	}
	for i, queue := range []api.QueuePath{"root.a", "root.p.b", "root.p.c", "root.p.b"} {
		h.p.Apply(h.now, api.AddApplication{ID: api.ApplicationID(fmt.Sprint("app", i)), Queue: queue})
	}
}

// advise has the resource manager say more about preemption than it has to:
// answers that hold together, or any at all.
func (h *history) advise(options *api.Options) {
	h.asked = map[string]int{}
	if h.IntN(4) == 0 {
		options.Budgets = func(keys []api.AllocationKey) (budgets []api.DisruptionBudget) {
			h.asked["budgets"]++
			for i := range 3 {
				budgets = append(budgets, api.DisruptionBudget{Name: fmt.Sprint("budget", i), Allowed: i})
				for _, key := range keys {
					if int(key[len(key)-1])%4 <= i {
						budgets[i].Allocations = append(budgets[i].Allocations, key)
					}
				}
			}
			return budgets
		}
	}
	nonsense := h.IntN(2) == 0
	if h.IntN(4) == 0 {
		options.Simulate = func(ask api.AllocationKey, node api.NodeID, _, remove []api.AllocationKey) error {
			h.asked["simulate"]++
			if nonsense && h.IntN(3) == 0 || (int(ask[len(ask)-1])+int(node[1]))%3 > len(remove) {
				return errTaint // a conflict with an allocation that is still there
			}
			return nil
		}
	}
	if h.IntN(4) > 0 {
		return
	}
	options.SelectVictims = func(_ api.AllocationKey, _ api.NodeID, candidates []api.AllocationKey, _ []bool) ([]api.AllocationKey, error) {
		h.asked["victims"]++
		switch {
		case !nonsense:
			return candidates, nil
		case h.IntN(4) == 0:
			return nil, errTaint
		case h.IntN(2) == 0:
			return candidates[h.IntN(len(candidates)):], nil
		}
		return []api.AllocationKey{h.key(), h.key(), h.key()}, nil
	}
}

func (h *history) config() api.Config {
	limits := func() resources.Limits {
		if h.IntN(2) == 0 {
			return nil
		}
		return resources.Limits{int64(2 + h.IntN(8)), resources.Unlimited}
	}
	flat := h.IntN(3) == 0
	properties := func() api.QueueProperties {
		return api.QueueProperties{
			ApplicationSort: api.SortPolicy(h.IntN(2)), IgnorePriority: h.IntN(4) == 0,
			PreemptionDelay: time.Duration(h.IntN(3)) * time.Second, QuotaDelay: time.Duration(h.IntN(3)) * time.Second,
		}
	}
	uneven := func() api.QueueProperties {
		p := properties()
		if !flat {
			p.PriorityFence, p.PriorityOffset = h.IntN(4) == 0, int32(h.IntN(3))
			p.PreemptionPolicy = api.PreemptionPolicy(max(h.IntN(10)-7, 0))
		}
		return p
	}
	guaranteed := func(most int) resources.Amounts {
		if flat || h.IntN(4) == 0 {
			return nil
		}
		return resources.Amounts{int64(most/2 + h.IntN(most)), int64(most/2 + h.IntN(most)), int64(4 * h.IntN(2))}
	}
	leaf := func(name string, most int) api.QueueConfig {
		return api.QueueConfig{Name: name, Max: limits(), Guaranteed: guaranteed(most), Properties: uneven()}
	}
	root := api.QueueConfig{Name: "root", Parent: true, Properties: properties()}
	root.Queues = append(root.Queues, leaf("a", 16))
	if h.IntN(4) > 0 {
		root.Queues = append(root.Queues, api.QueueConfig{
			Name: "p", Parent: true, Max: limits(), Guaranteed: guaranteed(16), Properties: uneven(), Queues: []api.QueueConfig{leaf("b", 3), leaf("c", 12)},
		})
	}
	plans := preemptor.DefaultConfig()
	plans.StartDelay = time.Duration(h.IntN(3)) * time.Second
	preemption := api.PreemptionConfig{
		Disabled: h.IntN(6) == 0, RequiredNode: plans, VictimTimeout: time.Duration(1+h.IntN(5)) * time.Second,
		Quota: h.IntN(2) == 0, Priority: api.PriorityPreemption(h.IntN(4) % 3), ByQoS: h.IntN(2) == 0,
		LoopMax: 1 + h.IntN(3), LoopWindow: time.Duration(1+h.IntN(9)) * time.Second,
	}
	if !flat && h.IntN(2) == 0 {
		preemption.Priority = api.PriorityOff
	}
	h.limit(&root, max(h.IntN(7)-4, 0))
	config := api.Config{Name: "default", Root: root, Preemption: preemption, Nodes: api.NodeOrder{Packing: h.IntN(2) == 0, Weights: map[string]int64{"vcore": 3, "memory": 1}, Devices: h.devices, Scarcity: h.scarcity}}
	if h.placing != nil {
		h.placing.config(&config)
	}
	return config
}

// limit limits users, groups and applications in a queue and those below it, the more often the
// higher the number; zero is never.
func (h *history) limit(q *api.QueueConfig, often int) {
	if h.IntN(4) < often {
		q.ApplicationsMax = 1 + h.IntN(3)
	}
	for _, names := range [][2][]string{{{"ann"}, nil}, {{"*"}, nil}, {nil, {"dev"}}, {nil, {"*"}}} {
		if h.IntN(6) >= often {
			continue
		}
		limit := api.Limit{Users: names[0], Groups: names[1]}
		if h.IntN(3) > 0 {
			limit.Max = resources.Limits{int64(h.IntN(10)), resources.Unlimited}
		}
		if h.IntN(3) == 0 {
			limit.ApplicationsMax = 1 + h.IntN(2)
		}
		q.Limits = append(q.Limits, limit)
	}
	for i := range q.Queues {
		h.limit(&q.Queues[i], often)
	}
}

func (h *history) node() api.NodeID { return api.NodeID(fmt.Sprint("n", h.IntN(5))) }
func (h *history) app() api.ApplicationID {
	return api.ApplicationID(fmt.Sprint("app", h.IntN(cmp.Or(h.applications, 4))))
}

func (h *history) key() api.AllocationKey { return api.AllocationKey(fmt.Sprint("k", h.IntN(24))) }

func (h *history) amounts() resources.Amounts {
	return resources.Amounts{int64(h.IntN(5)), int64(h.IntN(5)), int64(h.IntN(2))}
}

func (h *history) allocation() *api.Allocation {
	a := &api.Allocation{
		Key: h.key(), Amounts: h.amounts(), Priority: int32(h.IntN(3)),
		Created: h.now.Add(-time.Duration(h.IntN(5)) * time.Second),
	}
	h.tag(a)
	switch h.IntN(8) {
	case 0:
		a.Origin, a.Node = api.Foreign, h.node()
		return a
	case 1:
		a.Origin, a.Node = api.Static, h.node()
		return a
	case 2:
		a.Node = h.node()
	case 3:
		if h.IntN(2) == 0 {
			a.Required = h.node()
		}
	}
	if h.IntN(6) == 0 {
		a.Preemptable = api.Preemptable{Stated: true, AllowSelf: h.IntN(2) == 0, AllowOthers: h.IntN(2) == 0}
	}
	a.Application = h.app()
	if h.gangs && a.Required == "" {
		a.TaskGroup, a.Placeholder = fmt.Sprint("group", h.IntN(2)), h.IntN(2) == 0
	}
	return a
}

func (h *history) command() api.Command {
	if h.selects {
		return h.selecting(h.anyCommand())
	}
	return h.anyCommand()
}

// selecting gives nodes attributes, and has asks name some.
func (h *history) selecting(c api.Command) api.Command {
	zone := string(rune('a' + h.IntN(3)))
	switch c := c.(type) {
	case api.AddNode:
		c.Attributes = map[string]string{"zone": zone, "disk": strings.Repeat("x", h.IntN(2))}
		return c
	case api.UpdateNode:
		if h.IntN(3) == 0 {
			c.Attributes = map[string]string{"zone": zone}
		}
		return c
	case api.AddAllocation:
		selector := []string{"", "zone=" + zone, "zone=a|" + zone, "disk=x,zone=" + zone, "no selector"}[h.IntN(5)]
		if c.Allocation.Tags == nil && selector != "" {
			c.Allocation.Tags = map[string]string{api.TagNodeSelector: selector}
		}
	}
	return c
}

func (h *history) anyCommand() api.Command {
	switch h.IntN(24) {
	case 0:
		return api.AddNode{ID: h.node(), Capacity: resources.Amounts{8, 8, 3}, Drained: h.IntN(6) == 0}
	case 1:
		return api.UpdateNode{ID: h.node(), Capacity: resources.Amounts{int64(h.IntN(12)), 8, int64(h.IntN(4))}}
	case 2:
		return api.DrainNode{ID: h.node()}
	case 3:
		return api.UndrainNode{ID: h.node()}
	case 4:
		if h.IntN(2) == 0 {
			return api.UndrainNode{ID: h.node()}
		}
		return api.RemoveNode{ID: h.node()}
	case 5, 6:
		if h.gangs {
			return h.gang()
		}
		add := api.AddApplication{
			ID: h.app(), Queue: []api.QueuePath{"root.a", "root.p.b", "p.c", ""}[h.IntN(4)],
			User: []string{"ann", "bob", "eve"}[h.IntN(3)], Groups: [][]string{nil, {"dev"}, {"ops", "dev"}}[h.IntN(3)],
		}
		if h.placing != nil {
			h.placing.application(&add)
		}
		return add
	case 7:
		if h.IntN(4) == 0 {
			return api.RemoveApplication{ID: h.app()}
		}
		return api.Reconfigure{Config: h.config()}
	case 8, 9, 10:
		types := []si.TerminationType{si.TerminationType_STOPPED_BY_RM, si.TerminationType_PREEMPTED_BY_SCHEDULER, si.TerminationType_PLACEHOLDER_REPLACED, api.SchedulingFailed}
		release := api.ReleaseAllocation{Application: h.app(), Key: h.key(), Termination: types[h.IntN(4)]}
		switch h.IntN(16) {
		case 0:
			release.Application = ""
		case 1:
			release.Key = ""
		}
		return release
	default:
		return api.AddAllocation{Allocation: h.allocation()}
	}
}

// step does one random thing and returns what was done. What law that broke is
// noted.
func (h *history) step() any {
	switch h.IntN(6) {
	case 0, 1, 2:
		c := h.command()
		h.apply(c)
		if c, is := c.(api.Reconfigure); is {
			h.laws.config = c.Config
		}
		return c
	case 3:
		if h.IntN(2) == 0 {
			h.confirm(h.IntN(3) == 0)
			return "confirm"
		}
		h.now = h.now.Add(time.Duration(h.IntN(3000)) * time.Millisecond)
	}
	var fx api.Effects
	fx, _, h.broken = h.laws.schedule(h.now)
	h.follow(fx)
	return fx
}

func (h *history) apply(c api.Command) { h.follow(h.p.Apply(h.now, c)) }

// follow notes what became of victims, where the test wants to know.
func (h *history) follow(fx api.Effects) {
	if h.heard != nil {
		h.heard(fx)
	}
}

func seeded(seed, stream uint64) chance { return rand.New(rand.NewPCG(seed, stream)) }

// TestRandomHistories keeps the laws whatever is sent in whatever order.
func TestRandomHistories(t *testing.T) {
	var preempted api.Preempted
	asked, worlds := map[string]int{}, uint64(1000)
	if testing.Short() {
		worlds /= 4
	}
	for seed := range worlds {
		h := newHistory(rand.New(rand.NewPCG(seed, 0)))
		for i := range 160 {
			h.lawful(t, seed, i)
		}
		h.settle(t)
		for what, count := range h.asked {
			asked[what] += count
		}
		was := h.p.View().Preempted
		preempted.Plans += was.Plans
		preempted.Reservations += was.Reservations
		preempted.Nominations += was.Nominations
		preempted.Cleared += was.Cleared
		preempted.Loops += was.Loops
		for trigger, classes := range was.Victims {
			for class, victims := range classes {
				preempted.Victims[trigger][class] += victims
				preempted.Overdue[trigger][class] += was.Overdue[trigger][class]
			}
		}
	}
	t.Logf("%+v, asked %v", preempted, asked)
	if testing.Short() {
		return
	}
	assert.Assert(t, asked["budgets"] > 200 && asked["simulate"] > 200 && asked["victims"] > 100)
	assert.Assert(t, preempted.Overdue.Total() > 10 && preempted.Reservations > 0 && preempted.Cleared > 100 && preempted.Loops > 5)
	for trigger := range preemptor.Trigger(preemptor.Triggers) {
		victims := preempted.Victims.By(trigger)
		assert.Assert(t, victims > 20, "by %s there were %d victims", trigger, victims)
	}
}

// settle schedules until nothing is left to do, which must come, and sees that
// nothing waits that could run.
func (h *history) settle(t *testing.T) {
	t.Helper()
	for range 1000 {
		if _, more := h.p.Schedule(h.now); more {
			continue
		}
		assert.NilError(t, h.p.Verify())
		assert.NilError(t, h.p.VerifyAttempts())
		return
	}
	t.Fatal("scheduling does not come to rest")
}
