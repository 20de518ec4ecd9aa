package worlds

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/core/preemptor"
)

// A oracle tries every set of victims on what runs at one moment. It is
// written against docs/preemption.md. Where that can be read in two ways, it takes the
// one that makes fewer sets of victims lawful.
type oracle struct {
	w       *world
	running []*pod
	on      map[string]string
	used    map[string]amounts // by queue
	free    map[string]amounts // by node
	ended   map[string]int     // members of a budget that were evicted and have ended
	leaves  map[string]bool    // what is being evicted
	overdue map[string]bool    // what was evicted and did not end in time
	stays   map[string]bool    // placeholders whose place an ask has
	limits  []amounts          // what counts for each limit
	settled map[string]bool    // what has taken the place of an equal, and keeps it against equals
}

// oracle is of what runs now. What is being evicted still runs.
func (g *game) oracle() *oracle {
	o := &oracle{
		w: g.w, on: g.on, used: map[string]amounts{}, free: map[string]amounts{}, ended: map[string]int{}, limits: make([]amounts, len(g.w.Limits)),
		leaves: map[string]bool{}, overdue: map[string]bool{}, stays: map[string]bool{}, settled: maps.Clone(g.restored),
	}
	for _, n := range g.w.Nodes {
		o.free[n.Name] = n.Capacity
	}
	for _, e := range g.evictions {
		o.leaves[e.Victim] = !e.Ended
		o.overdue[e.Victim] = !e.Ended && g.now.Sub(start) >= e.At+evictionTimeout
		if !e.Forgot && e.Trigger == preemptor.Priority && o.compare(g.w.pod(e.For), g.w.pod(e.Victim)) == 0 {
			o.settled[e.For] = true
		}
	}
	for key := range g.dismissed {
		o.leaves[key] = true
	}
	for key, ask := range g.replaced {
		o.stays[key] = ask != ""
	}
	for _, b := range g.w.Budgets {
		for _, e := range g.evictions {
			if e.Ended && slices.Contains(b.Members, e.Victim) {
				o.ended[b.Name]++
			}
		}
	}
	for i := range g.w.Pods {
		p := &g.w.Pods[i]
		if g.on[p.Key] == "" {
			continue
		}
		o.running = append(o.running, p)
		o.book(p, g.on[p.Key])
	}
	return o
}

// frozen is the same for later: what runs may change.
func (o *oracle) frozen() *oracle {
	o.on = maps.Clone(o.on)
	return o
}

// leaving are the pods that are being evicted.
func (o *oracle) leaving() (list []*pod) {
	for _, p := range o.running {
		if o.leaves[p.Key] {
			list = append(list, p)
		}
	}
	return list
}

// commonQueue is the lowest queue above two queues; empty is root.
func commonQueue(a, b string) string {
	for _, q := range pathOf(a) {
		if within(b, q) {
			return q
		}
	}
	return ""
}

// priority is that of a pod as a queue above it sees it.
func (o *oracle) priority(p *pod, above string) int {
	priority := p.Priority
	for _, name := range pathOf(p.Queue) {
		if name == above {
			break
		}
		q := o.w.queue(name)
		if q.Fence {
			priority = 0
		}
		priority += q.Offset
	}
	return priority
}

// compare compares two pods as the lowest queue above both sees them.
func (o *oracle) compare(a, b *pod) int {
	above := commonQueue(a.Queue, b.Queue)
	return cmp.Compare(o.priority(a, above), o.priority(b, above))
}

// isProtected reports whether preemption is disabled for a queue, or above it and no queue
// between has a policy of its own.
func (o *oracle) isProtected(queue string) bool {
	for _, q := range pathOf(queue) {
		if policy := o.w.queue(q).Policy; policy != api.PreemptionDefault {
			return policy == api.PreemptionDisabled
		}
	}
	return false
}

// fence is the lowest queue above the ask in which it must find its victims.
func (o *oracle) fence(queue string) string {
	for _, q := range pathOf(queue) {
		if o.w.queue(q).Policy == api.PreemptionFence {
			return q
		}
	}
	return ""
}

