package core_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/core"
	"github.com/narwhal-scheduler/narwhal/pkg/core/preemptor"
)

// A tortureLowered is the max of a queue that is lowered, some seconds after the beginning. So
// many seconds later the queue gives back what it uses beyond it.
type tortureLowered struct {
	Queue     string // empty if none is
	Max       tortureAmounts
	At, Delay int
}

// tortureTimeout is how long an eviction may take.
const tortureTimeout = 2 * time.Minute

// A tortureGiven is what a queue beyond its max was told to give back at once.
type tortureGiven struct {
	queue   string
	at      time.Duration
	before  *tortureOracle
	beyond  tortureAmounts
	victims []*torturePod
}

// lower lowers the max of a queue below what it uses, where the configuration allows it.
func (m *tortureMaker) lower() {
	q := &m.w.Queues[m.IntN(len(m.w.Queues))]
	l := tortureLowered{Queue: q.Name, Max: q.Max, At: m.IntN(60), Delay: []int{1, 10, 40}[m.IntN(3)]}
	for k := range torturePods {
		if used := m.used[q.Name][k]; used > 0 && m.chance(80) {
			if most := max(1, used-1-m.IntN(6)); l.Max[k] == 0 || most < l.Max[k] {
				l.Max[k] = most
			}
		}
	}
	m.w.Lowered = l
	if l.Max == q.Max || !m.w.valid() {
		m.w.Lowered = tortureLowered{}
	}
}

// lowered is the world with the max that comes, as far as a configuration goes.
func (w *tortureWorld) lowered() *tortureWorld {
	c := w.clone()
	c.Lowered = tortureLowered{}
	c.queue(w.Lowered.Queue).Max = w.Lowered.Max
	for i := range c.Pods {
		c.Pods[i].Node = "" // more may run than fits
	}
	return c
}

// lowerable reports whether the max that comes could be configured.
func (w *tortureWorld) lowerable() bool {
	q := w.queue(w.Lowered.Queue)
	return w.Lowered.Queue == "" || q != nil && !w.isDynamic(q) && w.lowered().valid()
}

// lowerNow has the max be lowered when it is time.
func (g *tortureGame) lowerNow() {
	l := g.w.Lowered
	if at := tortureStart.Add(time.Duration(l.At) * time.Second); l.Queue == "" || g.lowered || at.After(g.now) {
		return
	}
	g.lowered, g.changed = true, g.now
	g.note("the max of %s is %s", l.Queue, l.Max.words())
	g.w.queue(l.Queue).Max = l.Max
	g.apply(core.Reconfigure{Config: g.w.config()})
}

// reconfigured reports whether the configuration has changed since a moment.
func (g *tortureGame) reconfigured(since time.Duration) bool {
	return g.lowered && since <= time.Duration(g.w.Lowered.At)*time.Second
}

// giveBack notes that a queue is to give back what is beyond its max.
func (g *tortureGame) giveBack(e *core.PreemptionPlanned) {
	given := tortureGiven{queue: string(e.Queue)[len("root."):], at: g.now.Sub(tortureStart), before: g.oracle()}
	given.beyond = given.before.beyond(given.queue)
	g.given = append(g.given, given)
}

// beyond is what a queue uses beyond its max when all that is evicted has ended, without
// what did not end in time.
func (o *tortureOracle) beyond(queue string) (over tortureAmounts) {
	used := o.used[queue]
	for _, v := range o.leaving() {
		if tortureWithin(v.Queue, queue) && !o.overdue[v.Key] {
			used = used.plus(v.Amounts, -1)
		}
	}
	for k, most := range o.w.queue(queue).Max {
		if most > 0 {
			over[k] = max(used[k]-most, 0)
		}
	}
	return over
}

// unlawfulForQuota says why a pod must not be evicted because its queue is beyond its max.
func (g *tortureGame) unlawfulForQuota(e tortureEviction) string {
	o, v, l := g.oracle(), g.w.pod(e.Victim), g.w.Lowered
	if len(g.given) == 0 {
		return "no queue gives back"
	}
	given := &g.given[len(g.given)-1]
	given.victims = append(given.victims, v)
	switch {
	case !tortureWithin(v.Queue, given.queue):
		return "outside of the queue"
	case !g.lowered || e.At < time.Duration(l.At+l.Delay)*time.Second:
		return "too early"
	case !o.givesBack(given.queue, v):
		return "not to be given back"
	}
	return g.overBudget(o, v)
}

// givesBack reports whether a pod may end because its queue is beyond its max.
func (o *tortureOracle) givesBack(queue string, v *torturePod) bool {
	useful := false
	for k, over := range o.beyond(queue) {
		useful = useful || over > 0 && v.Amounts[k] > 0
	}
	if !useful || v.Foreign != core.Own || v.Required || v.Requires != "" || o.leaves[v.Key] || o.stays[v.Key] || o.isProtected(v.Queue) {
		return false
	}
	guarded := func(q string) bool { return o.breaks(q, []*torturePod{v}) != [3]bool{} }
	return !slices.ContainsFunc(torturePath(v.Queue), guarded)
}

