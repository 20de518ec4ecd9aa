package torture

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// A maker makes up the world of a seed. Quantities of memory are in Gi, those of vcore whole.
type maker struct {
	*rand.Rand
	strings.Builder
	groups  []group // of nodes
	queues  []*queue
	works   []work
	daemons int    // daemonsets
	over    [2]int // vcore and Gi that daemonsets and lasting foreign pods take of each node
	serial  int    // seconds that all pods take one after the other
}

// A group is equal nodes.
type group struct {
	name          string
	count, rack   int // nodes; those of a rack, or zero
	vcore, memory int
}

// A queue is a leaf.
type queue struct {
	name, path string
	need       int // vcore of the largest that must run at once
	most       int // vcore; zero is no max
	gangs      int // vcore of the largest gang, below which a max refuses it
	guaranteed int
	limit      int // vcore of a user; zero is none
}

// queuesMax, nodesMax and worksMax bound a world: what breaks in a large one mostly breaks in a small one.
const queuesMax, nodesMax, worksMax = 4, 5, 6

// World is the scenario of a seed. Equal seeds make equal worlds.
func World(seed uint64) string {
	m := &maker{Rand: rand.New(rand.NewPCG(seed, 0x746f7274757265))}
	m.nodes()
	m.names()
	for range 1 + m.IntN(worksMax) {
		m.work()
	}
	m.line("name: torture-%d", seed)
	m.line("seed: %d", max(1, seed%(1<<53)))
	faults := m.trouble()
	m.line("ends: %dm", faults+60+5*m.serial/60)
	m.partition()
	m.list("nodes", len(m.groups), func(i int) string { return m.groups[i].text() })
	m.list("daemonsets", m.daemons, m.daemonSet)
	m.foreign()
	m.list("workloads", len(m.works), func(i int) string { return m.works[i].text })
	m.budgets()
	return m.String()
}

func (m *maker) line(format string, args ...any) { fmt.Fprintf(m, format+"\n", args...) }

// list writes a key with so many entries, or nothing for none.
func (m *maker) list(key string, count int, entry func(i int) string) {
	if count == 0 {
		return
	}
	m.line("%s:", key)
	for i := range count {
		m.line("  - {%s}", entry(i))
	}
}

// chance is true once in so many times.
func (m *maker) chance(of int) bool { return m.IntN(of) == 0 }

// between is a number from one to another, both included.
func (m *maker) between(from, to int) int { return from + m.IntN(to-from+1) }

func (m *maker) nodes() {
	m.daemons = m.IntN(3)
	m.over = [2]int{m.daemons, m.daemons}
	if m.chance(2) {
		m.over[0]++
		m.over[1]++
	}
	names := []string{"n", "m"}[:1+m.IntN(2)]
	for _, name := range names {
		g := group{name: name, count: m.between(1, nodesMax), vcore: m.over[0] + m.between(3, 8), memory: m.over[1] + m.between(4, 12)}
		if g.count > 1 && m.chance(2) {
			g.rack = m.between(1, g.count)
		}
		m.groups = append(m.groups, g)
	}
}

func (g *group) text() string {
	text := fmt.Sprintf("name: %s, count: %d, capacity: {vcore: %d, memory: %dGi}, attributes: {pool: %s}", g.name, g.count, g.vcore, g.memory, g.name)
	if g.rack > 0 {
		text += fmt.Sprintf(", domains: {rack: %d}", g.rack)
	}
	return text
}

// free is what pods may use of a node of the group at most.
func (m *maker) free(g *group) (vcore, memory int) { return g.vcore - m.over[0], g.memory - m.over[1] }

// names makes the queues: some of them stand below another.
func (m *maker) names() {
	above := m.chance(2)
	for i := range m.between(1, queuesMax) {
		q := &queue{name: string(rune('a' + i))}
		if q.path = "root." + q.name; above && i > 0 {
			q.path = "root.up." + q.name
		}
		m.queues = append(m.queues, q)
	}
}

