package worlds

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"

	"github.com/narwhal-scheduler/narwhal/pkg/core"
	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/core/preemptor"
	"github.com/narwhal-scheduler/narwhal/pkg/internal/recount"
)

const (
	// quiet is how long nothing happens until a world counts as settled. It is
	// longer than every delay, and than a reservation lasts.
	quiet = 65 * time.Minute
	// stepsMax and evictionsMax are the most moments and evictions until
	// a world must be settled.
	stepsMax     = 1000
	evictionsMax = 100
)

// A eviction is what became of one victim.
type eviction struct {
	Victim  string
	For     string
	Node    string // of the victim
	Target  string // the node where room is made
	Trigger preemptor.Trigger
	At      time.Duration
	Ended   bool
	Late    bool     // it has ended when it was overdue
	Forgot  bool     // its ask had no claim at a restart, and nothing is known of it since
	Before  *oracle  // what ran when it was requested
	With    []string // members of the quorum of the ask that waited, ran or were done then
}

// A game is a world that is played, and what is known of it from events.
type game struct {
	w         *world
	lie       lie
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
	nominated map[string]nomination
	restored  map[string]bool // asks that were nominated at a restart
	evictions []eviction
	confirms  map[string]time.Time
	started   map[string]bool               // gangs of which a placeholder ran
	dismissed map[string]bool               // what is to end with its gang
	replaced  map[string]string             // the asks that have the places of placeholders
	elsewhere map[string]string             // on which other nodes they run then, if they do
	endings   map[string]si.TerminationType // how those end
	given     []givenBack                   // what queues beyond their max gave back
	lowered   bool                          // the max of a queue
	grown     []grownPod                    // what running pods grew
	allowed   map[string]time.Time          // pods of a rule that was taken away without a word, and when
	evicted   *eviction                     // the one that was requested last
	broken    []failure                     // victims that are not lawful
	ends      map[string]time.Time          // when what runs ends by itself
	beside    map[string]time.Duration      // since when asks wait beside free room
	fails     map[string]bool               // asks that could not be bound
	since     map[string]time.Time          // since when nothing lawful holds an ask back but those that come again
	done      []bool                        // the changes
	again     int                           // how many came again
	books     *recount.Books
	agreed    map[[2]string]bool // asks and nodes of which the resource manager said in this batch that they may be placed there
	simulated bool               // the resource manager simulates
	script    script
	seen      []string             // what came about
	succeeded map[string]bool      // members of quorums that count on
	released  bool                 // the next one that is released has succeeded
	together  []string             // members of quorums that were placed since laws looked last, without a claim of their own
	claims    map[string]bool      // asks that have one
	claimed   map[string]time.Time // until when asks had the last that has ended
	blind     bool                 // no law looks
	wanted    string               // the class of the failure that is looked for, if any
	log       []string
	after     func(api.Effects) // after each command and each batch, if anything
}

var errRefused = errors.New("refused")

// A lie changes what the resource manager answers, of which the oracle does not
// know: nil is the truth.
type lie func(o *api.Options)

