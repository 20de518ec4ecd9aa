package torture

import (
	"cmp"
	"fmt"
	"strings"
)

// A work is a workload.
type work struct {
	name, text string
}

// work makes a workload that fits: each pod on a node of its group, and pods that must run at
// once on its nodes, or those of a rack, with nothing else there.
func (m *maker) work() {
	g := &m.groups[m.IntN(len(m.groups))]
	q := m.queues[m.IntN(len(m.queues))]
	vcore, memory := m.free(g)
	size, room := m.between(1, min(4, vcore)), m.between(1, min(5, memory))
	each := min(vcore/size, memory/room) // pods of a node
	name := fmt.Sprint("w", len(m.works))
	pods, kind := m.between(1, 6), m.pick("pods", "pods", "pods", "gang", "group", "group")
	how := ""
	switch kind {
	case "gang":
		pods = min(pods, each*g.count)
		how = fmt.Sprintf(", gang: {timeout: %dm, style: %s, after: %ds}", m.between(1, 15), m.pick("soft", "hard"), m.IntN(20))
		q.gangs = max(q.gangs, pods*size)
	case "group":
		pods, how = m.group(g, pods, each)
	default:
		how = m.pick("", ", once: true", ", driver: true", ", driver: true")
	}
	applications := m.between(1, 3)
	arrival := fmt.Sprintf("{at: %dm}", m.IntN(20))
	if applications > 1 {
		arrival = fmt.Sprintf("{every: %ds, from: %dm}", m.between(1, 200), m.IntN(10))
		if kind == "pods" && m.chance(2) {
			arrival = fmt.Sprintf("{poisson: %d/m, from: %dm, of: pods}", m.between(1, 10), m.IntN(10))
		}
	}
	q.need = max(q.need, size)
	if kind != "pods" {
		q.need = max(q.need, pods*size)
	}
	runs := m.between(10, 600)
	m.serial += applications * pods * (runs + 60)
	text := fmt.Sprintf("name: %s, queue: %s, user: %s, applications: %d, pods: %d, arrival: %s, resources: {vcore: %d, memory: %dGi}, runs: %ds..%ds, priority: %d, selector: {pool: %s}",
		name, q.path, m.pick("ann", "bob", "eve"), applications, pods, arrival, size, room, 1+runs/3, runs, m.between(-1, 3), g.name)
	text += how + m.manners()
	m.works = append(m.works, work{name, text})
}

// manners are how pods take their eviction.
func (m *maker) manners() (text string) {
	for _, one := range []string{"stubborn: true", "opt-out: true", "spare-others: true", fmt.Sprintf("grace: %ds", m.between(1, 300)), "qos: " + m.pick("BestEffort", "Burstable", "Guaranteed")} {
		if m.chance(6) {
			text += ", " + one
		}
	}
	return text
}

// group is how pods start together, of which so many run on a node of a group.
func (m *maker) group(g *group, pods, each int) (count int, how string) {
	one := each * g.count
	level := ""
	if g.rack > 0 {
		level = m.pick("", "require: rack", "prefer: rack", "each: rack", `each: ",rack"`)
		if level != "" {
			one = each * g.rack // a full rack comes first
		}
	}
	pods = min(pods, one)
	terms := level
	add := func(text string) { terms += map[bool]string{true: ", "}[terms != ""] + text }
	switch {
	case strings.HasPrefix(level, "each: "):
		size := m.between(1, pods)
		add(fmt.Sprintf("size: %d", size))
		if m.chance(4) {
			add("split: true")
		}
		if m.chance(2) {
			add(fmt.Sprintf("parts: %d", m.between(1, (pods+size-1)/size)))
			if m.chance(2) {
				add(fmt.Sprintf("leaders: %d", m.between(1, size)))
			}
		}
	case m.chance(2):
		add(fmt.Sprintf("least: %d", m.between(1, pods)))
	}
	if m.chance(3) {
		add("unit: all")
	}
	if level != "" && m.chance(2) {
		add("balanced: true")
	}
	if m.chance(4) {
		add(fmt.Sprintf("priority: %d", m.between(-2, 4)))
	}
	return pods, ", group: {" + cmp.Or(terms, fmt.Sprintf("least: %d", pods)) + "}"
}
