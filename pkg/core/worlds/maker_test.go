package worlds

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/core/preemptor"
)

// A maker makes up worlds that are small and full.
type maker struct {
	*rand.Rand
	w      *world
	memory bool
	pods   bool
	tight  bool // guarantees are about what is used
	moves  bool // pods end by themselves
	sticks bool // some evictions are never confirmed
	leaves []string
	used   map[string]amounts // by queue
	free   map[string]amounts // by node
}

func (m *maker) chance(percent int) bool { return m.IntN(100) < percent }

// asks is how many there are.
func (m *maker) asks(many bool) int {
	if many {
		return 3 + m.IntN(4)
	}
	return 1 + m.IntN(3)
}

// largeWorlds is the seed from which on a world has three to six asks, where others have one to
// three: more of them want the same room. They are otherwise made like those from 0 on.
const largeWorlds = 1 << 32

// newRestWorld makes up a world that comes to rest. Every feature is missing from most worlds, so
// that a failure has few features.
func newRestWorld(seed uint64) *world {
	m := &maker{
		Rand: rand.New(rand.NewPCG(seed%largeWorlds, 11)), w: new(world),
		used: map[string]amounts{}, free: map[string]amounts{},
	}
	m.moves, m.sticks = m.chance(30), m.chance(10)
	m.memory, m.pods, m.tight = m.chance(40), m.chance(20), m.chance(50)
	m.queues()
	nodes := 1 + m.IntN(4)
	if m.tight {
		nodes = 1 + m.IntN(2)
	}
	for i := range nodes {
		n := node{Name: fmt.Sprint("n", i+1), Capacity: m.amounts(3, 10, 5), Drained: m.chance(3)}
		m.w.Nodes = append(m.w.Nodes, n)
		m.free[n.Name] = n.Capacity
	}
	m.run()
	if m.tight {
		m.tighten()
	}
	asks := m.asks(seed >= largeWorlds)
	for i := range asks {
		m.w.Pods = append(m.w.Pods, m.ask(i))
	}
	slices.SortStableFunc(m.w.Pods, func(a, b pod) int { return a.At - b.At })
	m.rules(asks)
	if m.chance(30) {
		m.budgets()
	}
	m.w.Reserve, m.w.Recreate = m.chance(20), m.chance(20)
	if m.chance(15) {
		m.w.Priority = api.PriorityPreemption(1 + m.IntN(2))
	}
	m.ways()
	m.members()
	if m.w.Answers = answersNever; m.chance(60) {
		m.w.Answers = answersNothing
	}
	if m.chance(20) {
		m.foreign()
	}
	if m.chance(20) {
		m.lower()
	}
	if m.chance(50) && !m.w.onlyRefuses() && !m.w.ruledBetweenAsks() {
		m.w.Answers = answersPrefix
	}
	if m.chance(25) {
		m.changes()
	}
	m.w.Classes, m.w.Several, m.w.Paced = m.chance(30), m.chance(30), m.chance(15)
	if m.chance(20) {
		m.w.Batch = 1 + m.IntN(4)
	}
	if len(m.w.Quorums) > 0 {
		m.traits()
	}
	if m.chance(20) {
		m.scarce()
	}
	if m.w.PartLeast != nil && m.chance(75) {
		m.inner()
	}
	return m.w
}

// amounts are cores from least to most, as much memory where there is memory at all,
// and pods up to a number.
func (m *maker) amounts(least, most, pods int) (a amounts) {
	a[0] = least + m.IntN(most-least+1)
	if m.memory {
		a[1] = least + m.IntN(most-least+1)
	}
	if m.pods {
		a[podsKind] = 1 + m.IntN(pods)
	}
	return a
}

func (m *maker) queues() {
	guarantees, maxima, special := m.chance(70), m.chance(35), m.chance(35)
	m.below("", 1+m.IntN(4), 0)
	for i := range slices.Backward(m.w.Queues) {
		q := &m.w.Queues[i]
		sum := m.w.guaranteedBelow(q.Name)
		for k := range podsKind {
			leaf := sum == (amounts{}) && m.w.leaf(q.Name)
			if guarantees && (leaf && m.chance(50) || sum[k] > 0 && m.chance(30) || m.chance(5)) && (k == 0 || m.memory) {
				q.Guaranteed[k] = sum[k] + m.IntN(6)
			}
		}
	}
	for i := range m.w.Queues {
		q := &m.w.Queues[i]
		for k := range podsKind {
			if !maxima || !m.chance(35) || k > 0 && !m.memory {
				continue
			}
			q.Max[k] = 1 + max(q.Guaranteed[k], m.w.guaranteedBelow(q.Name)[k]) + m.IntN(8)
			for _, above := range pathOf(q.Name)[1:] {
				if most := m.w.queue(above).Max[k]; most > 0 {
					q.Max[k] = min(q.Max[k], most)
				}
			}
		}
		if special {
			m.properties(q)
		}
	}
}

func (m *maker) below(parent string, count, depth int) {
	for i := range count {
		name := string(rune('a' + i))
		if parent != "" {
			name = parent + "." + name
		}
		m.w.Queues = append(m.w.Queues, queue{Name: name})
		if depth < 2 && m.chance(25) {
			m.below(name, 1+m.IntN(3), depth+1)
		} else {
			m.leaves = append(m.leaves, name)
		}
	}
}