// allows answers for an ask on a node where some pods were added and others removed
// in thought.
func (g *game) allows(key, node string, add, remove []api.AllocationKey) error {
	there := func(other string) bool {
		return slices.Contains(add, api.AllocationKey(other)) ||
			g.on[other] == node && !slices.Contains(remove, api.AllocationKey(other))
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
func (g *game) budgets([]api.AllocationKey) (list []api.DisruptionBudget) {
	for _, b := range g.w.Budgets {
		budget := api.DisruptionBudget{Name: b.Name, Allowed: max(0, b.Allowed-g.evictedOf(b))}
		for _, key := range b.Members {
			budget.Allocations = append(budget.Allocations, api.AllocationKey(key))
		}
		list = append(list, budget)
	}
	return list
}

func (g *game) evictedOf(b budget) (count int) {
	for _, e := range g.evictions {
		if slices.Contains(b.Members, e.Victim) {
			count++
		}
	}
	for key := range g.endings { // those that end with their groups are down, too, until they are gone
		if slices.Contains(b.Members, key) {
			count++
		}
	}
	return count
}

func (g *game) options() api.Options {
	o := api.Options{Partition: "[rm]default", Kinds: kindTable, ReserveDelay: -1, KeepsForeign: g.w.KeepsForeign, BatchMax: g.w.Batch, ReserveMax: time.Duration(g.w.ReserveMax) * time.Second}
	if g.w.Reserve {
		o.ReserveDelay = 0
	}
	if len(g.w.Rules) > 0 {
		o.Feasible = func(key api.AllocationKey, node api.NodeID, allocate bool) error {
			return g.agrees(string(key), string(node), allocate)
		}
		o.Simulate = func(key api.AllocationKey, node api.NodeID, add, remove []api.AllocationKey) error {
			return g.simulates(string(key), string(node), add, remove)
		}
		if g.w.Answers == answersNothing && g.w.onlyRefuses() {
			o.Simulate = nil
		}
		g.simulated = o.Simulate != nil
	}
	g.askDifferently(&o)
	if len(g.w.Budgets) > 0 {
		o.Budgets = g.budgets
	}
	if g.lie != nil {
		g.lie(&o)
	}
	return o
}

// play builds a world, and schedules and confirms evictions until nothing
// happens any more. Without rest the last return value is false.
func play(w *world, lie lie) (g *game, rests bool) {
	g = newGame(w, lie)
	return g, g.play()
}

func newGame(w *world, lie lie) *game {
	return &game{
		w: w.clone(), lie: lie, now: start, changed: start, came: map[string]bool{}, on: map[string]string{}, waits: map[string]bool{},
		placed: map[string]time.Duration{}, ran: map[string]string{}, backed: map[string]bool{}, target: map[string]string{}, nominated: map[string]nomination{}, restored: map[string]bool{},
		succeeded: map[string]bool{}, claims: map[string]bool{}, claimed: map[string]time.Time{}, confirms: map[string]time.Time{},
		started: map[string]bool{}, dismissed: map[string]bool{}, replaced: map[string]string{}, elsewhere: map[string]string{}, endings: map[string]si.TerminationType{},
		ends: map[string]time.Time{}, since: map[string]time.Time{}, fails: map[string]bool{}, allowed: map[string]time.Time{}, done: make([]bool, len(w.Changes)), books: recount.New(), agreed: map[[2]string]bool{},
	}
}

// play reports whether the world came to rest.
func (g *game) play() bool {
	g.begin()
	for range stepsMax + 8*g.w.End {
		if g.due(); g.isFound() {
			return true
		}
		next, ok := g.next()
		if !ok || next.Sub(g.changed) > quiet {
			return true
		}
		if len(g.evictions) > evictionsMax {
			break
		}
		g.now = next
	}
	return false
}

// isFound reports whether a failure has come about that is looked for: then nothing more is played.
func (g *game) isFound() bool {
	return g.wanted != "" && slices.ContainsFunc(g.broken, func(f failure) bool { return f.class() == g.wanted })
}

// begin makes what is there before the first call of Schedule.
func (g *game) begin() {
	w := g.w
	g.p = core.NewPartition(g.options(), w.config())
	g.script.begin(w)
	g.saw("applications are refused", w.Denied)
	g.saw("devices order nodes", w.Devices)
	g.saw("what is scarce orders nodes", w.Scarcity)
	g.saw("pods come again", w.End > 0)
	for _, n := range w.Nodes {
		if n.Gone {
			continue
		}
		g.apply(api.AddNode{ID: api.NodeID(n.Name), Capacity: n.Capacity.amounts(), Attributes: n.attributes(), Drained: n.Drained})
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
			g.apply(api.AddAllocation{Allocation: w.allocation(&w.Pods[i])})
		}
	}
	g.script.answers(w)
}

// due does what is due now.
func (g *game) due() {
	at := int(g.now.Sub(start) / time.Second)
	g.lowerNow()
	g.changeNow(at)
	g.endByThemselves()
	for i := range g.w.Pods {
		p := &g.w.Pods[i]
		if !g.came[p.Key] && p.At <= at {
			g.came[p.Key], g.waits[p.Key] = true, true
			g.changed = g.now
			if p.At > 0 && !g.addMissing(p) {
				delete(g.waits, p.Key)
				continue
			}
			g.apply(api.AddAllocation{Allocation: g.w.allocation(p)})
		}
		if p.Ends > 0 && p.Ends <= at && (g.on[p.Key] != "" || g.waits[p.Key]) {
			g.note("released %s as the resource manager asked", p.Key)
			g.released = p.Succeeds && g.on[p.Key] != ""
			g.release(p.Key, si.TerminationType_STOPPED_BY_RM)
			g.succeeded[p.Key], g.released = g.released, false
		}
	}
	g.endGangs()
	for _, e := range g.evictions {
		if at, ok := g.confirms[e.Victim]; ok && !at.After(g.now) {
			g.confirm(e.Victim)
		}
	}
	g.schedule()
}

// confirm says that an eviction has ended.
func (g *game) confirm(victim string) {
	g.release(victim, si.TerminationType_PREEMPTED_BY_SCHEDULER)
	g.recreate(victim, int(g.now.Sub(start)/time.Second)+1)
}

func (g *game) release(key string, why si.TerminationType) {
	delete(g.confirms, key)
	delete(g.waits, key)
	g.changed = g.now
	g.apply(api.ReleaseAllocation{
		Application: api.ApplicationID(g.w.pod(key).application()), Key: api.AllocationKey(key), Termination: why,
		Message: when(g.released, api.Succeeded),
	})
}

// recreate has what was evicted asked for again, as its controller would.
func (g *game) recreate(key string, at int) {
	p := *g.w.pod(key)
	if !(g.w.Recreate || p.Again && at < g.w.End) || p.Foreign != api.Own {
		return
	}
	first, _, _ := strings.Cut(p.Key, "x")
	g.again++
	p.Key, p.Node, p.Requires, p.At, p.Age, p.Ends = fmt.Sprint(first, "x", g.again), "", "", at, 0, 0
	g.w.Pods = append(g.w.Pods, p)
}

func (g *game) schedule() {
	g.script.schedule()
	for more := true; more; {
		var fx api.Effects
		clear(g.agreed)
		fx, more = g.p.Schedule(g.now)
		g.take(fx)
	}
	if due, ok := g.p.Due(); !ok || due.After(g.now.Add(time.Nanosecond)) {
		g.lookAt(func(l *law) reader { return l.moment })
	}
}

// application is that of a queue, or of its own for an ask that comes later: the one of
// the queue may have completed.
func (p *pod) application() string {
	switch {
	case p.Foreign != api.Own:
		return ""
	case p.Group != "":
		return "gang-" + p.Queue
	case p.Again:
		return "stream-" + p.Queue + p.User
	case p.At > 0:
		return "of-" + p.Key
	case p.User != "":
		return p.Queue + "-" + p.User
	default:
		return p.Queue
	}
}

// next is when something is due after now.
func (g *game) next() (at time.Time, ok bool) {
	earlier := func(t time.Time) {
		if t.After(g.now) && (!ok || t.Before(at)) {
			at, ok = t, true
		}
	}
	if g.w.Lowered.Queue != "" {
		earlier(start.Add(time.Duration(g.w.Lowered.At) * time.Second))
	}
	for i := range g.w.Pods {
		p := &g.w.Pods[i]
		earlier(start.Add(time.Duration(p.At) * time.Second))
		earlier(start.Add(time.Duration(p.Ends) * time.Second))
	}
	for i := range g.w.Changes {
		earlier(start.Add(time.Duration(g.w.Changes[i].At) * time.Second))
	}
	earlier(start.Add(time.Duration(g.w.End) * time.Second))
	for _, t := range g.ends {
		earlier(t)
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

func (g *game) apply(c api.Command) {
	g.script.command(g.now, c)
	g.take(g.p.Apply(g.now, c))
}

// take reads what happened.
func (g *game) take(fx api.Effects) {
	if g.after != nil {
		defer g.after(fx)
	}
	for _, e := range fx {
		g.books.Take(e)
		g.see(e)
		if isTurn(e) {
			g.losesPlace(e)
			continue
		}
		before := g.changed
		g.changed = g.now
		switch e := e.(type) {
		case api.AskAdded:
			g.waits[string(e.Key)] = true
		case api.Adopted:
			g.on[string(e.Key)] = string(e.Node)
			g.runs(string(e.Key))
		case api.ForeignAdded:
			g.on[string(e.Key)] = string(e.Node)
		case api.ForeignRemoved:
			g.end(string(e.Key))
		case api.Placed:
			g.place(string(e.Key), string(e.Node))
		case *api.Ended:
			g.end(string(e.Key))
		case *api.Claimed:
			g.nominate(e)
		case *api.PreemptionPlanned:
			g.target[string(e.Key)] = string(e.Node)
			if e.Plan.Trigger == preemptor.Quota {
				g.giveBack(e)
			}
		case *api.ClaimEnded:
			g.endNomination(e)
		case *api.EvictionRequested:
			g.evict(e)
		case *api.ReleaseRequested:
			g.requested(e)
		case *api.AskEnded:
			delete(g.waits, string(e.Key))
		case *api.ApplicationRejected: // its placeholders are more than its queue may hold by now
			g.note("refused %s: %s", e.ID, e.Reason)
		case *api.AllocationRejected, *api.NodeRejected:
			panic(fmt.Sprintf("%T %+v", e, e))
		default:
			g.changed = before
		}
	}
}

// isTurn reports whether room is kept for an ask or not any more, and nothing is evicted for that. Such
// claims go round for ever.
func isTurn(e api.Event) bool {
	switch e := e.(type) {
	case *api.Claimed:
		return e.Plan == nil
	case *api.ClaimEnded:
		return !e.Nominated
	}
	return false
}

func (g *game) note(format string, args ...any) {
	g.log = append(g.log, fmt.Sprintf("%-4v ", g.now.Sub(start).Round(time.Second))+fmt.Sprintf(format, args...))
}

func (g *game) place(key, node string) {
	g.isSafe(g.w.pod(key), node)
	g.staysInDomain(g.w.pod(key), node)
	var before *oracle
	if p := g.w.pod(key); !g.blind && !g.takesPlace(key) && g.isOutranked(p) {
		before = g.oracle().frozen()
	}
	g.on[key] = node
	delete(g.waits, key)
	if g.runs(key); before != nil {
		g.passedBy(before, g.w.pod(key))
	}
	delete(g.nominated, key)
	g.placed[key] = g.now.Sub(start)
	g.ran[key] = node
	for ask := range g.waits {
		g.backed[ask] = g.backed[ask] || g.backsOff(g.w.pod(ask))
	}
	g.note("placed %s on %s", key, node)
}

func (g *game) evict(e *api.EvictionRequested) {
	key := string(e.Key)
	g.note("released %s on %s for %s by %v", key, e.Node, e.For, e.Trigger)
	v := eviction{Victim: key, For: string(e.For), Node: string(e.Node), Target: g.target[string(e.For)], Trigger: e.Trigger, At: g.now.Sub(start)}
	v.Before, v.With = g.oracle().frozen(), g.membersWith(g.w.pod(v.For))
	g.evicted = &v
	g.lookAt(func(l *law) reader { return l.eviction })
	g.evictions = append(g.evictions, v)
	if grace := g.w.pod(key).Grace; grace >= 0 {
		g.confirms[key] = g.now.Add(time.Duration(grace) * time.Second)
	}
}

func (g *game) end(key string) {
	g.together = slices.DeleteFunc(g.together, func(other string) bool { return g.w.pod(other).Quorum == g.w.pod(key).Quorum })
	delete(g.on, key)
	delete(g.ends, key)
	delete(g.confirms, key)
	delete(g.dismissed, key)
	delete(g.replaced, key)
	for i := range g.evictions {
		if e := &g.evictions[i]; e.Victim == key && !e.Ended {
			e.Ended, e.Late = true, g.now.Sub(start) >= e.At+evictionTimeout
			g.note("ended %s", key)
		}
	}
}
