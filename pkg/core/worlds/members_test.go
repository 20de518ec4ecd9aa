package worlds

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
)

// A limit is what a user may use below a queue, or with Group all users, which are of
// one group. An empty queue is root.
type limit struct {
	Queue, User string
	Group       bool
	Max         amounts
}

// gangTimeout is after what time placeholders time out in worlds of impatient gangs.
const gangTimeout = 70 * time.Second

// groups are what asks have in common with others: users that are limited, quorums and
// gangs. Which ask may be tried depends on it, and not what room costs.
type groups struct {
	Limits    []limit
	Quorums   map[string]int // the least members of each
	Ranked    bool           // quorums say their priority, which members then have
	Racks     bool           // members of a quorum run in one rack
	Prefers   bool           // or prefer few racks
	Parts     bool           // or are of two subgroups, of which each runs in one rack
	PartLeast map[string]int // or of so many members each at least: a quorum counts these subgroups then
	Inner     map[string]int // the first one has parts itself, of so many members each at least, and its least counts these
	Loose     bool           // and they may run in any racks
	EndBelow  int            // seconds after which what runs of a quorum ends that is below its minimum; zero is never
	Levels    bool           // and racks are configured
	Whole     bool           // gangs start with all their placeholders
	Impatient bool           // placeholders time out soon
	Devices   bool           // pods are devices, and nodes are ordered by them
	Scarcity  bool           // nodes are ordered by what is scarce
}

// members makes up what asks have in common. It comes after everything else, so that the
// worlds are otherwise as they were.
func (m *maker) members() {
	m.w.Quorums = map[string]int{}
	m.w.Devices = m.pods && m.chance(40)
	if m.chance(30) {
		m.limits()
	}
	if m.chance(20) {
		m.quorum()
	}
	if m.chance(25) && len(m.w.Rules) == 0 {
		m.gang()
	}
}

func (m *maker) limits() {
	for i := range m.w.Pods {
		if p := &m.w.Pods[i]; p.Foreign == api.Own && m.chance(40) {
			p.User = "eve"
		}
	}
	queues := []string{""}
	for _, q := range m.w.Queues {
		queues = append(queues, q.Name)
	}
	for range 1 + m.IntN(2) {
		l := limit{Queue: queues[m.IntN(len(queues))], User: []string{"ann", "eve"}[m.IntN(2)], Group: m.chance(25)}
		if l.Max[0] = 1 + m.IntN(10); m.memory && m.chance(50) {
			l.Max[1] = 1 + m.IntN(10)
		}
		if l.Group {
			l.User = ""
		}
		m.w.Limits = append(m.w.Limits, l)
		if !m.w.valid() {
			m.w.Limits = m.w.Limits[:len(m.w.Limits)-1]
		}
	}
}

// quorum makes some asks, and some pods that run, members of a quorum.
func (m *maker) quorum() {
	count := 0
	for i := range m.w.Pods {
		p := &m.w.Pods[i]
		if p.Foreign != api.Own || p.Required || p.Requires != "" || !m.chance(30) && (p.Node != "" || !m.chance(70)) {
			continue
		}
		p.Quorum = "q"
		count++
	}
	m.w.Quorums["q"] = 1 + m.IntN(max(count, 1))
}

// traits has members of a quorum succeed, and the quorum say a priority. It comes last, so that worlds are otherwise as they were.
func (m *maker) traits() {
	for i := range m.w.Pods {
		if p := &m.w.Pods[i]; p.Quorum != "" && !p.Again && m.chance(20) {
			p.Succeeds, p.Ends = true, cmp.Or(p.Ends, p.At+1+m.IntN(60))
		}
	}
	if m.w.Ranked = m.chance(50); m.w.Ranked {
		priority := m.priority()
		for i := range m.w.Pods {
			if p := &m.w.Pods[i]; p.Quorum != "" {
				p.Own, p.Priority = p.Priority, priority
			}
		}
	}
	if m.w.Racks = m.chance(60); m.w.Racks {
		m.racks()
	} else if m.w.Prefers = m.chance(60); m.w.Prefers {
		m.racks()
	}
	if m.w.Parts = !m.w.Racks && m.chance(60); m.w.Parts {
		m.w.Prefers = false
		m.parts()
		if m.chance(60) {
			m.minima()
		}
	}
	if m.chance(25) {
		m.w.EndBelow = 1 + m.IntN(60)
	}
}

