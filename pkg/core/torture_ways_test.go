package core_test

import (
	"cmp"
	"fmt"
	"slices"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/core"
	"github.com/narwhal-scheduler/narwhal/pkg/core/access"
	"github.com/narwhal-scheduler/narwhal/pkg/core/placement"
)

// tortureWays are ways in which applications come to their queues and are tried. None of
// them decides what room costs, so the oracle does not know of them.
type tortureWays struct {
	Dynamic bool // leaves without properties are made for their applications, and go with them
	Denied  bool // applications of another user are refused
	Backoff int  // of an application, after so many asks that fail; zero is never
}

const lawAccess = "what is refused takes no part"

func (m *tortureMaker) ways() {
	m.w.Dynamic, m.w.Denied = m.chance(20), m.chance(10)
	if m.chance(20) {
		m.w.Backoff = 1 + m.IntN(3)
	}
}

// isDynamic reports whether a queue is not configured.
func (w *tortureWorld) isDynamic(q *tortureQueue) bool {
	return w.Dynamic && w.leaf(q.Name) && q.Policy == core.PreemptionDefault && !q.Fence && q.Offset == 0
}

// allow adds to a configuration which applications come in, and how they are placed.
func (w *tortureWorld) allow(c *core.Config) {
	if w.Dynamic {
		c.Rules = []placement.Rule{{Kind: placement.Provided, Create: true}}
	}
	if w.Denied {
		c.Closed = true
		c.Root.Submit, _ = access.Parse("ann,eve")
	}
}

// template is what queues get that are made below one with these properties.
func (w *tortureWorld) template(above core.QueueProperties) *core.QueueTemplate {
	if !w.Dynamic {
		return nil
	}
	p := above
	p.PriorityFence, p.PriorityOffset = false, 0
	if p.PreemptionPolicy != core.PreemptionDisabled {
		p.PreemptionPolicy = core.PreemptionDefault
	}
	return &core.QueueTemplate{Leaf: p, Parent: p}
}

// addApplication has an application come for a queue. A queue that is not configured has its
// amounts from its applications.
func (g *tortureGame) addApplication(id, queue, user string) {
	if g.w.Denied {
		g.deny(id)
	}
	a := core.AddApplication{ID: core.ApplicationID(id), Queue: core.QueuePath("root." + queue), User: cmp.Or(user, "ann"), Groups: []string{"dev"}}
	if sum := g.placeholders(id); sum != (tortureAmounts{}) {
		a.Placeholders = sum.amounts()
		if g.w.Impatient {
			a.GangTimeout = tortureGangTimeout
		}
	}
	if q := g.w.queue(queue); g.w.isDynamic(q) {
		a.Quota = &core.QueueQuota{Max: q.Max.limits(), Guaranteed: q.Guaranteed.amounts()}
	}
	g.apply(a)
}

// deny has an application of another user come with an ask of the highest priority. Both are
// refused, and no queue is made.
func (g *tortureGame) deny(id string) {
	id = "denied-" + id
	fx := g.p.Apply(g.now, core.AddApplication{ID: core.ApplicationID(id), Queue: "root.denied", User: "bob"})
	refused := slices.ContainsFunc(fx, func(e core.Event) bool { _, is := e.(*core.ApplicationRejected); return is })
	fx = g.p.Apply(g.now, core.AddAllocation{Allocation: &core.Allocation{
		Key: core.AllocationKey(id), Application: core.ApplicationID(id), Amounts: tortureAmounts{1}.amounts(), Priority: 1 << 20, Created: g.now,
	}})
	refused = refused && slices.ContainsFunc(fx, func(e core.Event) bool { _, is := e.(*core.AllocationRejected); return is })
	made := slices.ContainsFunc(g.p.View().Root.Queues, func(q *core.QueueView) bool { return q.Path == "root.denied" })
	if !refused || made {
		g.broken = append(g.broken, tortureFailure{Law: lawAccess, Ask: id, Detail: fmt.Sprintf("refused %t, a queue is made %t", refused, made)})
	}
}

// backsOff reports whether the application of an ask is not tried for a while.
func (g *tortureGame) backsOff(ask *torturePod) bool {
	return g.w.Backoff > 0 && slices.ContainsFunc(g.p.View().Applications, func(a *core.ApplicationView) bool {
		return a.ID == core.ApplicationID(ask.application()) && a.BackoffUntil.After(g.now)
	})
}

// backoffDelay is for how long applications back off, which is the default.
const backoffDelay = 30 * time.Second

// TestTortureWays sees that the ways come about: otherwise worlds would show nothing of them.
func TestTortureWays(t *testing.T) {
	came := map[string]int{}
	for seed := range uint64(600) {
		w := newTortureWorld(seed)
		if w.Backoff == 0 && !w.Dynamic {
			came["denied"] += count(w.Denied)
			continue
		}
		g := newTortureGame(w, nil)
		g.after = func(core.Effects) {
			view := g.p.View()
			came["backs off"] += count(slices.ContainsFunc(view.Applications, func(a *core.ApplicationView) bool { return a.BackoffUntil.After(g.now) }))
			came["dynamic"] += count(slices.ContainsFunc(view.Root.Queues, func(q *core.QueueView) bool { return q.Dynamic }))
		}
		g.play()
		assert.Equal(t, len(g.broken), 0, "seed %d", seed)
		gone := !slices.ContainsFunc(g.p.View().Root.Queues, func(q *core.QueueView) bool { return q.Dynamic })
		came["dynamic and gone"] += count(w.Dynamic && gone)
	}
	t.Log(came)
	for _, what := range []string{"denied", "backs off", "dynamic", "dynamic and gone"} {
		assert.Assert(t, came[what] > 10, "%s: %v", what, came)
	}
}
