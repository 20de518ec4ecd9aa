package descheduler

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Outcome is what was decided about a pod.
type Outcome string

// The outcomes.
const (
	Considered Outcome = "considered" // all filters let it go, and no plugin evicted it
	Declined   Outcome = "declined"   // a plugin that could have moved it says why it does not
	Filtered   Outcome = "filtered"   // a filter keeps it
	Limited    Outcome = "limited"    // a limit keeps it
	Refused    Outcome = "refused"    // a budget, a cool-down or the want of a place keeps it
	Failed     Outcome = "failed"     // its eviction was tried in vain
	Evicted    Outcome = "evicted"
	Gone       Outcome = "gone" // it was not there any more
)

// A Decision is what one profile, or one plugin of it, decided about a pod in a cycle.
type Decision struct {
	Cycle   int       `json:"cycle"`
	At      time.Time `json:"at"`
	UID     types.UID `json:"uid"`
	Profile string    `json:"profile"`
	Plugin  string    `json:"plugin,omitempty"` // empty: the filters of the profile
	Outcome Outcome   `json:"outcome"`
	Reason  string    `json:"reason,omitempty"`
}

// String is a line for people.
func (d Decision) String() string {
	by := d.Profile
	if d.Plugin != "" {
		by += "/" + d.Plugin
	}
	line := fmt.Sprintf("cycle %d, %s: %s", d.Cycle, by, d.Outcome)
	if d.Reason != "" {
		line += ": " + d.Reason
	}
	return line
}

// An Answer says why a pod was evicted or was not.
type Answer struct {
	Pod string `json:"pod"` // namespace/name
	// Evictions are those that are remembered, oldest first.
	Evictions []Eviction `json:"evictions,omitempty"`
	// Decisions are those of the last cycle that considered the pod, of the last two.
	Decisions []Decision `json:"decisions,omitempty"`
	// Nothing says that nothing is known of the pod.
	Nothing string `json:"nothing,omitempty"`
	// Cut is how many decisions of these cycles were not kept for want of room.
	Cut int `json:"cut,omitempty"`
}

// String is the answer for people.
func (a Answer) String() string {
	var b strings.Builder
	for _, e := range a.Evictions {
		fmt.Fprintf(&b, "cycle %d, %s/%s: evicted from %s: %s\n", e.Cycle, e.Profile, e.Plugin, e.From, e.Reason)
	}
	for _, d := range a.Decisions {
		if d.Outcome != Evicted || !a.lists(d) {
			fmt.Fprintln(&b, d)
		}
	}
	if a.Nothing != "" {
		fmt.Fprintln(&b, a.Nothing)
	}
	if a.Cut > 0 {
		fmt.Fprintf(&b, "%d decisions were not kept\n", a.Cut)
	}
	return a.Pod + "\n" + b.String()
}

// lists says whether the eviction of a decision is among those that are remembered.
func (a Answer) lists(d Decision) bool {
	return slices.ContainsFunc(a.Evictions, func(e Eviction) bool { return e.UID == d.UID && e.Cycle == d.Cycle })
}

// evictionsMax is how many evictions are remembered over all cycles.
const evictionsMax = 1000

// decisions remembers what was decided in the cycle that runs and in the one before, most
// decisions of each at the most, and the last evictions. A decision replaces the one of
// the same profile and plugin about the same pod. It is safe for concurrent use.
type decisions struct {
	most int

	mu          sync.Mutex
	cycle       int
	now, before generation
	evictions   []Eviction
}

// A generation is the decisions of one cycle.
type generation struct {
	of   map[types.NamespacedName][]decided
	size int
	cut  int
}

// decided is a Decision whose reason is not made into words yet, since few are read.
type decided struct {
	at              time.Time
	uid             types.UID
	profile, plugin string
	outcome         Outcome
	reason          error
}

func newDecisions(most int) *decisions {
	return &decisions{most: most, now: newGeneration(), before: newGeneration()}
}

func newGeneration() generation {
	return generation{of: map[types.NamespacedName][]decided{}}
}

// begin starts a cycle and returns its number.
func (d *decisions) begin() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.cycle++
	d.before, d.now = d.now, newGeneration()
	return d.cycle
}

// note remembers a decision.
func (d *decisions) note(pod *v1.Pod, of decided) {
	of.uid = pod.UID
	name := types.NamespacedName{Namespace: pod.Namespace, Name: pod.Name}
	d.mu.Lock()
	defer d.mu.Unlock()
	known := d.now.of[name]
	for i := range known {
		if known[i].profile == of.profile && known[i].plugin == of.plugin && known[i].uid == of.uid {
			known[i] = of
			return
		}
	}
	if d.now.size >= d.most {
		d.now.cut++
		return
	}
	d.now.size++
	d.now.of[name] = append(known, of)
}

// evicted remembers an eviction and returns it with the number of its cycle.
func (d *decisions) evicted(e Eviction) Eviction {
	d.mu.Lock()
	defer d.mu.Unlock()
	e.Cycle = d.cycle
	d.evictions = append(d.evictions, e)
	if len(d.evictions) >= 2*evictionsMax { // seldom, since the rest is copied
		d.evictions = slices.Clone(d.remembered())
	}
	return e
}

// remembered are the evictions that are remembered, oldest first.
func (d *decisions) remembered() []Eviction {
	return d.evictions[max(0, len(d.evictions)-evictionsMax):]
}

// count returns how many decisions of the cycle that runs had each outcome, why they kept pods, and how
// many were cut.
func (d *decisions) count() (of map[Outcome]int, why []Reason, cut int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	of = map[Outcome]int{}
	reasons := map[Reason]int{}
	for _, list := range d.now.of {
		for _, one := range list {
			of[one.outcome]++
			if slices.Contains(keeping, one.outcome) {
				reasons[Reason{Outcome: one.outcome, Reason: oneLine(one.reason)}]++
			}
		}
	}
	return of, frequent(reasons), d.now.cut
}

// why answers for a pod.
func (d *decisions) why(namespace, name string) Answer {
	d.mu.Lock()
	defer d.mu.Unlock()
	a := Answer{Pod: namespace + "/" + name, Cut: d.now.cut + d.before.cut}
	for _, e := range d.remembered() {
		if e.Pod == a.Pod {
			a.Evictions = append(a.Evictions, e)
		}
	}
	of, cycle := types.NamespacedName{Namespace: namespace, Name: name}, d.cycle
	list := d.now.of[of]
	if len(list) == 0 {
		list, cycle = d.before.of[of], cycle-1
	}
	for _, one := range list {
		a.Decisions = append(a.Decisions, Decision{
			Cycle: cycle, At: one.at, UID: one.uid, Profile: one.profile, Plugin: one.plugin,
			Outcome: one.outcome, Reason: oneLine(one.reason),
		})
	}
	if len(a.Evictions)+len(a.Decisions) == 0 {
		a.Nothing = "no plugin considered it in the last two cycles"
	}
	return a
}

// oneLine is a reason as people read it; empty if there is none.
func oneLine(reason error) string {
	if reason == nil {
		return ""
	}
	return strings.ReplaceAll(reason.Error(), "\n", "; ")
}
