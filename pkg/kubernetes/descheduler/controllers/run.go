package controllers

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/tools/cache"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/drain"
)

// Run implements framework.ControllerPlugin. It begins with all nodes that have a problem, or say that they are
// drained, since it may have been stopped in the middle of that.
func (n *nodeProblem) Run(ctx context.Context) error {
	defer n.forget()
	for _, s := range n.sources() {
		registration, err := s.AddEventHandler(s.handler)
		if err != nil {
			return fmt.Errorf("events: %w", err)
		}
		defer func() { _ = s.RemoveEventHandler(registration) }() // it fails only if the informer has stopped
		if !cache.WaitForCacheSync(ctx.Done(), registration.HasSynced) {
			return nil
		}
	}
	wait := n.args.RetryPeriod.Duration
	for {
		if !n.rest(ctx, n.pace.ReserveN(n.handle.Clock().Now(), 1).DelayFrom(n.handle.Clock().Now())) {
			return nil
		}
		k := n.turn(ctx)
		if k.evicted {
			wait = n.args.RetryPeriod.Duration
		}
		for again := true; again; {
			event, ok := n.wait(ctx, k.again, k.patience(n.handle.Clock().Now(), wait))
			switch {
			case !ok:
				return nil
			case event:
				wait = n.args.RetryPeriod.Duration
			case len(k.limited) == 0: // a limit is a matter of time
				wait = max(wait, min(2*wait, retryMax))
			}
			again = !event && !n.mayGo(k)
		}
	}
}

// forget begins anew: what is known is on the nodes.
func (n *nodeProblem) forget() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.drains = map[string]*draining{}
	n.look, n.problems, n.states = map[string]bool{}, map[string]*problem{}, map[string]drain.Status{}
}

// Preview implements framework.Previewer: it is the first turn.
func (n *nodeProblem) Preview(ctx context.Context) error {
	all, err := n.nodes.List(labels.Everything())
	if err != nil {
		return fmt.Errorf("listing nodes: %w", err)
	}
	for _, node := range all {
		n.seen(node)
	}
	n.turn(ctx)
	return nil
}

// retryMax is the longest time until pods are tried again, unless RetryPeriod is longer.
const retryMax = 5 * time.Minute

// rest waits for a while, and returns false when the context has ended.
func (n *nodeProblem) rest(ctx context.Context, d time.Duration) bool {
	if d <= 0 {
		return ctx.Err() == nil
	}
	timer := n.handle.Clock().NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C():
		return true
	}
}

// A kept is what is left after a turn.
type kept struct {
	again   bool      // drains have not come to their end
	limited []*v1.Pod // pods that a limit keeps
	heard   uint64    // how many events there had been
	evicted bool      // another pod was
	failed  bool      // a node could not be written
	polls   bool      // a pod group was read, of which no events are heard
	due     time.Time // when there is to be another turn, though nothing happens; zero: never
}

// until asks for another turn at a time, though nothing happens.
func (k *kept) until(at time.Time) {
	if k.due.IsZero() || at.Before(k.due) {
		k.due = at
	}
}

// patience is how long to wait, if nothing happens, for at most so long.
func (k *kept) patience(now time.Time, most time.Duration) time.Duration {
	if !k.due.After(now) {
		return most
	}
	return min(most, k.due.Sub(now))
}

// mayGo says whether a pod that was kept may go now, without a look at the cluster: a limit lets it go,
// or something has happened.
func (n *nodeProblem) mayGo(k *kept) bool {
	n.mu.Lock()
	heard := n.heard
	n.mu.Unlock()
	due := !k.due.IsZero() && !k.due.After(n.handle.Clock().Now())
	return due || k.failed || k.polls || heard != k.heard || slices.ContainsFunc(k.limited, func(pod *v1.Pod) bool { return n.handle.Evictor().Full(pod) == nil })
}

// wait returns when there is something to do, and whether an event said so; false when the context has
// ended.
func (n *nodeProblem) wait(ctx context.Context, retry bool, after time.Duration) (event, ok bool) {
	var again <-chan time.Time
	if retry {
		timer := n.handle.Clock().NewTimer(after)
		defer timer.Stop()
		again = timer.C()
	}
	select {
	case <-ctx.Done():
		return false, false
	case <-n.wake:
		return true, true
	case <-again:
		return false, true
	}
}

// turn goes on with all drains that have not come to their end, in the order in which they were opened, and
// ends those whose problem is over.
func (n *nodeProblem) turn(ctx context.Context) *kept {
	r := n.take()
	k := &kept{heard: r.heard}
	for _, name := range slices.Sorted(maps.Keys(r.look)) {
		if r.problems[name] == nil {
			n.end(ctx, k, name)
		}
	}
	var due []string
	for name, p := range r.problems {
		if d := n.follow(name, p); d != nil && (d.status.State != drain.Drained || d.failed || r.look[name]) {
			due = append(due, name)
		}
	}
	if len(due) > 0 {
		slices.SortFunc(due, func(a, b string) int { return n.drains[a].compare(n.drains[b]) })
		t := &turn{nodeProblem: n, snapshot: n.handle.Snapshot(), now: n.now(), kept: k}
		for _, name := range due {
			t.drain(ctx, n.drains[name])
		}
	}
	n.publish(k)
	return k
}

// publish notes what others are told of.
func (n *nodeProblem) publish(k *kept) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.states = make(map[string]drain.Status, len(n.drains))
	for name, d := range n.drains {
		n.states[name] = d.status
		k.again = k.again || d.status.State != drain.Drained
	}
	k.again = k.again || k.failed
	n.keeps = k.again
}