// needless is the failure to spare a pod that a queue beyond its max need not give back.
func (g *tortureGame) needless() (list []tortureFailure) {
	for _, given := range g.given {
		var freed tortureAmounts
		for _, v := range given.victims {
			freed = freed.plus(v.Amounts, 1)
		}
		for _, v := range given.victims {
			needed := false
			for k, over := range given.beyond {
				needed = needed || v.Amounts[k] > 0 && freed[k]-v.Amounts[k] < over
			}
			if !needed {
				list = append(list, tortureFailure{Law: lawNecessary, Trigger: preemptor.Quota, Cause: "of the quota", Detail: v.Key})
			}
		}
	}
	return list
}

// stayBeyond is the failure of queues to come within their max although something that runs
// there might be given back.
func (g *tortureGame) stayBeyond(o *tortureOracle) (list []tortureFailure) {
	if !g.lowered || len(o.leaving()) > 0 {
		return nil
	}
	for _, q := range g.w.Queues {
		for _, v := range o.running {
			if tortureWithin(v.Queue, q.Name) && o.givesBack(q.Name, v) && g.overBudget(o, v) == "" {
				list = append(list, tortureFailure{Law: lawFeasible, Trigger: preemptor.Quota, Cause: "a queue stays beyond its max", Detail: q.Name + " without " + v.Key})
			}
		}
	}
	return list
}

// loweredText are the commands that lower the max.
func (w *tortureWorld) loweredText() string {
	c := w.clone()
	c.queue(w.Lowered.Queue).Max = w.Lowered.Max
	text := "reconfigure\n"
	for _, line := range c.yaml() {
		text += "  " + line + "\n"
	}
	return text
}

// TestTortureLowered sees that queues give back beside the other triggers: otherwise worlds would
// show nothing of it.
func TestTortureLowered(t *testing.T) {
	came := map[string]int{}
	for seed := range uint64(5000) {
		w := newTortureWorld(seed)
		if w.Lowered.Queue == "" {
			continue
		}
		failures, g := tortureFailures(w, nil)
		assert.Equal(t, len(failures), 0, "seed %d: %v", seed, failures)
		came["lowered"]++
		came["several victims"] += count(slices.ContainsFunc(g.given, func(b tortureGiven) bool { return len(b.victims) > 1 }))
		came["not all can be given back"] += count(g.oracle().beyond(w.Lowered.Queue) != tortureAmounts{})
		for what, is := range map[string]bool{
			"a queue gives back":       len(g.given) > 0,
			"room is made for others":  len(g.given) > 0 && slices.ContainsFunc(g.evictions, func(e tortureEviction) bool { return e.For != "" }),
			"a queue above gives back": slices.ContainsFunc(g.given, func(b tortureGiven) bool { return !w.leaf(b.queue) }),
			"budgets are hard":         len(g.given) > 0 && len(w.Budgets) > 0 && w.Policy == preemptor.HardBudgets,
			"the queue is guaranteed":  len(g.given) > 0 && w.queue(w.Lowered.Queue).Guaranteed != tortureAmounts{},
		} {
			came[what] += count(is)
		}
	}
	t.Log(came)
	for _, what := range []string{
		"a queue gives back", "several victims", "room is made for others", "a queue above gives back", "budgets are hard", "the queue is guaranteed",
		"not all can be given back",
	} {
		assert.Assert(t, came[what] >= 10, "%s: %v", what, came)
	}
}

// TestTortureNoticesWhatIsGivenBack shows that the laws of the trigger quota can be broken.
func TestTortureNoticesWhatIsGivenBack(t *testing.T) {
	pod := func(key string, cores int) torturePod {
		return torturePod{Key: key, Queue: "a", Node: "n1", Amounts: tortureAmounts{cores}}
	}
	w := oneTorture(9, []tortureQueue{{Name: "a"}}, pod("a1", 3), pod("a2", 3), pod("a3", 3))
	w.Lowered = tortureLowered{Queue: "a", Max: tortureAmounts{5}, At: 10, Delay: 10}
	failures, g := tortureFailures(w, nil)
	assert.Equal(t, len(failures), 0, "%v", failures)
	assert.Equal(t, len(g.evictions), 2)
	assert.Equal(t, fmt.Sprint(g.given[0].beyond), "[4 0 0]")
	g.given[0].beyond[0] = 3
	assert.Equal(t, len(g.needless()), 2, "each of two victims could stay, and the law says nothing")
	g.w.queue("a").Max[0] = 2
	assert.Equal(t, len(g.stayBeyond(g.oracle())), 1, "the queue is beyond its max, and the law says nothing")
	g.lowered = false
	assert.Equal(t, g.unlawfulForQuota(tortureEviction{Victim: "a1"}), "too early")
}
