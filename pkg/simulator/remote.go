package simulator

import (
	"cmp"
	"time"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
)

// A Remote is the cluster of a scenario before a scheduler at the other end of a
// connection. It is the cluster that Run plays with; where that has a partition, commands go
// out here and events come in. Both are under way for a while and may cross: see
// crossing.go.
//
// Its caller says what time it is, and calls it from one goroutine at a time.
type Remote struct {
	cluster   *cluster
	restarted bool // since Restarted was called
	over      bool // it has not ended in time, which was told
}

// NewRemote makes the cluster. A seed of zero is that of the scenario, which is not
// changed. CheckQueues has found it to be in order.
func NewRemote(s *Scenario, seed uint64) *Remote {
	c := newCluster(s, cmp.Or(seed, s.Seed, 1))
	// The reason why a pod was given up is for the summary of a run.
	c.pods.explain = func(*pod) pendingReason { return pendingReason{} }
	r := &Remote{cluster: c}
	c.anew, c.adopts = func() { r.restarted = true }, true
	c.build()
	c.startWork()
	return r
}

// Advance lets happen what is due, each at its own time even if that is a little late. It
// returns what the scheduler must be sent, in order, and the time at which to come again. Where
// that is not after now, the scenario is over.
func (r *Remote) Advance(now time.Duration) (commands []api.Command, next time.Duration) {
	c, until := r.cluster, max(r.cluster.scenario.Until, r.cluster.scenario.Ends)
	limited := until > 0
	at, planned := c.events.next()
	for ; planned && at <= now && !(limited && at > until); at, planned = c.events.next() {
		c.setTime(at)
		for _, e := range c.events.take(at) {
			e.do()
		}
	}
	switch {
	case limited && (!planned || at > until):
		at = until
	case !planned:
		at = c.now + c.scenario.quiet() // something may come of what is under way
	}
	if limited && at <= now && !r.over {
		if left := c.unfinished(); left != nil {
			r.over = true
			c.breach("%w", left)
		}
	}
	commands, c.inbox = c.inbox, nil
	return commands, at
}

// Restarted reports whether the scheduler began anew since the last call. It registers the cluster again
// then, before it is sent what Advance returned.
func (r *Remote) Restarted() bool {
	restarted := r.restarted
	r.restarted = false
	return restarted
}

// Changes is how many changes of limits there were so far.
func (r *Remote) Changes() int { return r.cluster.changes }

// Observe takes in what the scheduler did.
func (r *Remote) Observe(now time.Duration, event api.Event) {
	r.cluster.setTime(now)
	if !r.cluster.crossed(event) {
		r.cluster.deliver(api.Effects{event})
	}
	r.cluster.preemption.step.clear() // only the summary of a run needs it
}

// Breach is the first thing since the last call that the scheduler must not do, and which was
// left out; nil if there was none.
func (r *Remote) Breach() error {
	err := r.cluster.broken
	r.cluster.broken = nil
	return err
}

// Has reports whether a pod is there, waiting or placed. Foreign pods do not count.
func (r *Remote) Has(key api.AllocationKey) bool { return r.cluster.pods.byKey[key] != nil }

// Ending reports whether a placed pod, or a foreign one, ends to make room.
func (r *Remote) Ending(key api.AllocationKey) bool {
	pod, foreign := r.cluster.pods.byKey[key], r.cluster.foreign.byKey[key]
	return pod != nil && pod.releasing || foreign != nil && foreign.releasing
}

// Nominated is the node to which a pod is nominated, or nothing.
func (r *Remote) Nominated(key api.AllocationKey) api.NodeID {
	if p := r.cluster.pods.byKey[key]; p != nil {
		return p.nominated
	}
	return ""
}

// Feasible answers whether a pod may run on a node now; see api.Options.
func (r *Remote) Feasible(key api.AllocationKey, id api.NodeID) error {
	return r.cluster.feasible(key, id, true)
}

// Simulate answers whether a pod may run on a node to which pods were added and from which
// others were taken away.
func (r *Remote) Simulate(key api.AllocationKey, id api.NodeID, add, remove []api.AllocationKey) error {
	return r.cluster.simulate(key, id, add, remove)
}

// PredicateClass names the pods that get the same answers as a pod; empty for a pod that is
// not known.
func (r *Remote) PredicateClass(key api.AllocationKey) string { return r.cluster.predicateClass(key) }

// Budgets are the disruption budgets, with those of the pods that count for each.
func (r *Remote) Budgets(keys []api.AllocationKey) []api.DisruptionBudget {
	return r.cluster.allowances(keys)
}
