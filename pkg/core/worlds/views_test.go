package worlds

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// candidatesTried is how many candidates every set is tried of.
const candidatesTried = 14

// A restChecker looks at a partition in which nothing is on its way, and says of which ask the law
// "feasible means done" is broken. It knows what a view says, and nothing else.
type restChecker struct {
	view   *api.View
	now    time.Time
	oracle *oracle
	counts map[string]int // what was looked at
}

// newRestChecker is nil where a view has what the oracle does not know.
func newRestChecker(view *api.View, now time.Time) *restChecker {
	w := &world{
		Priority: view.Config.Preemption.Priority, Policy: view.Config.Preemption.Budgets, KeepsForeign: view.Config.Preemption.RequiredNode.SpareForeign,
	}
	c := &restChecker{view: view, now: now, counts: map[string]int{}, oracle: &oracle{
		w: w, on: map[string]string{}, used: map[string]amounts{}, free: map[string]amounts{},
		leaves: map[string]bool{}, settled: map[string]bool{},
	}}
	if len(view.Root.Max) > 0 || !c.addQueues(view.Root) {
		return nil
	}
	queues := map[api.ApplicationID]string{}
	for _, app := range view.Applications {
		queues[app.ID] = strings.TrimPrefix(string(app.Queue), "root.")
		for i := range app.Asks {
			w.Pods = append(w.Pods, viewedPod(app.Asks[i].Allocation, queues[app.ID]))
		}
	}
	for _, n := range view.Nodes {
		w.Nodes = append(w.Nodes, node{Name: string(n.ID), Capacity: countedAmounts(n.Capacity), Drained: !n.Schedulable})
		c.oracle.free[string(n.ID)] = countedAmounts(n.Capacity)
		for _, a := range slices.Concat(n.Allocations, n.ForeignAllocations) {
			w.Pods = append(w.Pods, viewedPod(a, queues[a.Application]))
		}
		for _, e := range n.Evictions {
			c.oracle.leaves[string(e.Key)] = true
		}
	}
	for i := range w.Pods {
		if p := &w.Pods[i]; p.Node != "" {
			c.oracle.on[p.Key] = p.Node
			c.oracle.running = append(c.oracle.running, p)
			c.oracle.book(p, p.Node)
		}
	}
	for _, n := range view.Nodes {
		for _, a := range n.Allocations {
			c.oracle.settled[string(a.Key)] = a.Settled
		}
	}
	return c
}

// addQueues adds the queues below one. A max of zero means to the oracle that there is none.
func (c *restChecker) addQueues(above *api.QueueView) bool {
	for _, q := range above.Queues {
		most := amounts{}
		for k := range most {
			if limit := q.Max.Of(resources.Kind(k)); limit == 0 {
				return false
			} else if limit < resources.Unlimited {
				most[k] = int(limit)
			}
		}
		c.oracle.w.Queues = append(c.oracle.w.Queues, queue{
			Name: strings.TrimPrefix(string(q.Path), "root."), Guaranteed: countedAmounts(q.Guaranteed), Max: most,
			Policy: q.Properties.PreemptionPolicy, Fence: q.Properties.PriorityFence, Offset: int(q.Properties.PriorityOffset),
		})
		if !c.addQueues(q) {
			return false
		}
	}
	return true
}

// countedAmounts are amounts of the first kinds, as they are counted.
func countedAmounts(a resources.Amounts) (counted amounts) {
	for k := range counted {
		counted[k] = int(a.Of(resources.Kind(k)))
	}
	return counted
}

func viewedPod(a *api.Allocation, queue string) pod {
	p := pod{
		Key: string(a.Key), Queue: queue, Node: string(a.Node), Amounts: countedAmounts(a.Amounts), Priority: int(a.Priority), Foreign: a.Origin,
		Owner: a.Originator, OptedOut: a.Preemptable.Stated && !a.Preemptable.AllowSelf, Polite: a.Preemptable.Stated && !a.Preemptable.AllowOthers,
	}
	if p.Requires = string(a.Required); p.Node != "" {
		p.Requires, p.Required = "", p.Requires != ""
	}
	return p
}

// check is the first ask for which there is room, or lawful victims.
func (c *restChecker) check() error {
	pods := c.oracle.w.Pods
	for _, app := range c.view.Applications {
		for i := range app.Asks {
			ask := &app.Asks[i]
			at := slices.IndexFunc(pods, func(p pod) bool {
				return p.Node == "" && p.Key == string(ask.Key) && p.Queue == strings.TrimPrefix(string(app.Queue), "root.")
			})
			if !c.isTried(app, ask) {
				c.counts["not tried"]++
				continue
			}
			c.counts["asks"]++
			if err := c.checkAsk(&pods[at], ask); err != nil {
				return err
			}
		}
	}
	return nil
}

// isTried reports whether an ask is tried on its own, and nothing but room and quota is missing.
func (c *restChecker) isTried(app *api.ApplicationView, ask *api.AskView) bool {
	_, quorum := ask.Tags[api.TagQuorum]
	return !app.BackoffUntil.After(c.now) && !quorum && app.Gang == nil && ask.TaskGroup == "" && !ask.Placeholder
}

func (c *restChecker) checkAsk(ask *pod, waits *api.AskView) error {
	for _, t := range triggersOf(ask) {
		for i, n := range c.view.Nodes {
			kept := slices.ContainsFunc(n.Reservations, func(r api.Reservation) bool { return r.Key != waits.Key })
			hangs := len(n.Evictions) > 0
			place, ok := c.oracle.place(ask, &c.oracle.w.Nodes[i], t)
			if !ok || kept || hangs {
				continue
			}
			candidates := 0
			for _, v := range c.oracle.running {
				candidates += count(c.oracle.candidate(&place, v))
			}
			if candidates > candidatesTried {
				c.counts["too many"]++
				continue
			}
			c.counts["places"]++
			victims, found := c.oracle.victims(&place)
			spared := len(victims) > 0 && (ask.Polite || c.view.Config.Preemption.Disabled)
			if found && !spared {
				return fmt.Errorf("%s waits (%s %s), and by %v on %s it could run: without %s", ask.Key, waits.Reason, waits.Detail, t, n.ID, keysOf(victims))
			}
			c.counts["none"] += count(!found && candidates > 0)
		}
	}
	return nil
}