// minima has a quorum count its subgroups, each with a minimum.
func (m *maker) minima() {
	m.w.PartLeast, m.w.Loose = map[string]int{}, m.chance(40)
	for _, name := range []string{"a", "b"} {
		count := 0
		for i := range m.w.Pods {
			if p := &m.w.Pods[i]; p.Quorum != "" && p.Part == name {
				count++
			}
		}
		m.w.PartLeast[name] = 1 + m.IntN(max(count, 1))
	}
	m.w.Quorums["q"] = 1 + m.IntN(2)
}

// inner puts the members of the first subgroup into two parts of it. It comes after everything else, so that the other worlds are as they were.
func (m *maker) inner() {
	m.w.Inner = map[string]int{}
	for i := range m.w.Pods {
		if p := &m.w.Pods[i]; p.Quorum != "" && p.Part == "a" {
			p.Inner = []string{"x", "y"}[m.IntN(2)]
			m.w.Inner[p.Inner]++
		}
	}
	for _, name := range []string{"x", "y"} {
		m.w.Inner[name] = 1 + m.IntN(max(m.w.Inner[name], 1))/2
	}
	if m.w.PartLeast["a"] = 1 + m.IntN(2); m.chance(60) {
		m.w.Quorums["q"] = 1
	}
}

// parts puts the members of a quorum into two subgroups, of which each runs in a rack.
func (m *maker) parts() {
	for i := range m.w.Pods {
		if p := &m.w.Pods[i]; p.Quorum != "" {
			p.Part = []string{"a", "b"}[m.IntN(2)]
		}
	}
	m.racks()
}

// racks puts nodes into racks, of a quorum that requires one, prefers few, or has parts in them. Most often those where members run are in one. Labels may change.
func (m *maker) racks() {
	names := []string{"r1", "r1", "r2", "r2", ""}
	for i := range m.w.Nodes {
		m.w.Nodes[i].Rack = names[m.IntN(len(names))]
	}
	m.w.Levels = m.chance(50)
	m.w.Classes = m.w.Classes || len(m.w.Rules) > 0 // else what one member is refused counts for those of its amounts
	if m.chance(85) {
		for _, p := range m.w.Pods {
			if p.Quorum != "" && p.Node != "" {
				m.w.node(p.Node).Rack = "r1"
			}
		}
	}
	if m.chance(40) {
		n := &m.w.Nodes[m.IntN(len(m.w.Nodes))]
		m.w.Changes = append(m.w.Changes, change{At: m.IntN(150), Verb: "relabel", Node: n.Name, Rack: names[m.IntN(len(names))]})
		slices.SortStableFunc(m.w.Changes, func(a, b change) int { return a.At - b.At })
	}
}

// scarce has nodes be tried by what is scarce, and some pods name racks in their selectors. It comes after everything
// else, so that the other worlds are as they were.
func (m *maker) scarce() {
	m.w.Scarcity = true
	if len(m.w.Quorums) == 0 {
		m.racks()
	}
	for i := range m.w.Pods {
		if p := &m.w.Pods[i]; p.Foreign == api.Own && m.chance(40) {
			p.Needs = []string{"r1", "r2", "r1|r2", "r3"}[m.IntN(4)]
		}
	}
}

