package descheduler

import (
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/framework"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/policy"
)

// limits counts evictions, and says which limit keeps a pod. For each kind of limit and
// each key
//
//	count <= limit, unless the limit was lowered since
//
// Evictions that controllers ask for are counted over a window that slides, all others
// from the start of the cycle; those in flight, the rate of a workload and its cool-down
// are shared. It is safe for concurrent use.
type limits struct {
	dryRun bool
	window time.Duration // of controllers, stands for a cycle

	mu       sync.Mutex
	of       policy.Limits
	ofPlugin map[string]int // by profile/plugin
	cycle    tally
	cycles   int // how many were begun
	sliding  tally
	flight   flight
	rate     map[framework.Workload][]time.Time
	coolDown coolDown
}

func newLimits(window time.Duration, dryRun bool) *limits {
	return &limits{
		dryRun:   dryRun,
		window:   window,
		cycle:    newTally(),
		sliding:  newTally(),
		flight:   newFlight(),
		rate:     map[framework.Workload][]time.Time{},
		coolDown: newCoolDown(),
	}
}

// set replaces the limits; what was counted stays.
func (l *limits) set(p *policy.Policy) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.of = p.Limits
	l.ofPlugin = map[string]int{}
	for _, profile := range p.Profiles {
		for plugin, most := range profile.Limit {
			l.ofPlugin[profile.Name+"/"+plugin] = most
		}
	}
	l.coolDown.set(p.Limits.CoolDown)
}

// begin starts the counts of a cycle. A dry run remembers nothing from one cycle to
// the next, so that each says what a real one would do now. Background are pods that
// count in every cycle.
func (l *limits) begin(background []*v1.Pod) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.cycle = newTally()
	l.cycles++
	if l.dryRun {
		l.sliding, l.flight, l.coolDown = newTally(), newFlight(), newCoolDown()
		l.coolDown.set(l.of.CoolDown)
		clear(l.rate)
	}
	for _, pod := range background {
		l.cycle.add(request{pod: pod}.keys())
	}
}

// observe brings what lasts up to date with the pods there are.
func (l *limits) observe(now time.Time, pods []*v1.Pod, reported []*v1.Pod) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.flight.observe(now, pods, reported)
	l.coolDown.observe(now, pods)
	l.sliding.expire(now.Add(-l.window))
	for w := range l.rate {
		if l.inWindow(w, now) == 0 {
			delete(l.rate, w)
		}
	}
}

// leave notes that a pod was evicted for the sake of its node.
func (l *limits) leave(now time.Time, pod *v1.Pod) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.coolDown.leave(now, pod)
}

// left says whether one of a workload was not long ago.
func (l *limits) left(at place) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	_, left := l.coolDown.left[at]
	return left
}

// inFlight returns the pods whose eviction has begun and not ended, in no order.
func (l *limits) inFlight() []types.UID {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.flight.pods()
}

// state says whether the eviction of a pod has begun, and whether that was successful.
func (l *limits) state(uid types.UID) (begun, done bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	e, begun := l.flight.entries[uid]
	return begun, begun && e.done
}

// full returns the limit that keeps the pod of a request, or nil.
func (l *limits) full(now time.Time, r request) *framework.LimitError {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.check(now, r)
}

// reserve counts a request, or returns why it is kept: a LimitError, or a RefusedError
// of a cool-down or of an eviction that has begun.
func (l *limits) reserve(now time.Time, r request) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, begun := l.flight.entries[r.pod.UID]; begun {
		return &framework.RefusedError{By: "eviction", Reason: "it is under way"}
	}
	if err := l.check(now, r); err != nil {
		return err
	}
	if err := l.coolDown.check(now, r.pod); err != nil {
		return err
	}
	keys := r.keys()
	r.group.count(keys)
	if r.controller {
		l.sliding.note(now, r.pod.UID, keys)
	} else {
		l.cycle.add(keys)
	}
	l.flight.begin(now, r.pod, keys).cycle = l.cycles
	if w, ok := framework.WorkloadOf(r.pod); ok && l.of.WorkloadRate.Max > 0 {
		l.rate[w] = append(l.rate[w], now)
	}
	return nil
}