// A place is what an ask needs on one node.
type place struct {
	ask     *pod
	trigger preemptor.Trigger
	node    string
	short   amounts           // what the node lacks
	quota   []lack            // what the queues above the ask lack, the lowest first
	lacking [3]bool           // the kinds that any of them lacks
	within  func(v *pod) bool // which candidates count; nil is all
	must    []*pod            // what has to end because of conflicts
	never   []*pod            // what has to stay because the ask needs it
	// guards says that guarantees are kept though the ask requires the node.
	guards bool
}

type lack struct {
	queue string
	short amounts
}

// place is what the ask needs on a node, or false if it can never run there.
func (o *oracle) place(ask *pod, node *node, t preemptor.Trigger) (p place, ok bool) {
	p = place{ask: ask, trigger: t, node: node.Name}
	free := o.free[node.Name]
	for k, amount := range ask.Amounts {
		if amount > 0 && amount > free[k] {
			p.short[k], p.lacking[k] = amount-free[k], true
		}
	}
	for _, q := range pathOf(ask.Queue) {
		l := lack{queue: q}
		for k, most := range o.w.queue(q).Max {
			if most > 0 && ask.Amounts[k] > 0 && o.used[q][k]+ask.Amounts[k] > most {
				l.short[k], p.lacking[k] = o.used[q][k]+ask.Amounts[k]-most, true
			}
		}
		if l.short != (amounts{}) {
			p.quota = append(p.quota, l)
		}
	}
	for _, r := range o.w.Rules {
		other := r.Other
		if r.Verb == "conflict" && r.Other == ask.Key {
			other = r.Pod
		} else if r.Pod != ask.Key {
			continue
		}
		here := o.on[other] == node.Name
		switch {
		case r.Verb == "refuse" && r.Other == node.Name, r.Verb == "need" && !here:
			return p, false
		case r.Verb == "need":
			p.never = append(p.never, o.w.pod(other))
		case r.Verb == "conflict" && here:
			p.must = append(p.must, o.w.pod(other))
		}
	}
	return p, !o.limited(ask) && o.mayRunIn(ask, node.Name) && (ask.Requires == node.Name || ask.Requires == "" && !node.Drained)
}

// candidate reports whether a pod may be a victim at all.
func (o *oracle) candidate(p *place, v *pod) bool {
	if v.Foreign != api.Own && !o.endable(p, v) || o.leaves[v.Key] || o.stays[v.Key] || v.Required || v.Requires != "" || v == p.ask || o.isProtected(v.Queue) ||
		!within(v.Queue, o.fence(p.ask.Queue)) || slices.Contains(p.never, v) && o.on[v.Key] == p.node {
		return false
	}
	elsewhere := o.on[v.Key] != p.node
	if elsewhere && !slices.ContainsFunc(p.quota, func(l lack) bool { return within(v.Queue, l.queue) }) {
		return false
	}
	above := commonQueue(v.Queue, p.ask.Queue)
	mine, its := o.priority(p.ask, above), o.priority(v, above)
	switch p.trigger {
	case preemptor.Priority:
		return o.w.Priority == api.StrictlyLower && its < mine ||
			o.w.Priority == api.EqualToo && (its < mine || its == mine && !o.settled[v.Key])
	case preemptor.Guarantee:
		useful := false
		for k := range v.Amounts {
			useful = useful || p.lacking[k] && v.Amounts[k] > 0
		}
		return v.Queue != p.ask.Queue && its <= mine && useful && o.claim(p, above)
	default:
		return !elsewhere && (its < mine || its == mine && v.Foreign == api.Own) && v.Priority <= p.ask.Priority
	}
}

// configured reports whether any queue is configured for a kind.
func (o *oracle) configured(k int) bool {
	return slices.ContainsFunc(o.w.Queues, func(q queue) bool { return q.Guaranteed[k] > 0 || q.Max[k] > 0 })
}

// claim reports whether the ask stays within what is guaranteed to it below a queue,
// in every kind that is short or guaranteed. A kind that is configured nowhere does
// not count.
func (o *oracle) claim(p *place, above string) bool {
	some := false
	for k, amount := range p.ask.Amounts {
		if amount == 0 {
			continue
		}
		named := false
		for _, q := range pathOf(p.ask.Queue) {
			if q == above {
				break
			}
			guaranteed := o.w.queue(q).Guaranteed[k]
			if guaranteed > 0 && o.used[q][k]+amount > guaranteed {
				return false
			}
			named = named || guaranteed > 0
		}
		some = some || named
		if p.lacking[k] && !named && o.configured(k) {
			return false
		}
	}
	return some
}

