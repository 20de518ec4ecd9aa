package worlds

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/narwhal-scheduler/narwhal/pkg/core/access"
	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/core/placement"
)

// ways are ways in which applications come to their queues and are tried. None of
// them decides what room costs, so the oracle does not know of them.
type ways struct {
	Dynamic bool // leaves without properties are made for their applications, and go with them
	Denied  bool // applications of another user are refused
	Backoff int  // of an application, after so many asks that fail; zero is never
}

const lawAccess = "what is refused takes no part"

func (m *maker) ways() {
	m.w.Dynamic, m.w.Denied = m.chance(20), m.chance(10)
	if m.chance(20) {
		m.w.Backoff = 1 + m.IntN(3)
	}
}

// isDynamic reports whether a queue is not configured.
func (w *world) isDynamic(q *queue) bool {
	return w.Dynamic && w.leaf(q.Name) && q.Policy == api.PreemptionDefault && !q.Fence && q.Offset == 0
}

// allow adds to a configuration which applications come in, and how they are placed.
func (w *world) allow(c *api.Config) {
	if w.Dynamic {
		c.Rules = []placement.Rule{{Kind: placement.Provided, Create: true}}
	}
	if w.Denied {
		c.Closed = true
		c.Root.Submit, _ = access.Parse("ann,eve")
	}
}

// template is what queues get that are made below one with these properties.
func (w *world) template(above api.QueueProperties) *api.QueueTemplate {
	if !w.Dynamic {
		return nil
	}
	p := above
	p.PriorityFence, p.PriorityOffset = false, 0
	if p.PreemptionPolicy != api.PreemptionDisabled {
		p.PreemptionPolicy = api.PreemptionDefault
	}
	return &api.QueueTemplate{Leaf: p, Parent: p}
}

// addApplication has an application come for a queue. A queue that is not configured has its
// amounts from its applications.
func (g *game) addApplication(id, queue, user string) {
	if g.w.Denied {
		g.deny(id)
	}
	a := api.AddApplication{ID: api.ApplicationID(id), Queue: api.QueuePath("root." + queue), User: cmp.Or(user, "ann"), Groups: []string{"dev"}}
	if sum := g.placeholders(id); sum != (amounts{}) {
		a.Placeholders = sum.amounts()
		if g.w.Impatient {
			a.GangTimeout = gangTimeout
		}
	}
	if q := g.w.queue(queue); g.w.isDynamic(q) {
		a.Quota = &api.QueueQuota{Max: q.Max.limits(), Guaranteed: q.Guaranteed.amounts()}
	}
	g.apply(a)
}

// deny has an application of another user come with an ask of the highest priority. Both are
// refused, and no queue is made.
func (g *game) deny(id string) {
	id = "denied-" + id
	fx := g.p.Apply(g.now, api.AddApplication{ID: api.ApplicationID(id), Queue: "root.denied", User: "bob"})
	refused := slices.ContainsFunc(fx, func(e api.Event) bool { _, is := e.(*api.ApplicationRejected); return is })
	fx = g.p.Apply(g.now, api.AddAllocation{Allocation: &api.Allocation{
		Key: api.AllocationKey(id), Application: api.ApplicationID(id), Amounts: amounts{1}.amounts(), Priority: 1 << 20, Created: g.now,
	}})
	refused = refused && slices.ContainsFunc(fx, func(e api.Event) bool { _, is := e.(*api.AllocationRejected); return is })
	made := slices.ContainsFunc(g.p.View().Root.Queues, func(q *api.QueueView) bool { return q.Path == "root.denied" })
	if !refused || made {
		g.breaks(failure{Law: lawAccess, Cause: "it is taken", Ask: id, Detail: fmt.Sprintf("refused %t, a queue is made %t", refused, made)})
	}
}

// backsOff reports whether the application of an ask is not tried for a while.
func (g *game) backsOff(ask *pod) bool {
	return g.w.Backoff > 0 && slices.ContainsFunc(g.p.View().Applications, func(a *api.ApplicationView) bool {
		return a.ID == api.ApplicationID(ask.application()) && a.BackoffUntil.After(g.now)
	})
}

// backoffDelay is for how long applications back off, which is the default.
const backoffDelay = 30 * time.Second