func (m *maker) properties(q *queue) {
	switch m.IntN(10) {
	case 0:
		q.Policy = api.PreemptionFence
	case 1:
		q.Policy = api.PreemptionDisabled
	case 2, 3:
		q.Offset = m.IntN(21) - 10
	case 4:
		q.Fence, q.Offset = true, m.IntN(11)
	}
}

// run fills the nodes.
func (m *maker) run() {
	unpinned := m.chance(80)
	for i := range 2 + m.IntN(12) {
		p := pod{
			Key: fmt.Sprint("r", i), Queue: m.leaves[m.IntN(len(m.leaves))], Node: m.w.Nodes[m.IntN(len(m.w.Nodes))].Name,
			Amounts: m.amounts(1, 4, 2), Priority: m.priority(), Age: m.IntN(60), Grace: m.grace(), Ends: m.ends(),
		}
		if m.memory && m.chance(20) {
			p.Amounts[m.IntN(2)] = 0
		}
		switch m.IntN(40) {
		case 0, 1:
			p.Owner = true
		case 2, 3:
			p.OptedOut = true
		case 4:
			p.Required = !unpinned
		case 5:
			p.Foreign = api.Foreign
		case 6:
			p.Foreign = api.Static
		}
		if p.Foreign != api.Own {
			p.Queue = ""
		}
		if p.Amounts.fits(m.free[p.Node]) && m.charge(p) {
			m.free[p.Node] = m.free[p.Node].plus(p.Amounts, -1)
			m.w.Pods = append(m.w.Pods, p)
		}
	}
}

func (m *maker) charge(p pod) bool {
	for _, name := range pathOf(p.Queue) {
		most, used := m.w.queue(name).Max, m.used[name].plus(p.Amounts, 1)
		for k := range most {
			if most[k] > 0 && used[k] > most[k] {
				return false
			}
		}
	}
	for _, name := range pathOf(p.Queue) {
		m.used[name] = m.used[name].plus(p.Amounts, 1)
	}
	return true
}

// tighten guarantees leaves about as much as they use, where the configuration allows it.
func (m *maker) tighten() {
	for i := range m.w.Queues {
		q := &m.w.Queues[i]
		for k := range podsKind {
			before := q.Guaranteed[k]
			if used := m.used[q.Name][k]; used > 0 && m.chance(70) {
				q.Guaranteed[k] = max(0, used-m.IntN(5))
			}
			if !m.w.valid() {
				q.Guaranteed[k] = before
			}
		}
	}
}

func (m *maker) priority() int { return []int{0, 0, 0, 1, 5, 10}[m.IntN(6)] }

func (m *maker) grace() int {
	if m.sticks && m.chance(20) {
		return -1
	}
	return []int{0, 0, 5, 30, 90}[m.IntN(5)]
}

func (m *maker) ends() int {
	if m.moves && m.chance(20) {
		return 1 + m.IntN(150)
	}
	return 0
}

func (m *maker) ask(i int) pod {
	p := pod{
		Key: fmt.Sprint("p", i), Queue: m.leaves[m.IntN(len(m.leaves))], Amounts: m.amounts(1, 5, 2),
		Priority: []int{0, 0, 1, 5, 10, 20}[m.IntN(6)], Grace: m.grace(), Ends: m.ends(),
	}
	if m.chance(25) {
		p.At = []int{1, 10, 40, 100}[m.IntN(4)]
		if p.Ends > 0 {
			p.Ends += p.At
		}
	}
	if m.chance(15) {
		p.Requires = m.w.Nodes[m.IntN(len(m.w.Nodes))].Name
	}
	p.Polite = m.chance(3)
	return p
}

// rules are answers about the asks.
func (m *maker) rules(asks int) {
	if !m.chance(35) {
		return
	}
	for range 1 + m.IntN(3) {
		r := rule{Verb: "conflict", Pod: fmt.Sprint("p", m.IntN(asks)), Other: m.w.Pods[m.IntN(len(m.w.Pods))].Key}
		switch m.IntN(5) {
		case 0, 1:
			r.Verb, r.Other = "refuse", m.w.Nodes[m.IntN(len(m.w.Nodes))].Name
		case 2:
			r.Verb = "need"
		}
		other := m.w.pod(r.Other)
		if r.Pod != r.Other && (other == nil || other.Foreign == api.Own) {
			m.w.Rules = append(m.w.Rules, r)
		}
	}
}

func (m *maker) budgets() {
	m.w.Policy = preemptor.BudgetPolicy(m.IntN(3))
	for i := range 1 + m.IntN(2) {
		b := budget{Name: fmt.Sprint("x", i), Allowed: m.IntN(3)}
		for _, p := range m.w.Pods {
			if p.Foreign == api.Own && m.chance(35) {
				b.Members = append(b.Members, p.Key)
			}
		}
		if len(b.Members) > 0 {
			m.w.Budgets = append(m.w.Budgets, b)
		}
	}
}