// partition writes the queues, and how preemption goes.
func (m *maker) partition() {
	m.line("queues:\n  partitions:\n    - name: default")
	m.line("      nodesortpolicy: {type: %s}", m.pick("fair", "binpacking"))
	if m.chance(3) {
		m.line("      topology: {levels: [[rack]]}")
	}
	m.line("      preemption: {preemption_priority: %s, preemption_disruption_budgets: %s, preemption_victim_timeout: %s, preemption_start_delay: %s, quotapreemptionenabled: %t}",
		m.pick("strict", "strict", "equal", "off"), m.pick("prefer", "strict", "hard"), m.pick("10s", "2m"), m.pick("0s", "5s", "30s"), m.chance(2))
	m.line("      queues:\n        - name: root%s\n          queues:", m.overAll())
	m.line("            - {name: system}")
	up := false
	for _, q := range m.queues {
		indent := "            "
		if strings.HasPrefix(q.path, "root.up.") {
			if !up {
				m.line("%s- name: up\n%s  properties: {%s}\n%s  queues:", indent, indent, m.properties(), indent)
			}
			indent, up = indent+"    ", true
		}
		m.line("%s- {%s}", indent, m.leaf(q))
	}
}

// overAll is a limit of each user over all queues, or none.
func (m *maker) overAll() string {
	if !m.chance(4) {
		return ""
	}
	need := 0
	for _, q := range m.queues {
		need = max(need, q.need, q.limit)
	}
	return fmt.Sprintf("\n          limits: [{limit: each, users: ['*'], maxresources: {vcore: %d}}]", need+m.IntN(4))
}

// leaf is a queue in words. It may hold all that must run there at once.
func (m *maker) leaf(q *queue) string {
	text := "name: " + q.name
	var resources []string
	if q.most > 0 {
		resources = append(resources, fmt.Sprintf("max: {vcore: %d}", q.most))
	}
	if q.guaranteed > 0 {
		resources = append(resources, fmt.Sprintf("guaranteed: {vcore: %d}", q.guaranteed))
	}
	if len(resources) > 0 {
		text += ", resources: {" + strings.Join(resources, ", ") + "}"
	}
	if m.chance(4) {
		text += fmt.Sprintf(", maxapplications: %d", m.between(1, 3))
	}
	if q.limit > 0 {
		text += fmt.Sprintf(", limits: [{limit: one, users: [%s], maxresources: {vcore: %d}}]", m.pick("ann", "bob", "'*'"), q.limit)
	}
	return text + ", properties: {" + m.properties() + "}"
}

// properties are some of a queue.
func (m *maker) properties() string {
	var list []string
	for _, p := range []struct{ name, value string }{
		{"application.sort.policy", "fair"},
		{"application.sort.priority", "disabled"},
		{"priority.policy", "fence"},
		{"priority.offset", fmt.Sprint(m.between(-3, 3))},
		{"gang.start", "whole"},
		{"preemption.policy", m.pick("fence", "disabled")},
		{"preemption.guarantee", "kind"},
		{"preemption.delay", m.pick("1s", "10s", "2m")},
		{"quota.preemption.delay", m.pick("1s", "30s")},
		{"application.unschedasks.backoff", fmt.Sprint(m.between(1, 3))},
	} {
		if m.chance(5) {
			list = append(list, fmt.Sprintf("%s: %q", p.name, p.value))
		}
	}
	return strings.Join(list, ", ")
}

func (m *maker) pick(texts ...string) string { return texts[m.IntN(len(texts))] }

func (m *maker) daemonSet(i int) string {
	return fmt.Sprintf("name: agent-%d, queue: root.system, priority: %d, resources: {vcore: 1, memory: 1Gi}, at: %dm", i, m.between(0, 10), m.IntN(10))
}

// foreign writes pods of other schedulers: one on each node that lasts, and some that end.
func (m *maker) foreign() {
	var list []string
	if m.over[0] > m.daemons {
		list = append(list, fmt.Sprintf("name: lasting, static: %t, resources: {vcore: 1, memory: 1Gi}", m.chance(2)))
	}
	if m.chance(2) {
		text := fmt.Sprintf("name: passing, count: %d, at: %dm, runs: 1m..20m, resources: {vcore: %d, memory: 1Gi}", m.between(1, 6), m.IntN(20), m.between(1, 4))
		if m.chance(2) {
			text += fmt.Sprintf(", resizes: [{after: 1m, resources: {vcore: %d, memory: 2Gi}}]", m.between(1, 5))
		}
		list = append(list, text)
	}
	m.list("foreign", len(list), func(i int) string { return list[i] })
}

// budgets writes how many pods may be down at once.
func (m *maker) budgets() {
	m.list("budgets", m.IntN(2), func(int) string {
		return fmt.Sprintf("name: budget, workloads: [%s], allowed: %d", m.works[m.IntN(len(m.works))].name, m.IntN(3))
	})
}
