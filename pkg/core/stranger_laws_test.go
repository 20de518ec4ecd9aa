package core_test

import (
	"fmt"

	"github.com/narwhal-scheduler/narwhal/pkg/core"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// strangerFits says whether free covers amounts, kind by kind.
func strangerFits(amounts, free resources.Amounts) bool {
	for k := range amounts {
		if amounts[k] > 0 && amounts[k] > free.Of(resources.Kind(k)) {
			return false
		}
	}
	return true
}

// withinQuota says whether all queues above an ask have room, and which has not.
// Beside is what is kept in queues for others.
func (w *strangerWorld) withinQuota(a *core.Allocation, beside map[core.QueuePath]resources.Amounts) (core.QueuePath, bool) {
	for _, q := range strangerLineage(w.books.queueOf[a.Application]) {
		limits, used := w.limits[q], w.books.used[q].Plus(beside[q])
		for k := range a.Amounts {
			kind := resources.Kind(k)
			most := limits.Of(kind)
			if a.Amounts[k] > 0 && (used.Of(kind) > most || a.Amounts[k] > most-used.Of(kind)) {
				return q, false
			}
		}
	}
	return "", true
}

// safe checks a placement before it is booked.
func (w *strangerWorld) safe(a *core.Allocation) {
	n := w.books.nodes[a.Node]
	strangerMust(n != nil, "%s is placed on the unknown node %s", a.Key, a.Node)
	free := n.capacity.Minus(n.used).Minus(n.occupied)
	strangerMust(strangerFits(a.Amounts, free), "%s with %v is placed on %s with %v free", a.Key, a.Amounts, a.Node, free)
	ask := w.books.asks[a.Key]
	strangerMust(ask != nil, "%s is placed and did not wait", a.Key)
	strangerMust(ask.Required == "" || ask.Required == a.Node, "%s requires %s and is placed on %s", a.Key, ask.Required, a.Node)
	strangerMust(n.open || ask.Required == a.Node, "%s is placed on the drained node %s", a.Key, a.Node)
	q, ok := w.withinQuota(a, nil)
	strangerMust(ok, "%s with %v is placed above the max %v of %s, which uses %v", a.Key, a.Amounts, w.limits[q], q, w.books.used[q])
	class := w.manager.classOf[a.Key]
	strangerMust(w.manager.answer(class, a.Node) == nil, "%s of class %s is placed on %s, which is refused", a.Key, class, a.Node)
	for other := range n.reserved {
		if other == a.Key || w.books.asks[other].Required != "" || ask.Required != "" {
			continue
		}
		same := w.books.asks[other].Amounts.Equal(a.Amounts)
		strangerMust(same || w.rank(a) > w.rank(w.books.asks[other]) || !w.oneScale(), "%s is placed on %s, which is kept for %s", a.Key, a.Node, other)
	}
}

func (w *strangerWorld) rank(a *core.Allocation) int32 { return a.Priority }

// oneScale says whether priorities mean the same in all queues.
func (w *strangerWorld) oneScale() bool {
	var plain func(q core.QueueConfig) bool
	plain = func(q core.QueueConfig) bool {
		if q.Properties.PriorityFence || q.Properties.PriorityOffset != 0 {
			return false
		}
		for _, c := range q.Queues {
			if !plain(c) {
				return false
			}
		}
		return true
	}
	return plain(w.config.Root)
}

func (w *strangerWorld) ignoresPriority(path core.QueuePath) bool {
	q, rest := w.config.Root, strangerLineage(path)
	if q.Properties.IgnorePriority {
		return true
	}
	for i := len(rest) - 2; i >= 0; i-- {
		found := false
		for _, c := range q.Queues {
			if "root."+core.QueuePath(c.Name) == rest[i] || len(rest[i]) > len(c.Name) && string(rest[i][len(rest[i])-len(c.Name)-1:]) == "."+c.Name {
				q, found = c, true
				break
			}
		}
		if !found || q.Properties.IgnorePriority {
			return true
		}
	}
	return false
}

// ordered checks that nothing that comes first was passed over.
func (w *strangerWorld) ordered(a *core.Allocation) {
	if !w.features.Books || w.promised[a.Key] || a.Required != "" || w.failed[a.Key] {
		return
	}
	class, queue := w.manager.classOf[a.Key], w.books.queueOf[a.Application]
	highest := a.Priority // of the application, by which it stands among the others
	for _, o := range w.books.asks {
		if o.Application == a.Application {
			highest = max(highest, o.Priority)
		}
	}
	for _, o := range w.books.asks {
		if o.Key == a.Key || o.Required != "" || w.failed[o.Key] || w.promised[o.Key] {
			continue
		}
		other := w.manager.classOf[o.Key]
		if o.Application == a.Application && o.Amounts.Equal(a.Amounts) && o.Priority == a.Priority && o.Created.Before(a.Created) && (other == "" || other == class && w.features.Constraints) && !w.manager.refused[other] && !w.paced(other) {
			strangerFail("%s of %v is placed before the older %s of %v, class %s: %s", a.Key, a.Created, o.Key, o.Created, class, w.reason(o.Key))
		}
		if o.Application != a.Application && o.Priority <= highest {
			continue
		}
		if w.books.queueOf[o.Application] != queue || o.Priority <= a.Priority || w.ignoresPriority(queue) || len(w.books.nominated)+len(w.books.reserved) > 0 || w.manager.refused[other] || w.features.Duty || w.features.Rate > 0 {
			continue
		}
		if w.open(o, a.Node) == "" && w.manager.answer(other, a.Node) == nil && !w.heldBack() {
			if _, ok := w.withinQuota(o, w.nominatedSums()); ok {
				strangerFail("%s of priority %d is placed on %s before %s of %d: %s, quotas %v", a.Key, a.Priority, a.Node, o.Key, o.Priority, w.reason(o.Key), w.limits)
			}
		}
	}
}

func (w *strangerWorld) heldBack() bool { return !w.manager.held.Before(w.now) }

// nominatedSums is what queues keep for nominated asks.
func (w *strangerWorld) nominatedSums() map[core.QueuePath]resources.Amounts {
	sums := map[core.QueuePath]resources.Amounts{}
	for key := range w.books.nominated {
		a := w.books.asks[key]
		for _, q := range strangerLineage(w.books.queueOf[a.Application]) {
			sum := sums[q]
			sum.Add(a.Amounts)
			sums[q] = sum
		}
	}
	return sums
}

// open says why a node is closed to an ask, or nothing.
func (w *strangerWorld) open(a *core.Allocation, id core.NodeID) string {
	n := w.books.nodes[id]
	switch {
	case n == nil:
		return "unknown"
	case a.Required != "" && a.Required != id:
		return "another one is required"
	case a.Required == "" && !n.open:
		return "drained"
	case !strangerFits(a.Amounts, n.capacity.Minus(n.used).Minus(n.occupied).Minus(n.promised)):
		return "full"
	}
	for other := range n.reserved {
		if other != a.Key {
			return "reserved"
		}
	}
	return ""
}

// live checks that what fits runs. It is called when Schedule says no more: everything
// that was never refused must have been tried by then, and if waited is set everything.
func (w *strangerWorld) live(waited bool) {
	if !waited && !w.features.Books {
		return
	}
	var nominated map[core.QueuePath]resources.Amounts
	done := map[string]bool{}
	for _, a := range w.books.asks {
		class := w.manager.classOf[a.Key]
		if w.books.nominated[a.Key] != "" || !waited && (w.failed[a.Key] || w.manager.refused[class] || w.paced(class)) {
			continue
		}
		same := fmt.Sprint(class, a.Amounts, w.books.queueOf[a.Application], a.Required, w.books.reserved[a.Key])
		if done[same] {
			continue
		}
		done[same] = true
		if nominated == nil {
			nominated = w.nominatedSums()
		}
		if _, ok := w.withinQuota(a, nominated); !ok {
			continue
		}
		w.checked++
		for id := range w.books.nodes {
			if w.open(a, id) == "" && w.manager.answer(class, id) == nil {
				strangerFail("at %v: %s of class %q with %v waits, and fits %s with %v free (waited %v): %s", w.now.Unix(), a.Key, class, a.Amounts, id,
					w.books.nodes[id].capacity.Minus(w.books.nodes[id].used).Minus(w.books.nodes[id].occupied), waited, w.reason(a.Key))
			}
		}
	}
}

// paced says whether questions about a class are held back at times.
func (w *strangerWorld) paced(class string) bool {
	return (w.features.Refuses || w.features.Solo) && (w.features.Duty || w.features.Rate > 0 || w.heldBack())
}

func (w *strangerWorld) reason(key core.AllocationKey) string {
	for _, app := range w.p.View().Applications {
		for _, a := range app.Asks {
			if a.Key == key && a.Waiting != nil {
				return fmt.Sprint(a.Waiting.Reason, ": ", a.Waiting.Detail)
			}
		}
	}
	return "unknown"
}