// gang adds placeholders that run or wait, and asks that take their places.
func (m *maker) gang() {
	m.w.Whole, m.w.Impatient = m.chance(30), m.chance(50)
	before := slices.Clone(m.w.Pods)
	amounts, queue, user := m.amounts(1, 3, 2), m.leaves[m.IntN(len(m.leaves))], []string{"", "eve"}[m.IntN(2)]
	for i := range 1 + m.IntN(4) {
		p := pod{
			Key: fmt.Sprint("h", i), Queue: queue, User: user, Group: "g", Placeholder: true, Amounts: amounts, Priority: m.priority(), Age: m.IntN(5), Grace: m.grace(),
		}
		if n := m.w.Nodes[m.IntN(len(m.w.Nodes))].Name; m.chance(60) && amounts.fits(m.free[n]) && m.charge(p) {
			p.Node = n
			m.free[n] = m.free[n].plus(amounts, -1)
		}
		m.w.Pods = append(m.w.Pods, p)
	}
	for i := range m.IntN(4) {
		p := pod{
			Key: fmt.Sprint("m", i), Queue: queue, User: user, Group: "g", Amounts: amounts, Priority: m.priority(), Grace: m.grace(), Ends: m.ends(),
			At: []int{0, 5, 20, 60, 120}[m.IntN(5)],
		}
		if p.Ends > 0 {
			p.Ends += p.At
		}
		if p.Amounts[0] > 1 && m.chance(20) {
			p.Amounts[0]--
		}
		m.w.Pods = append(m.w.Pods, p)
	}
	slices.SortStableFunc(m.w.Pods, func(a, b pod) int { return a.At - b.At })
	if !m.w.valid() {
		m.w.Pods = before
	}
}

// applies reports whether a limit counts what a pod has.
func (l *limit) applies(p *pod) bool {
	return p.Foreign == api.Own && within(p.Queue, l.Queue) && (l.Group || l.User == p.user())
}

func (p *pod) user() string {
	if p.User == "" {
		return "ann"
	}
	return p.User
}

// limited reports whether a limit holds back an ask. What is being evicted still counts.
func (o *oracle) limited(ask *pod) bool {
	for i := range o.w.Limits {
		l := &o.w.Limits[i]
		if !l.applies(ask) {
			continue
		}
		used := o.limits[i].plus(ask.Amounts, 1)
		for k, most := range l.Max {
			if most > 0 && ask.Amounts[k] > 0 && used[k] > most {
				return true
			}
		}
	}
	return false
}

// book counts a pod on a node, its queues and limits.
func (o *oracle) book(p *pod, node string) {
	o.free[node] = o.free[node].plus(p.Amounts, -1)
	o.charge(p)
}

// charge counts a pod for its queues and limits.
func (o *oracle) charge(p *pod) {
	for _, q := range pathOf(p.Queue) {
		o.used[q] = o.used[q].plus(p.Amounts, 1)
	}
	for i := range o.w.Limits {
		if o.w.Limits[i].applies(p) {
			o.limits[i] = o.limits[i].plus(p.Amounts, 1)
		}
	}
}

// quorumLacks is how many members of the quorum of a pod neither run nor are done that must.
func (g *game) quorumLacks(p *pod) int {
	if p.Quorum == "" {
		return 0
	}
	if g.w.PartLeast == nil {
		return g.w.Quorums[p.Quorum] - g.runIn(func(other *pod) bool { return other.Quorum == p.Quorum })
	}
	a, b := g.partLacks(p.Quorum, "a"), g.partLacks(p.Quorum, "b")
	if g.w.Quorums[p.Quorum] == 1 {
		return min(a, b)
	}
	return max(a, 0) + max(b, 0)
}

// runIn is how many of some pods run or are done.
func (g *game) runIn(is func(*pod) bool) (count int) {
	for i := range g.w.Pods {
		if p := &g.w.Pods[i]; is(p) && (g.on[p.Key] != "" || g.succeeded[p.Key]) {
			count++
		}
	}
	return count
}

// partLacks is how many members of a part of a quorum neither run nor are done that must, where it counts parts.
func (g *game) partLacks(quorum, part string) int {
	if part != "a" || g.w.Inner == nil {
		return g.w.PartLeast[part] - g.runIn(func(p *pod) bool { return p.Quorum == quorum && p.Part == part })
	}
	x, y := max(g.innerLacks(quorum, "x"), 0), max(g.innerLacks(quorum, "y"), 0)
	if g.w.PartLeast[part] == 1 {
		return min(x, y)
	}
	return x + y
}

