package core_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"

	"github.com/narwhal-scheduler/narwhal/pkg/core"
	"github.com/narwhal-scheduler/narwhal/pkg/core/preemptor"
)

const (
	// tortureQuiet is how long nothing happens until a world counts as settled. It is
	// longer than every delay, and than a reservation lasts.
	tortureQuiet = 65 * time.Minute
	// tortureStepsMax and tortureEvictionsMax are the most moments and evictions until
	// a world must be settled.
	tortureStepsMax     = 1000
	tortureEvictionsMax = 100
)

// A tortureEviction is what became of one victim.
type tortureEviction struct {
	Victim  string
	For     string
	Node    string // of the victim
	Trigger preemptor.Trigger
	At      time.Duration
	Ended   bool
	Late    bool           // it has ended when it was overdue
	Before  *tortureOracle // what ran when it was requested
	Waited  []*torturePod  // the asks that waited then
}

// A tortureGame is a world that is played, and what is known of it from events.
type tortureGame struct {
	w         *tortureWorld
	lie       tortureLie
	p         *core.Partition
	now       time.Time
	changed   time.Time
	came      map[string]bool          // what was sent
	on        map[string]string        // the node of what runs
	waits     map[string]bool          // the asks
	placed    map[string]time.Duration // when asks were placed
	ran       map[string]string        // where they ran last
	backed    map[string]bool          // asks whose application backed off when another was placed
	target    map[string]string        // where room was made for an ask last
	nominated map[string]tortureNomination
	evictions []tortureEviction
	confirms  map[string]time.Time
	started   map[string]bool               // gangs of which a placeholder ran
	dismissed map[string]bool               // what is to end with its gang
	replaced  map[string]string             // the asks that have the places of placeholders
	elsewhere map[string]string             // on which other nodes they run then, if they do
	endings   map[string]si.TerminationType // how those end
	given     []tortureGiven                // what queues beyond their max gave back
	lowered   bool                          // the max of a queue
	broken    []tortureFailure              // victims that are not lawful
	log       []string
	after     func(core.Effects) // after each command and each batch, if anything
}

var errTorture = errors.New("refused")

// A tortureLie changes what the resource manager answers, of which the oracle does not
// know: nil is the truth.
type tortureLie func(o *core.Options)

// allows answers for an ask on a node where some pods were added and others removed
// in thought.
func (g *tortureGame) allows(key, node string, add, remove []core.AllocationKey) error {
	there := func(other string) bool {
		return slices.Contains(add, core.AllocationKey(other)) ||
			g.on[other] == node && !slices.Contains(remove, core.AllocationKey(other))
	}
	for _, r := range g.w.Rules {
		refuses := false
		switch r.Verb {
		case "refuse":
			refuses = r.Pod == key && r.Other == node
		case "conflict":
			refuses = r.Pod == key && there(r.Other) || r.Other == key && there(r.Pod)
		case "need":
			refuses = r.Pod == key && !there(r.Other)
		}
		if refuses {
			return g.w.refusal(r)
		}
	}
	return nil
}

// budgets are the budgets of the world. What was evicted counts against them.
func (g *tortureGame) budgets([]core.AllocationKey) (list []core.DisruptionBudget) {
	for _, b := range g.w.Budgets {
		budget := core.DisruptionBudget{Name: b.Name, Allowed: max(0, b.Allowed-g.evictedOf(b))}
		for _, key := range b.Members {
			budget.Allocations = append(budget.Allocations, core.AllocationKey(key))
		}
		list = append(list, budget)
	}
	return list
}

func (g *tortureGame) evictedOf(b tortureBudget) (count int) {
	for _, e := range g.evictions {
		if slices.Contains(b.Members, e.Victim) {
			count++
		}
	}
	return count
}

func (g *tortureGame) options() core.Options {
	o := core.Options{Partition: "[rm]default", Kinds: tortureKinds, ReserveDelay: -1, KeepsForeign: g.w.KeepsForeign}
	if g.w.Reserve {
		o.ReserveDelay = 0
	}
	if len(g.w.Rules) > 0 {
		o.Feasible = func(key core.AllocationKey, node core.NodeID, _ bool) error {
			return g.allows(string(key), string(node), nil, nil)
		}
		o.Simulate = func(key core.AllocationKey, node core.NodeID, add, remove []core.AllocationKey) error {
			return g.simulates(string(key), string(node), add, remove)
		}
		if g.w.Answers == answersNothing && g.w.onlyRefuses() {
			o.Simulate = nil
		}
	}
	if len(g.w.Budgets) > 0 {
		o.Budgets = g.budgets
	}
	if g.lie != nil {
		g.lie(&o)
	}
	return o
}