// release takes back what reserve counted, but from another cycle, where it does not count.
func (l *limits) release(r request) {
	l.mu.Lock()
	defer l.mu.Unlock()
	e := l.flight.entries[r.pod.UID]
	switch {
	case r.controller:
		l.sliding.forget(r.pod.UID)
	case e != nil && e.cycle == l.cycles:
		l.cycle.remove(r.keys())
	}
	l.flight.end(r.pod.UID)
	if w, ok := framework.WorkloadOf(r.pod); ok && l.of.WorkloadRate.Max > 0 && len(l.rate[w]) > 0 {
		l.rate[w] = l.rate[w][:len(l.rate[w])-1]
	}
}

// commit says that what was reserved is done, or is reported as under way. Mates are the
// pods of the same workload on the same node.
func (l *limits) commit(now time.Time, r request, mates []*v1.Pod, reported bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.flight.done(now, r.pod.UID, reported)
	l.coolDown.evicted(now, r.pod, mates)
}

// check asks all limits; the caller holds the lock.
func (l *limits) check(now time.Time, r request) *framework.LimitError {
	counts := &l.cycle
	if r.controller {
		l.sliding.expire(now.Add(-l.window))
		counts = &l.sliding
	}
	for _, k := range r.keys() {
		if most, ok := l.perCycle(k); ok && counts.counts[k] >= most {
			return limitError(k, framework.PerCycle, most, r)
		}
		if most, ok := l.perFlight(k.scope); ok && r.group.over(k, l.flight.counts.counts[k], most) {
			return limitError(k, framework.InFlight, most, r)
		}
	}
	w, ok := framework.WorkloadOf(r.pod)
	if most := l.of.WorkloadRate.Max; ok && most > 0 && l.inWindow(w, now) >= most {
		return limitError(key{framework.ScopeWorkload, w.String()}, framework.Window, most, r)
	}
	return nil
}

// inWindow returns how many evictions of a workload are in the window of its rate, and
// forgets older ones.
func (l *limits) inWindow(w framework.Workload, now time.Time) int {
	at, n := l.rate[w], 0
	for n < len(at) && !at[n].After(now.Add(-l.of.WorkloadRate.Window)) {
		n++
	}
	if n > 0 {
		l.rate[w] = at[n:]
	}
	return len(at) - n
}

// perCycle is the limit of a cycle for a key, and false where there is none.
func (l *limits) perCycle(k key) (int, bool) {
	switch k.scope {
	case framework.ScopePlugin:
		most, ok := l.ofPlugin[k.name]
		return most, ok
	case framework.ScopeNode:
		return value(l.of.PerNode)
	case framework.ScopeNamespace:
		return value(l.of.PerNamespace)
	case framework.ScopeWorkload:
		return value(l.of.PerWorkload)
	default:
		return value(l.of.Total)
	}
}

// perFlight is the limit in flight of a scope, and false where there is none.
func (l *limits) perFlight(scope framework.Scope) (int, bool) {
	switch scope {
	case framework.ScopePlugin:
		return 0, false
	case framework.ScopeNode:
		return value(l.of.InFlight.PerNode)
	case framework.ScopeNamespace:
		return value(l.of.InFlight.PerNamespace)
	case framework.ScopeWorkload:
		return value(l.of.InFlight.PerWorkload)
	default:
		return value(l.of.InFlight.Total)
	}
}

func value(limit *int) (int, bool) {
	if limit == nil {
		return 0, false
	}
	return *limit, true
}

func limitError(k key, span framework.Span, most int, r request) *framework.LimitError {
	name := k.name
	if k.scope == framework.ScopePlugin {
		name = r.plugin
	}
	return &framework.LimitError{Scope: k.scope, Span: span, Name: name, Max: most}
}