// keeps reports whether guarantees and, where they are hard, budgets are kept.
func (o *oracle) keeps(p *place, victims []*pod) bool {
	for _, q := range o.w.Queues {
		guards := p.trigger != preemptor.RequiredNode || p.guards
		if guards && !within(p.ask.Queue, q.Name) && o.breaks(q.Name, victims) != [3]bool{} {
			return false
		}
	}
	return !slices.ContainsFunc(o.w.Budgets, func(b budget) bool { return !o.keepsBudget(b, victims) })
}

// breaks are the kinds in which victims, together with what is being evicted, would
// leave a queue with less than is guaranteed to it. What is evicted may have done so already.
func (o *oracle) breaks(queue string, victims []*pod) (kinds [3]bool) {
	sum := func(pods []*pod) (held amounts) {
		for _, v := range pods {
			if within(v.Queue, queue) {
				held = held.plus(v.Amounts, 1)
			}
		}
		return held
	}
	held := sum(victims)
	taken := held.plus(sum(o.leaving()), 1)
	for k, guaranteed := range o.w.queue(queue).Guaranteed {
		kinds[k] = guaranteed > 0 && held[k] > 0 && o.used[queue][k]-taken[k] < guaranteed
	}
	return kinds
}

// keepsBudget reports whether victims keep a budget together with what is being
// evicted, where budgets are hard.
func (o *oracle) keepsBudget(b budget, victims []*pod) bool {
	counts := func(v *pod) bool { return slices.Contains(b.Members, v.Key) }
	count := 0
	for _, v := range append(o.leaving(), victims...) {
		if counts(v) {
			count++
		}
	}
	return o.w.Policy != preemptor.HardBudgets || !slices.ContainsFunc(victims, counts) || o.ended[b.Name]+count <= b.Allowed
}

// enough reports whether the ask fits once the victims have ended.
func (o *oracle) enough(p *place, victims []*pod) bool {
	short := p.short
	for _, v := range victims {
		if o.on[v.Key] == p.node {
			short = short.plus(v.Amounts, -1)
		}
	}
	for _, l := range p.quota {
		for _, v := range victims {
			if within(v.Queue, l.queue) {
				l.short = l.short.plus(v.Amounts, -1)
			}
		}
		for k := range l.short {
			if l.short[k] > 0 {
				return false
			}
		}
	}
	for _, v := range p.must {
		if !slices.Contains(victims, v) {
			return false
		}
	}
	return short[0] <= 0 && short[1] <= 0 && short[2] <= 0
}

// victims is a lawful set that makes room at a place and of which none can be left
// out, if there is one.
func (o *oracle) victims(p *place) ([]*pod, bool) {
	if o.enough(p, nil) {
		return nil, true
	}
	var candidates []*pod
	for _, v := range o.running {
		if o.candidate(p, v) && (p.within == nil || p.within(v)) {
			candidates = append(candidates, v)
		}
	}
	if !o.enough(p, candidates) {
		return nil, false
	}
	chosen, ok := o.search(p, nil, candidates)
	for i := 0; ok && i < len(chosen); {
		fewer := slices.Delete(slices.Clone(chosen), i, i+1)
		if o.enough(p, fewer) {
			chosen = fewer
		} else {
			i++
		}
	}
	return chosen, ok
}

// search tries all sets of the candidates beside those chosen.
func (o *oracle) search(p *place, chosen, candidates []*pod) ([]*pod, bool) {
	if o.enough(p, chosen) {
		return slices.Clone(chosen), true
	}
	if len(candidates) == 0 || !o.enough(p, append(slices.Clone(chosen), candidates...)) {
		return nil, false
	}
	with := append(slices.Clone(chosen), candidates[0])
	if o.keeps(p, with) {
		if found, ok := o.search(p, with, candidates[1:]); ok {
			return found, true
		}
	}
	return o.search(p, chosen, candidates[1:])
}

func keysOf(pods []*pod) string {
	var keys []string
	for _, p := range pods {
		keys = append(keys, p.Key)
	}
	return strings.Join(keys, " ")
}
