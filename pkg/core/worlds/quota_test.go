package worlds

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/core/preemptor"
)

// A loweredMax is the max of a queue that is lowered, some seconds after the beginning. So
// many seconds later the queue gives back what it uses beyond it.
type loweredMax struct {
	Queue     string // empty if none is
	Max       amounts
	At, Delay int
}

// evictionTimeout is how long an eviction may take.
const evictionTimeout = 2 * time.Minute

// A givenBack is what a queue beyond its max was told to give back at once.
type givenBack struct {
	queue   string
	at      time.Duration
	before  *oracle
	beyond  amounts
	victims []*pod
}

// lower lowers the max of a queue below what it uses, where the configuration allows it.
func (m *maker) lower() {
	q := &m.w.Queues[m.IntN(len(m.w.Queues))]
	l := loweredMax{Queue: q.Name, Max: q.Max, At: m.IntN(60), Delay: []int{1, 10, 40}[m.IntN(3)]}
	for k := range podsKind {
		if used := m.used[q.Name][k]; used > 0 && m.chance(80) {
			if most := max(1, used-1-m.IntN(6)); l.Max[k] == 0 || most < l.Max[k] {
				l.Max[k] = most
			}
		}
	}
	m.w.Lowered = l
	if l.Max == q.Max || !m.w.valid() {
		m.w.Lowered = loweredMax{}
	}
}

// lowered is the world with the max that comes, as far as a configuration goes.
func (w *world) lowered() *world {
	c := w.clone()
	c.Lowered = loweredMax{}
	c.queue(w.Lowered.Queue).Max = w.Lowered.Max
	for i := range c.Pods {
		c.Pods[i].Node = "" // more may run than fits
	}
	return c
}

// lowerable reports whether the max that comes could be configured.
func (w *world) lowerable() bool {
	q := w.queue(w.Lowered.Queue)
	return w.Lowered.Queue == "" || q != nil && !w.isDynamic(q) && w.lowered().valid()
}

// lowerNow has the max be lowered when it is time.
func (g *game) lowerNow() {
	l := g.w.Lowered
	if at := start.Add(time.Duration(l.At) * time.Second); l.Queue == "" || g.lowered || at.After(g.now) {
		return
	}
	g.lowered, g.changed = true, g.now
	g.note("the max of %s is %s", l.Queue, l.Max.words())
	g.w.queue(l.Queue).Max = l.Max
	g.script.wait(g.now)
	fmt.Fprintln(&g.script, "reconfigure\n  "+strings.Join(g.w.yaml(), "\n  "))
	g.take(g.p.Apply(g.now, api.Reconfigure{Config: g.w.config()}))
}

// giveBack notes that a queue is to give back what is beyond its max.
func (g *game) giveBack(e *api.PreemptionPlanned) {
	given := givenBack{queue: string(e.Queue)[len("root."):], at: g.now.Sub(start), before: g.oracle().frozen()}
	given.beyond = given.before.beyond(given.queue)
	g.given = append(g.given, given)
}

// beyond is what a queue uses beyond its max when all that is evicted has ended, without
// what did not end in time.
func (o *oracle) beyond(queue string) (over amounts) {
	used := o.used[queue]
	for _, v := range o.leaving() {
		if within(v.Queue, queue) && !o.overdue[v.Key] {
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
func (g *game) unlawfulForQuota(e eviction) string {
	o, v, l := g.oracle(), g.w.pod(e.Victim), g.w.Lowered
	if len(g.given) == 0 {
		return "no queue gives back"
	}
	given := &g.given[len(g.given)-1]
	given.victims = append(given.victims, v)
	switch {
	case !within(v.Queue, given.queue):
		return "outside of the queue"
	case e.At < g.beyondAt(given.queue)+time.Duration(l.Delay)*time.Second:
		return "too early"
	case !o.givesBack(given.queue, v):
		return "not to be given back"
	}
	return g.overBudget(o, v)
}

// A grownPod is what a running pod of a queue grew, which no max refuses.
type grownPod struct {
	queue string
	at    time.Duration
}

// beyondAt is when a queue may have come beyond its max first.
func (g *game) beyondAt(queue string) time.Duration {
	first := time.Duration(math.MaxInt64 / 2)
	if g.lowered {
		first = time.Duration(g.w.Lowered.At) * time.Second
	}
	for _, p := range g.grown {
		if within(p.queue, queue) {
			first = min(first, p.at)
		}
	}
	return first
}

// givesBack reports whether a pod may end because its queue is beyond its max.
func (o *oracle) givesBack(queue string, v *pod) bool {
	useful := false
	for k, over := range o.beyond(queue) {
		useful = useful || over > 0 && v.Amounts[k] > 0
	}
	if !useful || v.Foreign != api.Own || v.Required || v.Requires != "" || o.leaves[v.Key] || o.stays[v.Key] || o.isProtected(v.Queue) {
		return false
	}
	guarded := func(q string) bool { return o.breaks(q, []*pod{v}) != [3]bool{} }
	return !slices.ContainsFunc(pathOf(v.Queue), guarded)
}

// needless is the failure to spare a pod that a queue beyond its max need not give back.
func (g *game) needless() (list []failure) {
	for _, given := range g.given {
		var freed amounts
		for _, v := range given.victims {
			freed = freed.plus(v.Amounts, 1)
		}
		for _, v := range given.victims {
			needed := false
			for k, over := range given.beyond {
				needed = needed || v.Amounts[k] > 0 && freed[k]-v.Amounts[k] < over
			}
			if !needed {
				list = append(list, failure{Trigger: preemptor.Quota, Cause: "a victim could stay", Detail: v.Key})
			}
		}
	}
	return list
}

// stayBeyond is the failure of queues to come within their max although something that runs
// there might be given back.
func (g *game) stayBeyond(o *oracle) (list []failure) {
	if !g.lowered || len(o.leaving()) > 0 {
		return nil
	}
	for _, q := range g.w.Queues {
		for _, v := range o.running {
			if within(v.Queue, q.Name) && o.givesBack(q.Name, v) && g.overBudget(o, v) == "" {
				list = append(list, failure{Trigger: preemptor.Quota, Cause: "a queue stays beyond its max", Detail: q.Name + " without " + v.Key})
			}
		}
	}
	return list
}

// TestLawsNoticeWhatIsGivenBack shows that the laws of the trigger quota can be broken.
func TestLawsNoticeWhatIsGivenBack(t *testing.T) {
	t.Parallel()
	pod := func(key string, cores int) pod {
		return pod{Key: key, Queue: "a", Node: "n1", Amounts: amounts{cores}}
	}
	w := oneNode(9, []queue{{Name: "a"}}, pod("a1", 3), pod("a2", 3), pod("a3", 3))
	w.Lowered = loweredMax{Queue: "a", Max: amounts{5}, At: 10, Delay: 10}
	failures, g := failuresOf(w, nil)
	assert.Equal(t, len(failures), 0, "%v", failures)
	assert.Equal(t, len(g.evictions), 2)
	assert.Equal(t, fmt.Sprint(g.given[0].beyond), "[4 0 0]")
	g.given[0].beyond[0] = 3
	assert.Equal(t, len(g.needless()), 2, "each of two victims could stay, and the law says nothing")
	g.w.queue("a").Max[0] = 2
	assert.Equal(t, len(g.stayBeyond(g.oracle())), 1, "the queue is beyond its max, and the law says nothing")
	g.lowered = false
	assert.Equal(t, g.unlawfulForQuota(eviction{Victim: "a1"}), "too early")
}
