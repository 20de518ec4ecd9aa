package worlds

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
)

// newStreamWorld makes up a world in which small pods come again without end, beside asks that
// need more than one of them leaves. Something happens at about the time at which a large ask is
// old enough for a claim.
func newStreamWorld(seed uint64) *world {
	m := &maker{Rand: rand.New(rand.NewPCG(seed, 12)), w: new(world), used: map[string]amounts{}, free: map[string]amounts{}}
	m.memory = m.chance(25)
	m.below("", 1+m.IntN(3), 2)
	m.w.Quorums, m.w.Answers = map[string]int{}, answersNever
	m.w.Reserve = true
	size := 4 + m.IntN(5)
	for i := range 1 + m.IntN(3) {
		n := node{Name: fmt.Sprint("n", i+1), Capacity: m.amounts(size, size, 1)}
		m.w.Nodes = append(m.w.Nodes, n)
		m.free[n.Name] = n.Capacity
	}
	m.agents()
	m.fill(1 + m.IntN(3))
	large := m.larges(size)
	m.disturb(large)
	if m.chance(30) {
		m.w.Priority = api.PriorityOff
	}
	slices.SortStableFunc(m.w.Pods, func(a, b pod) int { return a.At - b.At })
	m.w.ReserveMax = 300
	if m.chance(20) {
		m.scarce()
	}
	m.w.End = (2*large + 3) * m.w.ReserveMax
	return m.w
}

// agents stay on their nodes.
func (m *maker) agents() {
	origin := api.Origin(m.IntN(3))
	if m.chance(50) {
		return
	}
	for _, n := range m.w.Nodes {
		p := pod{Key: "agent-" + n.Name, Node: n.Name, Amounts: amounts{1}, Foreign: origin, Grace: -1}
		if origin == api.Own {
			p.Queue, p.Required = m.leaves[0], true
		}
		m.put(p)
	}
}

func (m *maker) put(p pod) {
	m.free[p.Node] = m.free[p.Node].plus(p.Amounts, -1)
	m.w.Pods = append(m.w.Pods, p)
}

// fill fills the nodes with pods that come again, and has some more wait.
func (m *maker) fill(kinds int) {
	var of []pod
	for range kinds {
		p := pod{Queue: m.leaves[m.IntN(len(m.leaves))], Amounts: m.amounts(1, 2, 1), Again: true, Grace: 1, Runs: 30 + m.IntN(120)}
		if m.memory {
			p.Amounts[1] = 1
		}
		of = append(of, p)
	}
	for i := range 60 {
		p := of[m.IntN(kinds)]
		p.Key, p.Runs = fmt.Sprint("s", i), p.Runs+m.IntN(20)
		if n := m.w.Nodes[m.IntN(len(m.w.Nodes))].Name; p.Amounts.fits(m.free[n]) {
			p.Node = n
			m.put(p)
		} else if m.chance(10) {
			m.w.Pods = append(m.w.Pods, p)
		}
	}
}

// larges are asks of about a node, in the first seconds.
func (m *maker) larges(size int) int {
	count := 1 + m.IntN(3)
	for i := range count {
		p := pod{
			Key: fmt.Sprint("p", i), Queue: m.leaves[m.IntN(len(m.leaves))], Amounts: m.amounts(size/2, size, 1),
			At: m.IntN(6), Priority: []int{0, 0, 0, 5}[m.IntN(4)],
		}
		if m.memory {
			p.Amounts[1] = 1
		}
		p.User = []string{"", "", "eve"}[m.IntN(3)]
		m.w.Pods = append(m.w.Pods, p)
	}
	return count
}

// disturb has an ask be refused everywhere, or a queue or user be full for a while.
func (m *maker) disturb(large int) {
	victim := m.w.Pods[len(m.w.Pods)-1-m.IntN(large)]
	switch m.IntN(5) {
	case 0, 1: // an equal ask, which comes first, is refused everywhere
		p := victim
		p.Key, p.At = "refused", 0
		m.w.Pods = append(m.w.Pods, p)
		for _, n := range m.w.Nodes {
			m.w.Rules = append(m.w.Rules, rule{"refuse", p.Key, n.Name})
		}
	case 2, 3: // something of its queue or user runs for a while
		p := pod{Key: "brief", Queue: victim.Queue, User: victim.User, Amounts: amounts{1}, At: 0, Ends: victim.At + 1 + m.IntN(10), Grace: -1}
		n := &m.w.Nodes[m.IntN(len(m.w.Nodes))]
		n.Capacity[0]++
		p.Node = n.Name
		m.w.Pods = append(m.w.Pods, p)
		used := amounts{}
		for _, other := range m.w.Pods {
			if other.Queue == victim.Queue && other.Node != "" {
				used = used.plus(other.Amounts, 1)
			}
		}
		if victim.User != "" {
			m.w.Limits = append(m.w.Limits, limit{Queue: "", User: victim.User, Max: amounts{victim.Amounts[0]}})
		} else if q := m.w.queue(victim.Queue); q.Max[0] == 0 {
			q.Max[0] = max(used[0], victim.Amounts[0]+used[0]-1)
		}
	case 4:
		m.w.Changes = append(m.w.Changes, change{At: m.IntN(10), Verb: "restart"})
	}
}
