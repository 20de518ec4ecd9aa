package torture

import (
	"fmt"
	"strings"
)

// trouble writes incidents, changes of limits and faults, and decides quotas. All of it is over after the
// minutes that it returns: nodes are back, quotas hold what must run, and a scheduler that waits for
// messages which never come has been restarted.
func (m *maker) trouble() (over int) {
	over = m.between(20, 60)
	m.list("incidents", m.IntN(8), func(int) string { return m.incident(over) })
	never := m.chance(3)
	if never {
		if !strings.Contains(m.String(), "incidents:") {
			m.line("incidents:")
		}
		over += 20 // the last late message has come
		m.line("  - {at: %dm, what: restart}", over)
	}
	for _, q := range m.queues {
		if m.chance(2) {
			q.most = q.need + m.between(0, 5)
		}
		if q.guaranteed = m.IntN(5); m.chance(4) {
			q.limit = q.need + m.IntN(4)
		}
		if q.most > 0 {
			q.guaranteed, q.limit = min(q.guaranteed, q.most), min(q.limit, q.most)
		}
	}
	m.changes(over)
	if m.chance(2) {
		m.line("delays: {start: 0s, stop: %s, restart: %s}", m.pick("0s", "1s..30s"), m.pick("0s", "1s..2m"))
	}
	m.faults(over, never)
	return over
}

func (m *maker) faults(over int, never bool) {
	var list []string
	for _, name := range []string{"bind-fails", "release-late", "release-twice", "report-twice", "foreign-early", "cross"} {
		if m.chance(2) {
			list = append(list, fmt.Sprintf("%s: %d%%", name, m.between(1, 50)))
		}
	}
	if never {
		list = append(list, fmt.Sprintf("release-never: %d%%", m.between(1, 20)))
	}
	m.line("faults: {%suntil: %dm, late: %s}", strings.Join(append(list, ""), ", "), over-15, m.pick("1s..1m", "1m..10m"))
}

// incident is one that is over in time.
func (m *maker) incident(over int) string {
	at := m.IntN((over - 15) * 60)
	when := fmt.Sprintf("at: %ds", at)
	g := &m.groups[m.IntN(len(m.groups))]
	lasts := m.between(1, over*60-at)
	nodes := fmt.Sprintf("group: %s, count: %d, for: %ds", g.name, m.between(1, g.count), lasts)
	if m.chance(2) {
		nodes = fmt.Sprintf("group: %s, count: %d, for: %ds", g.name, m.between(1, g.count), min(lasts, m.between(1, 30)))
	}
	switch m.IntN(7) {
	case 0:
		return when + ", what: restart"
	case 1:
		return when + fmt.Sprintf(", what: restart, back: %dm", m.between(1, 300))
	case 2:
		return when + fmt.Sprintf(", what: clock, by: %dm", m.between(1, 300))
	case 3:
		return when + ", what: refuse, " + nodes
	case 4:
		return when + fmt.Sprintf(", what: drain, evicts: %t, ", m.chance(2)) + nodes
	default:
		return when + ", what: fail, " + nodes
	}
}

// changes writes new limits of queues, and those that hold in the end, and queues that go and
// come back.
func (m *maker) changes(over int) {
	var list []string
	for _, q := range m.queues {
		if m.chance(6) {
			gone := m.IntN(over)
			list = append(list, fmt.Sprintf("at: %dm, queue: %s, gone: true", gone, q.path),
				fmt.Sprintf("at: %dm, queue: %s, gone: false", m.between(gone+1, over), q.path))
			continue
		}
		if !m.chance(3) {
			continue
		}
		if q.most == 0 {
			q.most = max(q.need, q.limit, q.guaranteed) + m.between(0, 8)
		}
		low := max(q.gangs, q.limit, q.guaranteed, 1)
		for range m.between(1, 3) {
			list = append(list, fmt.Sprintf("at: %ds, queue: %s, max: {vcore: %d}", m.IntN(over*60), q.path, m.between(low, max(low, q.most))))
		}
		list = append(list, fmt.Sprintf("at: %dm, queue: %s, max: {vcore: %d}", over, q.path, q.most))
	}
	m.list("changes", len(list), func(i int) string { return list[i] })
}
