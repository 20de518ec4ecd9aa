package core_test

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"
	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/core"
	"github.com/narwhal-scheduler/narwhal/pkg/core/preemptor"
)

// A tortureLimit is what a user may use below a queue, or with Group all users, which are of
// one group. An empty queue is root.
type tortureLimit struct {
	Queue, User string
	Group       bool
	Max         tortureAmounts
}

// tortureGangTimeout is after what time placeholders time out in worlds of impatient gangs.
const tortureGangTimeout = 70 * time.Second

// tortureMembers are what asks have in common with others: users that are limited, quorums and
// gangs. Which ask may be tried depends on it, and not what room costs.
type tortureMembers struct {
	Limits    []tortureLimit
	Quorums   map[string]int // the least members of each
	Whole     bool           // gangs start with all their placeholders
	Impatient bool           // placeholders time out soon
	Devices   bool           // pods are devices, and nodes are ordered by them
}

// members makes up what asks have in common. It comes after everything else, so that the
// worlds are otherwise as they were.
func (m *tortureMaker) members() {
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

func (m *tortureMaker) limits() {
	for i := range m.w.Pods {
		if p := &m.w.Pods[i]; p.Foreign == core.Own && m.chance(40) {
			p.User = "eve"
		}
	}
	queues := []string{""}
	for _, q := range m.w.Queues {
		queues = append(queues, q.Name)
	}
	for range 1 + m.IntN(2) {
		l := tortureLimit{Queue: queues[m.IntN(len(queues))], User: []string{"ann", "eve"}[m.IntN(2)], Group: m.chance(25)}
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
func (m *tortureMaker) quorum() {
	count := 0
	for i := range m.w.Pods {
		p := &m.w.Pods[i]
		if p.Foreign != core.Own || p.Required || p.Requires != "" || !m.chance(30) && (p.Node != "" || !m.chance(70)) {
			continue
		}
		p.Quorum = "q"
		count++
	}
	m.w.Quorums["q"] = 1 + m.IntN(max(count, 1))
}

// gang adds placeholders that run or wait, and asks that take their places.
func (m *tortureMaker) gang() {
	m.w.Whole, m.w.Impatient = m.chance(30), m.chance(50)
	before := slices.Clone(m.w.Pods)
	amounts, queue, user := m.amounts(1, 3, 2), m.leaves[m.IntN(len(m.leaves))], []string{"", "eve"}[m.IntN(2)]
	for i := range 1 + m.IntN(4) {
		p := torturePod{
			Key: fmt.Sprint("h", i), Queue: queue, User: user, Group: "g", Placeholder: true, Amounts: amounts, Priority: m.priority(), Age: m.IntN(5), Grace: m.grace(),
		}
		if n := m.w.Nodes[m.IntN(len(m.w.Nodes))].Name; m.chance(60) && amounts.fits(m.free[n]) && m.charge(p) {
			p.Node = n
			m.free[n] = m.free[n].plus(amounts, -1)
		}
		m.w.Pods = append(m.w.Pods, p)
	}
	for i := range m.IntN(4) {
		p := torturePod{
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
	slices.SortStableFunc(m.w.Pods, func(a, b torturePod) int { return a.At - b.At })
	if !m.w.valid() {
		m.w.Pods = before
	}
}

// applies reports whether a limit counts what a pod has.
func (l *tortureLimit) applies(p *torturePod) bool {
	return p.Foreign == core.Own && tortureWithin(p.Queue, l.Queue) && (l.Group || l.User == p.user())
}

func (p *torturePod) user() string {
	if p.User == "" {
		return "ann"
	}
	return p.User
}

// limited reports whether a limit holds back an ask. What is being evicted still counts.
func (o *tortureOracle) limited(ask *torturePod) bool {
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
func (o *tortureOracle) book(p *torturePod, node string) {
	o.free[node] = o.free[node].plus(p.Amounts, -1)
	for _, q := range torturePath(p.Queue) {
		o.used[q] = o.used[q].plus(p.Amounts, 1)
	}
	for i := range o.w.Limits {
		if o.w.Limits[i].applies(p) {
			o.limits[i] = o.limits[i].plus(p.Amounts, 1)
		}
	}
}

// quorumLacks is how many members of the quorum of a pod do not run that must.
func (g *tortureGame) quorumLacks(p *torturePod) int {
	if p.Quorum == "" {
		return 0
	}
	running := 0
	for i := range g.w.Pods {
		if other := &g.w.Pods[i]; other.Quorum == p.Quorum && g.on[other.Key] != "" {
			running++
		}
	}
	return g.w.Quorums[p.Quorum] - running
}

// held says why an ask is not tried on its own: other members of its gang or quorum are
// missing, or it waits for a placeholder.
func (g *tortureGame) held(p *torturePod) string {
	switch {
	case g.quorumLacks(p) > 0:
		return "its quorum does not run"
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
		return "it takes the place of a placeholder"
	}
	return ""
}

// makesNoRoom says why an ask makes no room although it may preempt, or nothing. One for which room
// was reserved while its quorum ran keeps it.
func (g *tortureGame) makesNoRoom(ask *torturePod) string {
	if g.quorumLacks(ask) > 0 && g.w.Reserve {
		return ""
	}
	return g.held(ask)
}

// isReplaced reports whether an ask that still waits is to take the place of a placeholder.
func (g *tortureGame) isReplaced(placeholder string) bool {
	ask := g.replaced[placeholder]
	return ask != "" && g.waits[ask]
}

// mayWaitForPlace reports whether a member may wait for a placeholder that waits itself.
func (g *tortureGame) mayWaitForPlace(p *torturePod) bool {
	return !p.Placeholder && p.Group != "" && slices.ContainsFunc(g.w.Pods, func(other torturePod) bool {
		return other.Placeholder && other.Group == p.Group && (g.waits[other.Key] || g.on[other.Key] != "")
	})
}

func (g *tortureGame) leaving(key string) bool {
	return g.dismissed[key] || slices.ContainsFunc(g.evictions, func(e tortureEviction) bool { return e.Victim == key && !e.Ended })
}

// requested notes that the resource manager is to end something of a gang.
func (g *tortureGame) requested(e *core.ReleaseRequested) {
	key := string(e.Key)
	g.note("to end %s: %s", key, e.Message)
	if g.on[key] == "" {
		return // an ask, which has ended
	}
	g.endings[key] = si.TerminationType_TIMEOUT
	if e.Cause == core.CauseReplaced {
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
func (g *tortureGame) endGangs() {
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
func (g *tortureGame) runs(key string) {
	if p := g.w.pod(key); p.Placeholder {
		g.started[p.application()] = true
	}
}

// takesPlace reports whether an ask that runs now took the place of a placeholder, or started
// with its quorum: then it was placed at that time and not in its turn.
func (g *tortureGame) takesPlace(key string) bool {
	p := g.w.pod(key)
	return p.Quorum != "" || p.Group != ""
}

// addMissing has the application of a pod come that is not there, and reports whether it is
// there then.
func (g *tortureGame) addMissing(p *torturePod) bool {
	id := p.application()
	there := func() bool {
		return slices.ContainsFunc(g.p.View().Applications, func(a *core.ApplicationView) bool { return string(a.ID) == id })
	}
	if id == "" || there() {
		return true
	}
	delete(g.started, id)
	g.addApplication(id, p.Queue, p.User)
	return there()
}

// shareLimit reports whether a limit counts both pods.
func (o *tortureOracle) shareLimit(a, b *torturePod) bool {
	return slices.ContainsFunc(o.w.Limits, func(l tortureLimit) bool { return l.applies(a) && l.applies(b) })
}

// placeholders are the amounts of all placeholders of an application.
func (g *tortureGame) placeholders(id string) (sum tortureAmounts) {
	for i := range g.w.Pods {
		if p := &g.w.Pods[i]; p.Placeholder && p.application() == id {
			sum = sum.plus(p.Amounts, 1)
		}
	}
	return sum
}

// quorumFits is a quorum that waits although enough of its members fit at once. Only of members
// that are alike it is said: others are tried in their order.
func (g *tortureGame) quorumFits() (list []tortureFailure) {
	var asks []*torturePod
	for i := range g.w.Pods {
		if p := &g.w.Pods[i]; p.Quorum != "" && g.waits[p.Key] {
			asks = append(asks, p)
		}
	}
	if len(g.w.Rules) > 0 || len(asks) == 0 || g.quorumLacks(asks[0]) <= 0 || len(asks) < g.quorumLacks(asks[0]) {
		return nil
	}
	first, o := asks[0], g.oracle()
	for _, p := range asks[1:] {
		if p.Amounts != first.Amounts || p.Queue != first.Queue || p.user() != first.user() || p.Priority != first.Priority {
			return nil
		}
	}
	for range g.quorumLacks(first) {
		at := slices.IndexFunc(g.w.Nodes, func(n tortureNode) bool { return o.fitsOnNode(first, &n) })
		if at < 0 || g.kept(g.p.View(), g.w.Nodes[at].Name, first) != "" {
			return nil
		}
		o.book(first, g.w.Nodes[at].Name)
	}
	return []tortureFailure{{Law: lawRoom, Ask: first.Key, Cause: "a quorum fits"}}
}

// limitsYAML is the limits of a queue as the configuration has them, or nothing.
func (w *tortureWorld) limitsYAML(queue string) string {
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
func (w *tortureWorld) limitsOf(queue string) (list []core.Limit) {
	for _, l := range w.Limits {
		if l.Queue != queue {
			continue
		}
		limit := core.Limit{Users: []string{l.User}, Max: l.Max.limits()}
		if l.Group {
			limit.Users, limit.Groups = nil, []string{"dev"}
		}
		list = append(list, limit)
	}
	return list
}

// gangsFit reports whether the placeholders of each gang are within the max of its queues, or
// its application would be refused.
func (w *tortureWorld) gangsFit() bool {
	g := tortureGame{w: w}
	return !slices.ContainsFunc(w.Pods, func(p torturePod) bool {
		sum := g.placeholders(p.application())
		return p.Placeholder && slices.ContainsFunc(torturePath(p.Queue), func(q string) bool {
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
func (w *tortureWorld) limitsValid() bool {
	for i, l := range w.Limits {
		if slices.ContainsFunc(w.Limits[:i], func(o tortureLimit) bool { return o.Queue == l.Queue && o.User == l.User && o.Group == l.Group }) {
			return false
		}
		if l.Max == (tortureAmounts{}) || l.Queue != "" && (w.queue(l.Queue) == nil || w.isDynamic(w.queue(l.Queue))) {
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
func (w *tortureWorld) mostAbove(l tortureLimit, k int) int {
	least := math.MaxInt
	for _, q := range torturePath(l.Queue) {
		if most := w.queue(q).Max[k]; most > 0 {
			least = min(least, most)
		}
	}
	for _, o := range w.Limits {
		if o.Queue != l.Queue && tortureWithin(l.Queue, o.Queue) && o.User == l.User && o.Group == l.Group && o.Max[k] > 0 {
			least = min(least, o.Max[k])
		}
	}
	return least
}

// applicationsText are the commands for the applications that are there at the beginning
// beside those of the queues.
func (w *tortureWorld) applicationsText() (text string) {
	seen := map[string]bool{}
	for i := range w.Pods {
		p := &w.Pods[i]
		if id := p.application(); p.At == 0 && id != "" && id != p.Queue && !seen[id] {
			seen[id] = true
			text += w.applicationText(p)
		}
	}
	return text
}

func (w *tortureWorld) applicationText(p *torturePod) string {
	text := fmt.Sprintf("application %s queue=root.%s user=%s groups=dev", p.application(), p.Queue, p.user())
	g := tortureGame{w: w}
	if sum := g.placeholders(p.application()); sum != (tortureAmounts{}) {
		text += " " + sum.words() + tortureIf(w.Impatient, " timeout="+tortureGangTimeout.String())
	}
	return text + "\n"
}

// TestTortureMembers sees that limits, quorums and gangs come about beside preemption: otherwise
// worlds would show nothing of them.
func TestTortureMembers(t *testing.T) {
	came := map[string]int{}
	for seed := range uint64(2500) {
		w := newTortureWorld(seed)
		if len(w.Limits) == 0 && len(w.Quorums) == 0 && !slices.ContainsFunc(w.Pods, func(p torturePod) bool { return p.Group != "" }) {
			came["devices"] += count(w.Devices)
			continue
		}
		g := newTortureGame(w, nil)
		seen := map[string]bool{}
		g.after = func(fx core.Effects) { g.seeMembers(fx, seen) }
		g.play()
		assert.Equal(t, len(g.broken), 0, "seed %d", seed)
		for what, is := range seen {
			came[what] += count(is)
		}
	}
	t.Log(came)
	for _, what := range []string{
		"devices", "a limit holds back an ask", "a limit holds back an ask, and room is made for another", "a quorum waits", "a quorum runs",
		"room is made for a member of a quorum", "a member of a quorum is a victim", "a placeholder is replaced", "a placeholder is a victim",
		"a placeholder times out", "room is made for a placeholder", "a gang waits as a whole", "room is made beside a gang that waits as a whole",
	} {
		assert.Assert(t, came[what] >= 10, "%s: %v", what, came)
	}
}

// seeMembers notes what came about in a step.
func (g *tortureGame) seeMembers(fx core.Effects, seen map[string]bool) {
	o := g.oracle()
	for i := range g.w.Pods {
		p := &g.w.Pods[i]
		if !g.waits[p.Key] {
			continue
		}
		limited := o.limited(p)
		seen["a limit holds back an ask"] = seen["a limit holds back an ask"] || limited
		quorum, whole := g.quorumLacks(p) > 0, p.Placeholder && g.w.Whole && !g.started[p.application()]
		for what, is := range map[string]bool{
			"a quorum waits": quorum, "a gang waits as a whole": whole,
			"a limit holds back an ask, and room is made for another": limited && len(g.evictions) > 0,
			"room is made beside a gang that waits as a whole":        whole && len(g.evictions) > 0,
		} {
			seen[what] = seen[what] || is
		}
	}
	for _, e := range fx {
		switch e := e.(type) {
		case core.Placed:
			seen["a quorum runs"] = seen["a quorum runs"] || g.w.pod(string(e.Key)).Quorum != ""
		case *core.ReleaseRequested:
			seen["a placeholder is replaced"] = seen["a placeholder is replaced"] || e.Cause == core.CauseReplaced
			seen["a placeholder times out"] = seen["a placeholder times out"] || e.Cause == core.CauseTimedOut
		case *core.EvictionRequested:
			if e.Trigger == preemptor.Quota {
				continue
			}
			victim, ask := g.w.pod(string(e.Key)), g.w.pod(string(e.For))
			for what, is := range map[string]bool{
				"room is made for a member of a quorum": ask.Quorum != "", "a member of a quorum is a victim": victim.Quorum != "",
				"room is made for a placeholder": ask.Placeholder, "a placeholder is a victim": victim.Placeholder,
			} {
				seen[what] = seen[what] || is
			}
		}
	}
}