// innerLacks is that of a part of a part; of none it is nothing.
func (g *game) innerLacks(quorum, inner string) int {
	return g.w.Inner[inner] - g.runIn(func(p *pod) bool { return inner != "" && p.Quorum == quorum && p.Inner == inner })
}

// isInRacks reports whether members of quorums, or of parts of these, run in one rack.
func (w *world) isInRacks() bool { return w.Racks || w.Parts && !w.Loose }

// membersWith are the members of the quorum of a pod that wait, run or are done.
func (g *game) membersWith(p *pod) (keys []string) {
	for i := range g.w.Pods {
		other := &g.w.Pods[i]
		if p != nil && p.Quorum != "" && other.Quorum == p.Quorum && (g.waits[other.Key] || g.on[other.Key] != "" || g.succeeded[other.Key]) {
			keys = append(keys, other.Key)
		}
	}
	return keys
}

// startsWhole reports whether other asks of the subgroup of one wait, and none of it runs.
func (g *game) startsWhole(p *pod) bool {
	if g.w.PartLeast != nil && p.Quorum != "" {
		return g.partLacks(p.Quorum, p.Part) > 0 || g.innerLacks(p.Quorum, p.Inner) > 0
	}
	return g.w.Parts && p.Quorum != "" && len(g.where().racksOf(p)) == 0 && slices.ContainsFunc(g.w.Pods, func(other pod) bool {
		return other.Key != p.Key && other.Quorum == p.Quorum && other.Part == p.Part && g.waits[other.Key]
	})
}

// held says why an ask is not tried on its own: other members of its gang or quorum are
// missing, or it waits for a placeholder.
func (g *game) held(p *pod) string {
	switch {
	case g.quorumLacks(p) > 0:
		return "its quorum does not run"
	case g.startsWhole(p):
		return "its subgroup starts whole"
	case p.Placeholder && g.w.Whole && !g.started[p.application()]:
		return "its gang starts whole"
	case p.Placeholder || p.Group == "":
		return ""
	}
	places, asks := 0, 0
	for i := range g.w.Pods {
		other := &g.w.Pods[i]
		if other.application() != p.application() || other.Group != p.Group {
			continue
		}
		switch {
		case !other.Placeholder && g.waits[other.Key]:
			asks++
		case other.Placeholder && (g.waits[other.Key] || g.on[other.Key] != "" && !g.leaving(other.Key)):
			places++
		}
	}
	if places >= asks && asks > 0 {
		return takesPlace
	}
	return ""
}

// takesPlace is why an ask of a task group is held.
const takesPlace = "it takes the place of a placeholder"

// makesNoRoom says why an ask makes no room although it may preempt, or nothing. A quorum makes room for as many as
// must start, which are nominated before anything is evicted, and for no others.
func (g *game) makesNoRoom(ask *pod) string {
	if ask.Quorum == "" {
		if why := g.held(ask); why != takesPlace || !g.claimed[ask.Key].Equal(g.now) {
			return why
		}
		return "" // it gives up a node that was kept for it for a placeholder that runs only
	}
	nominated := 0
	for key := range g.nominated {
		if g.waits[key] && g.w.pod(key).Quorum == ask.Quorum {
			nominated++
		}
	}
	switch lacks := g.quorumLacks(ask); {
	case lacks <= 0:
		return "its quorum runs without it"
	case nominated != lacks && !(g.w.Parts && nominated > lacks): // subgroups start whole
		return "not all that must start have room"
	}
	return ""
}

// isReplaced reports whether an ask that still waits is to take the place of a placeholder.
func (g *game) isReplaced(placeholder string) bool {
	ask := g.replaced[placeholder]
	return ask != "" && g.waits[ask]
}

// losesPlace notes that an ask does not get the place of a placeholder elsewhere. The placeholder ends
// for none then, and may be a victim until it has.
func (g *game) losesPlace(e api.Event) {
	ended, ok := e.(*api.ClaimEnded)
	if !ok || !ended.Waits() {
		return
	}
	for placeholder, ask := range g.replaced {
		if ask == string(ended.Key) {
			g.replaced[placeholder] = ""
		}
	}
}

