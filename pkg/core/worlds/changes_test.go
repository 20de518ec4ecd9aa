package worlds

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
)

// A change is something that happens to a world while it is played: a node is "drain"ed,
// "undrain"ed, "remove"d, "add"ed, "resize"d or "relabel"led, a pod "fail"s to be bound, the resource manager
// "allow"s what a rule refuses and does not say so, or "confirm"s an eviction at once, a pod is to "become" of other amounts, an
// application is to "leave", or the scheduler does a "restart".
type change struct {
	At       int // seconds after the beginning
	Verb     string
	Node     string
	Pod      string
	Capacity amounts
	Rule     int
	Rack     string
}

// changeNow does the changes that are due.
func (g *game) changeNow(at int) {
	for i := range g.w.Changes {
		if c := &g.w.Changes[i]; !g.done[i] && c.At <= at {
			g.done[i] = true
			g.note("%s %s%s", c.Verb, c.Node, c.Pod)
			g.saw(c.Verb, true)
			g.change(c)
			g.changed = g.now
		}
	}
}

func (g *game) change(c *change) {
	n, id := g.w.node(c.Node), api.NodeID(c.Node)
	switch c.Verb {
	case "restart":
		fmt.Fprintln(&g.script, "# The scheduler restarts", g.now.Sub(start))
		g.restart()
		return
	case "confirm":
		g.confirmFirst()
		return
	case "allow":
		if c.Rule < len(g.w.Rules) {
			r := g.w.Rules[c.Rule]
			g.allowed[r.Pod], g.allowed[r.Other] = g.now, g.now
			g.w.Rules = slices.Delete(slices.Clone(g.w.Rules), c.Rule, c.Rule+1)
		}
		return
	case "fail":
		if p := g.w.pod(c.Pod); p != nil && g.on[c.Pod] != "" && p.Foreign == api.Own && !p.Placeholder && !g.leaving(c.Pod) {
			g.fails[c.Pod] = true
			if p.Required {
				p.Requires = g.on[c.Pod]
			}
			g.release(c.Pod, api.SchedulingFailed)
		}
		return
	}
	if c.Verb == "become" || c.Verb == "leave" {
		g.changePod(c)
		return
	}
	if n == nil || n.Gone != (c.Verb == "add") {
		return
	}
	switch c.Verb {
	case "drain":
		n.Drained = true
		g.apply(api.DrainNode{ID: id})
	case "undrain":
		n.Drained = false
		g.apply(api.UndrainNode{ID: id})
	case "resize":
		n.Capacity = c.Capacity
		g.apply(api.UpdateNode{ID: id, Capacity: c.Capacity.amounts()})
	case "add":
		n.Gone, n.Drained, n.Capacity = false, false, c.Capacity
		g.apply(api.AddNode{ID: id, Capacity: c.Capacity.amounts(), Attributes: n.attributes()})
	case "relabel":
		n.Rack = c.Rack
		g.apply(api.UpdateNode{ID: id, Attributes: n.attributes()})
	case "remove":
		n.Gone, n.Drained, n.Capacity = true, true, amounts{}
		g.apply(api.RemoveNode{ID: id})
	}
}

// changePod changes what a pod has, or has its application go.
func (g *game) changePod(c *change) {
	p := g.w.pod(c.Pod)
	if p == nil || p.Foreign != api.Own || p.Group != "" || g.leaving(p.Key) || !g.waits[p.Key] && g.on[p.Key] == "" {
		return
	}
	if c.Verb == "leave" {
		for i := range g.w.Pods {
			if other := &g.w.Pods[i]; other.application() == p.application() && (g.waits[other.Key] || g.on[other.Key] != "") {
				g.release(other.Key, si.TerminationType_STOPPED_BY_RM)
			}
		}
		return
	}
	before := p.Amounts[0]
	if p.Amounts[0] = max(1, c.Capacity[0]/2); p.Amounts[0] > before && g.on[p.Key] != "" {
		g.grown = append(g.grown, grownPod{p.Queue, g.now.Sub(start)})
	}
	a := g.w.allocation(p)
	a.Node = api.NodeID(g.on[p.Key])
	g.apply(api.AddAllocation{Allocation: a})
}

// changedSince reports whether something was changed since a moment that is more than pods that
// come and go.
func (g *game) changedSince(since time.Duration) bool {
	for i, done := range g.done {
		if done && since <= time.Duration(g.w.Changes[i].At)*time.Second {
			return true
		}
	}
	return g.lowered && since <= time.Duration(g.w.Lowered.At)*time.Second
}

// endByThemselves releases what has run for as long as it does. Equal ones come again.
func (g *game) endByThemselves() {
	at := int(g.now.Sub(start) / time.Second)
	for i := range g.w.Pods {
		p := &g.w.Pods[i]
		if end, ok := g.ends[p.Key]; !ok || end.After(g.now) {
			continue
		}
		g.release(p.Key, si.TerminationType_STOPPED_BY_RM)
		if p.Again && at < g.w.End {
			g.comeAgain(p, at)
		}
	}
}

// comeAgain has an equal ask take the place of a pod in the list. One that was evicted stays
// there, as evictions tell of it.
func (g *game) comeAgain(p *pod, at int) {
	next, _, _ := strings.Cut(p.Key, "x")
	g.again++
	next = fmt.Sprint(next, "x", g.again)
	p.Key, p.Node, p.At, p.Age = next, "", at, 0
}

// changes makes up what happens while a world is played. It comes after everything else, so that
// the worlds are otherwise as they were.
func (m *maker) changes() {
	verbs := []string{"drain", "undrain", "remove", "add", "resize", "fail", "restart", "allow", "become", "leave"}
	for range 1 + m.IntN(4) {
		c := change{At: m.IntN(150), Verb: verbs[m.IntN(len(verbs))], Node: m.w.Nodes[m.IntN(len(m.w.Nodes))].Name}
		c.Capacity, c.Pod, c.Rule = m.amounts(3, 10, 5), m.w.Pods[m.IntN(len(m.w.Pods))].Key, m.IntN(3)
		if c.Verb == "allow" && len(m.w.Rules) == 0 || (c.Verb == "fail" || c.Verb == "become" || c.Verb == "leave") && m.w.pod(c.Pod).Foreign != api.Own {
			continue
		}
		m.w.Changes = append(m.w.Changes, c)
	}
	slices.SortStableFunc(m.w.Changes, func(a, b change) int { return a.At - b.At })
}