// playTorture builds a world, and schedules and confirms evictions until nothing
// happens any more. Without rest the last return value is false.
func playTorture(w *tortureWorld, lie tortureLie) (g *tortureGame, rests bool) {
	g = newTortureGame(w, lie)
	return g, g.play()
}

func newTortureGame(w *tortureWorld, lie tortureLie) *tortureGame {
	return &tortureGame{
		w: w.clone(), lie: lie, now: tortureStart, changed: tortureStart, came: map[string]bool{}, on: map[string]string{}, waits: map[string]bool{},
		placed: map[string]time.Duration{}, ran: map[string]string{}, backed: map[string]bool{}, target: map[string]string{}, nominated: map[string]tortureNomination{}, confirms: map[string]time.Time{},
		started: map[string]bool{}, dismissed: map[string]bool{}, replaced: map[string]string{}, elsewhere: map[string]string{}, endings: map[string]si.TerminationType{},
	}
}

// play reports whether the world came to rest.
func (g *tortureGame) play() bool {
	g.begin()
	for range tortureStepsMax {
		g.due()
		next, ok := g.next()
		if !ok || next.Sub(g.changed) > tortureQuiet {
			return true
		}
		if len(g.evictions) > tortureEvictionsMax {
			break
		}
		g.now = next
	}
	return false
}

// begin makes what is there before the first call of Schedule.
func (g *tortureGame) begin() {
	w := g.w
	g.p = core.NewPartition(g.options(), w.config())
	for _, n := range w.Nodes {
		g.apply(core.AddNode{ID: core.NodeID(n.Name), Capacity: n.Capacity.amounts(), Drained: n.Drained})
	}
	for _, q := range w.Queues {
		if w.leaf(q.Name) {
			g.addApplication(q.Name, q.Name, "")
		}
	}
	for i := range w.Pods {
		if p := &w.Pods[i]; p.At == 0 {
			g.addMissing(p)
		}
	}
	for i := range w.Pods {
		if w.Pods[i].Node != "" {
			g.came[w.Pods[i].Key] = true
			g.apply(core.AddAllocation{Allocation: w.allocation(&w.Pods[i])})
		}
	}
}

// due does what is due now.
func (g *tortureGame) due() {
	at := int(g.now.Sub(tortureStart) / time.Second)
	g.lowerNow()
	for i := range g.w.Pods {
		p := &g.w.Pods[i]
		if !g.came[p.Key] && p.At <= at {
			g.came[p.Key], g.waits[p.Key] = true, true
			g.changed = g.now
			if p.At > 0 && !g.addMissing(p) {
				delete(g.waits, p.Key)
				continue
			}
			g.apply(core.AddAllocation{Allocation: g.w.allocation(p)})
		}
		if p.Ends > 0 && p.Ends <= at && (g.on[p.Key] != "" || g.waits[p.Key]) {
			g.note("released %s as the resource manager asked", p.Key)
			g.release(p.Key, si.TerminationType_STOPPED_BY_RM)
		}
	}
	g.endGangs()
	for _, e := range g.evictions {
		if at, ok := g.confirms[e.Victim]; ok && !at.After(g.now) {
			g.release(e.Victim, si.TerminationType_PREEMPTED_BY_SCHEDULER)
			g.recreate(e.Victim, int(g.now.Sub(tortureStart)/time.Second)+1)
		}
	}
	g.schedule()
}

func (g *tortureGame) release(key string, why si.TerminationType) {
	delete(g.confirms, key)
	delete(g.waits, key)
	g.changed = g.now
	g.apply(core.ReleaseAllocation{
		Application: core.ApplicationID(g.w.pod(key).application()), Key: core.AllocationKey(key), Termination: why,
	})
}

// recreate has what was evicted asked for again, as its controller would.
func (g *tortureGame) recreate(key string, at int) {
	p := *g.w.pod(key)
	if !g.w.Recreate || p.Foreign != core.Own {
		return
	}
	first, _, _ := strings.Cut(p.Key, "x")
	p.Key, p.Node, p.Requires, p.At, p.Age, p.Ends = fmt.Sprint(first, "x", len(g.w.Pods)), "", "", at, 0, 0
	g.w.Pods = append(g.w.Pods, p)
}

func (g *tortureGame) schedule() {
	for more := true; more; {
		var fx core.Effects
		fx, more = g.p.Schedule(g.now)
		g.take(fx)
	}
}

// application is that of a queue, or of its own for an ask that comes later: the one of
// the queue may have completed.
func (p *torturePod) application() string {
	switch {
	case p.Foreign != core.Own:
		return ""
	case p.Group != "":
		return "gang-" + p.Queue
	case p.At > 0:
		return "of-" + p.Key
	case p.User != "":
		return p.Queue + "-" + p.User
	default:
		return p.Queue
	}
}