// mayWaitForPlace reports whether a member may wait for a placeholder that waits itself.
func (g *game) mayWaitForPlace(p *pod) bool {
	return !p.Placeholder && p.Group != "" && slices.ContainsFunc(g.w.Pods, func(other pod) bool {
		return other.Placeholder && other.Group == p.Group && (g.waits[other.Key] || g.on[other.Key] != "")
	})
}

func (g *game) leaving(key string) bool {
	return g.dismissed[key] || slices.ContainsFunc(g.evictions, func(e eviction) bool { return e.Victim == key && !e.Ended })
}

// requested notes that the resource manager is to end something of a gang.
func (g *game) requested(e *api.ReleaseRequested) {
	key := string(e.Key)
	g.note("to end %s: %s", key, e.Message)
	if g.on[key] == "" {
		return // an ask, which has ended
	}
	g.endings[key] = si.TerminationType_TIMEOUT
	if p := g.w.pod(key); p.Quorum != "" {
		g.saw("a broken quorum ends", true)
		if g.w.EndBelow == 0 || g.quorumLacks(p) <= 0 {
			g.breaks(failure{Law: lawWhole, Ask: key, Cause: "ended", Detail: "its quorum runs, or runs on"})
		}
	}
	if e.Cause == api.CauseReplaced {
		g.endings[key] = si.TerminationType_PLACEHOLDER_REPLACED
		ask, where, _ := strings.Cut(e.Message, " takes its place")
		g.replaced[key] = ask
		g.elsewhere[ask] = strings.TrimPrefix(where, " on node ")
	} else {
		g.dismissed[key] = true
	}
	g.confirms[key] = g.now.Add(time.Duration(max(g.w.pod(key).Grace, 0)) * time.Second)
}

// endGangs confirms what of gangs is to end now.
func (g *game) endGangs() {
	for i := range g.w.Pods {
		key := g.w.Pods[i].Key
		if at, ok := g.confirms[key]; ok && g.endings[key] != 0 && !at.After(g.now) {
			g.note("ended %s", key)
			g.release(key, g.endings[key])
			delete(g.endings, key)
		}
	}
}

// runs notes that something runs. What runs has started its gang.
func (g *game) runs(key string) {
	p := g.w.pod(key)
	if p.Placeholder {
		g.started[p.application()] = true
	}
	if p.Runs > 0 {
		g.ends[key] = g.now.Add(time.Duration(p.Runs) * time.Second)
	}
}

// takesPlace reports whether an ask that runs now took the place of a placeholder, or started
// with its quorum: then it was placed at that time and not in its turn.
func (g *game) takesPlace(key string) bool {
	p := g.w.pod(key)
	return p.Quorum != "" || p.Group != ""
}

// addMissing has the application of a pod come that is not there, and reports whether it is
// there then.
func (g *game) addMissing(p *pod) bool {
	id := p.application()
	there := func() bool {
		return slices.ContainsFunc(g.p.View().Applications, func(a *api.ApplicationView) bool { return string(a.ID) == id })
	}
	if id == "" || there() {
		return true
	}
	delete(g.started, id)
	g.addApplication(id, p.Queue, p.User)
	return there()
}

// shareLimit reports whether a limit counts both pods.
func (o *oracle) shareLimit(a, b *pod) bool {
	return slices.ContainsFunc(o.w.Limits, func(l limit) bool { return l.applies(a) && l.applies(b) })
}

// placeholders are the amounts of all placeholders of an application.
func (g *game) placeholders(id string) (sum amounts) {
	for i := range g.w.Pods {
		if p := &g.w.Pods[i]; p.Placeholder && p.application() == id {
			sum = sum.plus(p.Amounts, 1)
		}
	}
	return sum
}

