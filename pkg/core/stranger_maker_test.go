package core_test

import (
	"cmp"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"

	"github.com/narwhal-scheduler/narwhal/pkg/core"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

var strangerKinds = []string{"vcore", "memory", "gpu", "disk", "pods", "example.com/fpga"}

// A strangerMaker makes up what happens in a world.
type strangerMaker struct {
	*rand.Rand
	w       *strangerWorld
	ops     []strangerOp
	sizes   []resources.Amounts
	leaves  []core.QueuePath
	apps    int
	keys    int
	classes int
	nodes   int
	quota   int // percent of queues with a max
	preempt bool
	scaled  bool // offsets and fences
	later   map[core.AllocationKey]time.Time
	told    map[core.AllocationKey]bool
}

func (m *strangerMaker) chance(percent int) bool { return m.IntN(100) < percent }

func (m *strangerMaker) amounts(q map[string]int64) resources.Amounts {
	a, err := m.w.features.Kinds.Amounts(q)
	if err != nil {
		panic(err)
	}
	return a
}

func newStrangerMaker(seed uint64) *strangerMaker {
	m := &strangerMaker{
		Rand: rand.New(rand.NewPCG(seed, 7)), later: map[core.AllocationKey]time.Time{}, told: map[core.AllocationKey]bool{},
	}
	f := strangerFeatures{
		Refuses: m.chance(40), Solo: m.chance(30), Constraints: m.chance(60), Several: m.chance(50), Duty: m.chance(20),
		Reserve: m.chance(25), Budgets: m.chance(20), Books: true, Kinds: new(resources.Kinds),
	}
	if m.chance(20) {
		f.Rate = 20 + m.IntN(40)
	}
	if m.chance(50) {
		f.Batch = 1 + m.IntN(10)
	}
	m.quota, m.preempt, m.scaled = []int{0, 20, 60}[m.IntN(3)], m.chance(50), m.chance(30)
	m.classes, m.nodes = 1+m.IntN(6), 1+m.IntN(12)
	for _, k := range strangerKinds {
		_, _ = f.Kinds.Intern(k)
	}
	m.w = &strangerWorld{features: f}
	for range []int{2, 10, 300}[m.IntN(3)] {
		m.sizes = append(m.sizes, m.size())
	}
	f.Config = m.config()
	m.w = newStrangerWorld(f)
	return m
}

func (m *strangerMaker) size() resources.Amounts {
	q := map[string]int64{"vcore": int64(1+m.IntN(40)) * 100}
	for _, k := range strangerKinds[1:] {
		if m.chance(30) {
			q[k] = int64(1 + m.IntN(8))
		}
	}
	return m.amounts(q)
}

func (m *strangerMaker) capacity() resources.Amounts {
	q := map[string]int64{"vcore": int64(2+m.IntN(10)) * 1000}
	for _, k := range strangerKinds[1:] {
		if m.chance(85) {
			q[k] = int64(4 + m.IntN(30))
		}
	}
	return m.amounts(q)
}

// config makes up a tree of three levels that the validation would accept.
func (m *strangerMaker) config() core.Config {
	m.leaves = nil
	root := core.QueueConfig{Name: "root", Parent: true, Properties: core.QueueProperties{PreemptionDelay: 30 * time.Second}}
	for i := range 1 + m.IntN(3) {
		mid := core.QueueConfig{Name: fmt.Sprint("m", i), Properties: m.properties(), Parent: true}
		mid.Max = m.max(nil, 60_000)
		for j := range 1 + m.IntN(3) {
			leaf := core.QueueConfig{Name: fmt.Sprint("q", j), Properties: m.properties()}
			leaf.Max = m.max(mid.Max, 30_000)
			if m.chance(40) {
				for k := range strangerKinds {
					most := leaf.Max.Least(mid.Max).Of(resources.Kind(k))
					leaf.Guaranteed.Set(resources.Kind(k), min(most/4, int64(m.IntN(4))*[]int64{1000, 2}[min(k, 1)]))
				}
			}
			mid.Queues = append(mid.Queues, leaf)
			m.leaves = append(m.leaves, core.QueuePath("root."+mid.Name+"."+leaf.Name))
		}
		root.Queues = append(root.Queues, mid)
	}
	c := core.Config{Name: "default", Root: root, Nodes: core.NodeOrder{Packing: m.chance(50)}}
	c.Preemption.Disabled = !m.preempt
	c.Preemption.Quota = m.chance(40)
	c.Preemption.ByQoS = m.chance(30)
	c.Preemption.Priority = core.PriorityPreemption(m.IntN(3))
	return c
}

func (m *strangerMaker) max(above resources.Limits, vcore int) (l resources.Limits) {
	if !m.chance(m.quota) {
		return nil
	}
	for k, name := range strangerKinds {
		kind, _ := m.w.features.Kinds.Lookup(name)
		if m.chance(50) {
			most := int64(10 + m.IntN(60))
			if k == 0 {
				most = int64(m.IntN(vcore))
			}
			l.Set(kind, min(most, above.Of(kind)))
		}
	}
	return l
}

func (m *strangerMaker) properties() core.QueueProperties {
	p := core.QueueProperties{PreemptionDelay: time.Duration(1+m.IntN(40)) * time.Second}
	if m.chance(50) {
		p.ApplicationSort = core.Fair
	}
	p.IgnorePriority = m.chance(15)
	if m.scaled {
		p.PriorityFence, p.PriorityOffset = m.chance(20), int32(m.IntN(7)-3)
	}
	if m.chance(20) {
		p.PreemptionPolicy = core.PreemptionPolicy(1 + m.IntN(2))
	}
	if m.chance(40) {
		p.QuotaDelay = time.Duration(1+m.IntN(20)) * time.Second
	}
	return p
}

func (m *strangerMaker) do(o strangerOp) {
	m.ops = append(m.ops, o)
	m.w.do(o)
}

func (m *strangerMaker) apply(c core.Command) { m.do(strangerOp{Verb: "apply", Command: c}) }

func strangerPick[K cmp.Ordered, V any](m *strangerMaker, of map[K]V) (k K, ok bool) {
	if len(of) == 0 {
		return k, false
	}
	keys := slices.Sorted(maps.Keys(of))
	return keys[m.IntN(len(keys))], true
}

func (m *strangerMaker) anyNode() core.NodeID { return core.NodeID(fmt.Sprint("n", m.IntN(m.nodes+2))) }

// run makes a world happen.
func (m *strangerMaker) run(steps int) {
	for range 1 + m.IntN(m.nodes) {
		m.apply(core.AddNode{ID: m.anyNode(), Capacity: m.capacity()})
	}
	for range 3 {
		m.application()
	}
	for range steps {
		m.step()
		m.confirm()
		if m.chance(80) {
			m.do(strangerOp{Verb: "schedule"})
		}
		if m.chance(4) {
			m.do(strangerOp{Verb: "settle"})
		}
	}
	m.do(strangerOp{Verb: "settle"})
}

func (m *strangerMaker) application() {
	m.apps++
	m.apply(core.AddApplication{ID: core.ApplicationID(fmt.Sprint("a", m.apps)), Queue: m.leaves[m.IntN(len(m.leaves))], User: "u"})
}

// confirm ends what was evicted, at once, late or never.
func (m *strangerMaker) confirm() {
	for _, key := range slices.Sorted(maps.Keys(m.w.books.evicted)) {
		if !m.told[key] {
			m.told[key] = true
			m.later[key] = m.w.now.Add(time.Duration([]int{0, 0, 10, 200, 1 << 30}[m.IntN(5)]) * time.Second)
		}
		if !m.w.now.Before(m.later[key]) {
			delete(m.told, key)
			m.release(key, si.TerminationType_PREEMPTED_BY_SCHEDULER)
		}
	}
}

func (m *strangerMaker) release(key core.AllocationKey, t si.TerminationType) {
	c := core.ReleaseAllocation{Key: key, Termination: t}
	if a := m.w.books.running[key]; a != nil {
		c.Application = a.Application
	} else if a := m.w.books.asks[key]; a != nil {
		c.Application = a.Application
	}
	m.apply(c)
}

func (m *strangerMaker) allocation() *core.Allocation {
	m.keys++
	app, _ := strangerPick(m, m.w.books.queueOf)
	a := &core.Allocation{
		Key: core.AllocationKey(fmt.Sprint("k", m.keys)), Application: app, Amounts: m.sizes[m.IntN(len(m.sizes))],
		Created: m.w.now.Add(time.Duration(m.IntN(100)-90)*time.Second + time.Duration(m.keys)), Tags: map[string]string{},
	}
	if m.chance(40) {
		a.Priority = int32(m.IntN(20))
	}
	if class := m.IntN(m.classes + 1); class > 0 {
		a.Tags["class"] = fmt.Sprint([]string{"r", "s"}[class%2], class)
	}
	return a
}

func (m *strangerMaker) asks() {
	first := m.allocation()
	for i := range 1 + m.IntN(8) {
		a := m.allocation()
		if m.chance(60) {
			a.Application, a.Amounts, a.Tags, a.Priority = first.Application, first.Amounts, first.Tags, first.Priority
		}
		if m.chance(4) {
			a.Required = m.anyNode()
		}
		a.Originator = i == 0 && m.chance(30)
		m.apply(core.AddAllocation{Allocation: a})
	}
}

func (m *strangerMaker) step() {
	b := m.w.books
	switch n := m.IntN(100); {
	case n < 30:
		m.asks()
	case n < 45:
		for range 1 + m.IntN(4) {
			if key, ok := strangerPick(m, b.running); ok {
				m.release(key, si.TerminationType_STOPPED_BY_RM)
			}
		}
	case n < 48:
		if key, ok := strangerPick(m, b.asks); ok {
			m.release(key, si.TerminationType_STOPPED_BY_RM)
		}
	case n < 52:
		if key, ok := strangerPick(m, b.running); ok {
			m.release(key, core.SchedulingFailed)
		}
	case n < 56:
		m.resize()
	case n < 72:
		m.node()
	case n < 79:
		m.foreign()
	case n < 81:
		m.do(strangerOp{Verb: "flip"})
	case n < 83:
		m.do(strangerOp{Verb: "hold", For: time.Duration(m.IntN(300)) * time.Second})
	case n < 84:
		m.do(strangerOp{Verb: "restore"})
	case n < 87:
		m.apply(core.Reconfigure{Config: m.config()})
	case n < 91:
		m.application()
	case n < 92:
		if id, ok := strangerPick(m, b.queueOf); ok && len(b.queueOf) > 2 {
			m.apply(core.RemoveApplication{ID: id})
		}
	default:
		m.do(strangerOp{Verb: "advance", For: time.Duration(m.IntN(40_000)) * time.Millisecond})
	}
}

func (m *strangerMaker) resize() {
	of := m.w.books.running
	if m.chance(50) {
		of = m.w.books.asks
	}
	if key, ok := strangerPick(m, of); ok {
		a := *of[key]
		a.Amounts = m.sizes[m.IntN(len(m.sizes))]
		m.apply(core.AddAllocation{Allocation: &a})
	}
}

func (m *strangerMaker) node() {
	switch id := m.anyNode(); m.IntN(10) {
	case 0, 1, 2:
		m.apply(core.AddNode{ID: id, Capacity: m.capacity(), Drained: m.chance(10)})
	case 3, 4:
		m.apply(core.RemoveNode{ID: id})
	case 5:
		m.apply(core.DrainNode{ID: id})
	case 6:
		m.apply(core.UndrainNode{ID: id})
	case 7:
		m.apply(core.UpdateNode{ID: id, Attributes: map[string]string{"x": fmt.Sprint(m.IntN(9))}})
	default:
		m.apply(core.UpdateNode{ID: id, Capacity: m.capacity()})
	}
}

func (m *strangerMaker) foreign() {
	if key, ok := strangerPick(m, m.w.books.foreign); ok && m.chance(40) {
		m.apply(core.ReleaseAllocation{Key: key, Termination: si.TerminationType_STOPPED_BY_RM})
		return
	}
	a := m.allocation()
	a.Application, a.Tags, a.Node = "", nil, m.anyNode()
	a.Origin = core.Foreign
	if m.chance(20) {
		a.Origin = core.Static
	}
	if key, ok := strangerPick(m, m.w.books.foreign); ok && m.chance(30) {
		a.Key = key // moves or changes
	}
	if app, ok := strangerPick(m, m.w.books.queueOf); ok && m.chance(20) {
		a.Application, a.Origin = app, core.Own // runs already
		if m.w.books.nodes[a.Node] == nil {
			return
		}
	}
	m.apply(core.AddAllocation{Allocation: a})
}