// next is when something is due after now.
func (g *tortureGame) next() (at time.Time, ok bool) {
	earlier := func(t time.Time) {
		if t.After(g.now) && (!ok || t.Before(at)) {
			at, ok = t, true
		}
	}
	if g.w.Lowered.Queue != "" {
		earlier(tortureStart.Add(time.Duration(g.w.Lowered.At) * time.Second))
	}
	for i := range g.w.Pods {
		p := &g.w.Pods[i]
		earlier(tortureStart.Add(time.Duration(p.At) * time.Second))
		earlier(tortureStart.Add(time.Duration(p.Ends) * time.Second))
	}
	for _, t := range g.confirms {
		earlier(t)
		if !t.After(g.now) {
			earlier(g.now.Add(time.Nanosecond))
		}
	}
	if t, due := g.p.Due(); due {
		if !t.After(g.now) {
			t = g.now.Add(time.Nanosecond)
		}
		earlier(t)
	}
	return at, ok
}

func (g *tortureGame) apply(c core.Command) { g.take(g.p.Apply(g.now, c)) }

// take reads what happened.
func (g *tortureGame) take(fx core.Effects) {
	if g.after != nil {
		defer g.after(fx)
	}
	for _, e := range fx {
		before := g.changed
		g.changed = g.now
		switch e := e.(type) {
		case core.Adopted:
			g.on[string(e.Key)] = string(e.Node)
			g.runs(string(e.Key))
		case core.ForeignAdded:
			g.on[string(e.Key)] = string(e.Node)
		case core.ForeignRemoved:
			g.end(string(e.Key))
		case core.Placed:
			g.place(string(e.Key), string(e.Node))
		case *core.Ended:
			g.end(string(e.Key))
		case *core.Nominated:
			g.nominate(e)
		case *core.PreemptionPlanned:
			g.target[string(e.Key)] = string(e.Node)
			if e.Plan.Trigger == preemptor.Quota {
				g.giveBack(e)
			}
		case *core.NominationEnded:
			g.endNomination(e)
		case *core.EvictionRequested:
			g.evict(e)
		case *core.ReleaseRequested:
			g.requested(e)
		case *core.AskEnded:
			delete(g.waits, string(e.Key))
		case *core.ApplicationRejected: // its placeholders are more than its queue may hold by now
			g.note("refused %s: %s", e.ID, e.Reason)
		case *core.AllocationRejected, *core.NodeRejected:
			panic(fmt.Sprintf("%T %+v", e, e))
		default:
			g.changed = before
		}
	}
}

func (g *tortureGame) note(format string, args ...any) {
	g.log = append(g.log, fmt.Sprintf("%-4v ", g.now.Sub(tortureStart).Round(time.Second))+fmt.Sprintf(format, args...))
}

func (g *tortureGame) place(key, node string) {
	before := g.oracle()
	g.on[key] = node
	delete(g.waits, key)
	if g.runs(key); !g.takesPlace(key) {
		g.passedOver(before, g.w.pod(key))
	}
	delete(g.nominated, key)
	g.placed[key] = g.now.Sub(tortureStart)
	g.ran[key] = node
	for ask := range g.waits {
		g.backed[ask] = g.backed[ask] || g.backsOff(g.w.pod(ask))
	}
	g.note("placed %s on %s", key, node)
}

func (g *tortureGame) evict(e *core.EvictionRequested) {
	key := string(e.Key)
	g.note("released %s on %s for %s by %v", key, e.Node, e.For, e.Trigger)
	v := tortureEviction{Victim: key, For: string(e.For), Node: string(e.Node), Trigger: e.Trigger, At: g.now.Sub(tortureStart)}
	v.Before = g.oracle()
	for i := range g.w.Pods {
		if p := &g.w.Pods[i]; g.waits[p.Key] && p.Key != v.For {
			v.Waited = append(v.Waited, p)
		}
	}
	unlawful := g.unlawful
	if v.Trigger == preemptor.Quota {
		unlawful = g.unlawfulForQuota
	}
	if cause := unlawful(v); cause != "" {
		g.broken = append(g.broken, tortureFailure{Law: lawVictim, Ask: v.For, Trigger: v.Trigger, Cause: cause})
	}
	g.evictions = append(g.evictions, v)
	if grace := g.w.pod(key).Grace; grace >= 0 {
		g.confirms[key] = g.now.Add(time.Duration(grace) * time.Second)
	}
}

func (g *tortureGame) end(key string) {
	delete(g.on, key)
	delete(g.confirms, key)
	delete(g.dismissed, key)
	delete(g.replaced, key)
	for i := range g.evictions {
		if e := &g.evictions[i]; e.Victim == key && !e.Ended {
			e.Ended, e.Late = true, g.now.Sub(tortureStart) >= e.At+tortureTimeout
			g.note("ended %s", key)
		}
	}
}