// quorumFits is a quorum that waits although enough of its members fit at once. Only of members
// that are alike it is said: others are tried in their order.
func (g *game) quorumFits() (list []failure) {
	var asks []*pod
	for i := range g.w.Pods {
		if p := &g.w.Pods[i]; p.Quorum != "" && g.waits[p.Key] {
			asks = append(asks, p)
		}
	}
	if len(g.w.Rules) > 0 || len(asks) == 0 || g.quorumLacks(asks[0]) <= 0 && !g.w.Parts || len(asks) < g.quorumLacks(asks[0]) {
		return nil
	}
	first := asks[0]
	for _, p := range asks[1:] {
		if p.Amounts != first.Amounts || p.Queue != first.Queue || p.user() != first.user() || p.Priority != first.Priority {
			return nil
		}
	}
	if g.w.Parts {
		return g.partsFit(asks)
	}
	for _, nodes := range g.domainsFor(first) {
		if g.fitOn(g.oracle(), first, nodes) {
			return []failure{{Ask: first.Key, Cause: "a quorum fits"}}
		}
	}
	return nil
}

// fitOn reports whether as many asks like one fit on some nodes as its quorum lacks.
func (g *game) fitOn(o *oracle, first *pod, nodes []node) bool {
	for range g.quorumLacks(first) {
		at := slices.IndexFunc(nodes, func(n node) bool { return o.fitsOnNode(first, &n) })
		if at < 0 || g.kept(g.p.View(), nodes[at].Name, first) != "" {
			return false
		}
		o.book(first, nodes[at].Name)
	}
	return true
}

// limitsYAML is the limits of a queue as the configuration has them, or nothing.
func (w *world) limitsYAML(queue string) string {
	var list []string
	for _, l := range w.Limits {
		if l.Queue == queue {
			who := "users: [" + l.User + "]"
			if l.Group {
				who = "groups: [dev]"
			}
			list = append(list, "{"+who+", maxresources: "+l.Max.yaml()+"}")
		}
	}
	if len(list) == 0 {
		return ""
	}
	return "limits: [" + strings.Join(list, ", ") + "]"
}

// limitsOf is the same for the core.
func (w *world) limitsOf(queue string) (list []api.Limit) {
	for _, l := range w.Limits {
		if l.Queue != queue {
			continue
		}
		limit := api.Limit{Users: []string{l.User}, Max: l.Max.limits()}
		if l.Group {
			limit.Users, limit.Groups = nil, []string{"dev"}
		}
		list = append(list, limit)
	}
	return list
}

// gangsFit reports whether the placeholders of each gang are within the max of its queues, or
// its application would be refused.
func (w *world) gangsFit() bool {
	g := game{w: w}
	return !slices.ContainsFunc(w.Pods, func(p pod) bool {
		sum := g.placeholders(p.application())
		return p.Placeholder && slices.ContainsFunc(pathOf(p.Queue), func(q string) bool {
			most := w.queue(q).Max
			for k := range most {
				if most[k] > 0 && sum[k] > most[k] {
					return true
				}
			}
			return false
		})
	})
}

// limitsValid reports whether limits could be configured.
func (w *world) limitsValid() bool {
	for i, l := range w.Limits {
		if slices.ContainsFunc(w.Limits[:i], func(o limit) bool { return o.Queue == l.Queue && o.User == l.User && o.Group == l.Group }) {
			return false
		}
		if l.Max == (amounts{}) || l.Queue != "" && (w.queue(l.Queue) == nil || w.isDynamic(w.queue(l.Queue))) {
			return false
		}
		for k, most := range l.Max {
			if most > 0 && most > w.mostAbove(l, k) {
				return false
			}
		}
	}
	return true
}

// mostAbove is the least max and limit of the same owner on the way from a limit to root.
func (w *world) mostAbove(l limit, k int) int {
	least := math.MaxInt
	for _, q := range pathOf(l.Queue) {
		if most := w.queue(q).Max[k]; most > 0 {
			least = min(least, most)
		}
	}
	for _, o := range w.Limits {
		if o.Queue != l.Queue && within(l.Queue, o.Queue) && o.User == l.User && o.Group == l.Group && o.Max[k] > 0 {
			least = min(least, o.Max[k])
		}
	}
	return least
}
