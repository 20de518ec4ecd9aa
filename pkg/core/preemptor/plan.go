package preemptor

import (
	"slices"
	"strings"
	"time"

	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// Plan decides which allocations make room for the ask on its node, or, with the
// trigger Quota, which are released so that a queue keeps its max. It changes
// none of its arguments and keeps none. With Node.Fits it asks the resource
// manager while it works, and its result depends on the answers.
//
// If the node could never hold the ask, the result is Impossible, however young
// the reservation is. A plan without a result stays so until the node, the ask or
// the configuration changes; only TooYoung ends with time, at Decision.Again.
func Plan(now time.Time, cfg Config, ask Ask, node Node) Decision {
	var pl Planner
	return pl.Plan(now, cfg, ask, node)
}

// A Planner makes plans one after the other with the same memory. It belongs to
// one goroutine; the zero value is ready.
type Planner struct {
	plan    plan
	sharing sharing
}

// Plan does what the function Plan does.
func (pl *Planner) Plan(now time.Time, cfg Config, ask Ask, node Node) Decision {
	p := &pl.plan
	p.start(cfg, ask, node)
	p.reporting = true
	if p.filter(); !p.nothingToChoose() && !p.tooYoung(now) {
		p.choose()
		if len(ask.Behind) > 0 {
			pl.sharing.share(p)
			pl.sharing.giveFirst(p)
		}
	}
	return p.decision()
}

// Cost is the cost of the plan that Plan would make, without its explanation. It
// takes the reservation to be old enough. With the trigger Priority it allocates
// no memory once it has seen a node as large. It keeps none of its arguments.
func (pl *Planner) Cost(cfg Config, ask Ask, node Node) Cost {
	p := &pl.plan
	p.start(cfg, ask, node)
	p.reporting = false
	if p.filter(); !p.nothingToChoose() {
		p.choose()
	}
	pl.sharing.share(p)
	return pl.sharing.best
}

// Served is what the plan of the last Cost serves.
func (pl *Planner) Served() Together { return pl.sharing.served }

// Steps is how many steps the searches of all plans have taken together. They are what a
// plan can take long for.
func (pl *Planner) Steps() int64 {
	own, shared := &pl.plan.search, &pl.sharing.search
	return own.before + own.steps + shared.before + shared.steps
}

// A plan is the state of one call: the problem and what was chosen. The next call
// uses its slices again.
type plan struct {
	problem
	byFilter [Filters]int
	filtered []Filtered // if reporting
	limit    limit      // of the strategies single and multiple
	outcome
	sums   []int64 // what may be freed together, if that is known
	summed bool
	search search
	least  minimum
}

// A problem is what a choice starts from: what must be freed, the candidates in
// order, and the floors and budgets that bind them.
type problem struct {
	cfg   Config
	ask   Ask
	node  Node
	rules *triggerRules
	fits  func(removed []string) error // nil if the trigger does not ask

	table *resources.Kinds // of kinds
	kinds []resources.Kind // by name, so that no result depends on their numbers
	width int              // how many kinds there are

	releasing     resources.Amounts
	releasingKeys []string         // the keys of the allocations that hold it
	short         []resources.Kind // the kinds that must be freed, by name: first of the node, then of the quotas
	onNode        int              // how many of short are of the node
	quotas        []int            // of which quota each of the others is
	need          []int64          // how much of each of short, more than zero
	helds         []int64          // the memory of eligible.held
	total         []int64          // what all eligible candidates hold of short, saturating

	ranked  []eligible // least important first, once rank was called
	order   []int32    // scratch of rank, like buffer
	buffer  []eligible
	weighed bool    // weights are known
	bound   bool    // guarantees or budgets rule out some victims
	all     []int   // see ranks
	left    []int64 // what may still be taken, by floor and kind
	allowed []int64 // how many may still be removed, by budget
	gone    []int32 // how many members are victims, by group

	reporting bool    // the decision will be explained
	binding   []int32 // the floors that excluded a candidate, if reporting

	lacking, scratch resources.Amounts
	keys             []string // scratch
}

// An eligible is a candidate that may be a victim.
type eligible struct {
	*Candidate
	class      Class
	count      int     // how many allocations end with it, itself included
	importance int64   // see importanceOf
	violating  bool    // it exceeds a budget if all before it are removed
	held       []int64 // of each of plan.short, at most the need
	weight     int64   // see plan.weigh
}

// An outcome is the result of a plan.
type outcome struct {
	reason     Reason
	strategy   Strategy
	given      bool  // the resource manager chose
	victims    []int // of plan.ranked, in order
	violations int
	proof      Proof
	failures   []Failure
	again      time.Time
	refusal    string
	partial    bool
	worth      int64    // of the asks that the victims are for, in parts of 1/2^20 of the ask; zero is one ask
	together   Together // if the victims are some of those that were chosen for several asks
	costEach   Cost     // of these, for each of the asks
}

// A choice is what a strategy selected, as indices of plan.ranked, or why it
// selected nothing.
type choice struct {
	victims []int
	proof   Proof
	failure Failure
}

// start takes the arguments and computes what must be freed.
func (p *plan) start(cfg Config, ask Ask, node Node) {
	p.cfg, p.ask, p.node = cfg, ask, node
	p.rules = &triggers[ask.Trigger]
	p.fits = nil
	if p.rules.simulated {
		p.fits = node.Fits
	}
	p.sortKinds()
	p.byFilter, p.filtered, p.weighed, p.binding = [Filters]int{}, nil, false, p.binding[:0]
	p.outcome = outcome{victims: p.victims[:0], failures: p.failures[:0]}
	p.summed = false
	p.measure()
}

// sortKinds lists every kind there is, by name.
func (p *problem) sortKinds() {
	n := p.node.Kinds.Len()
	if p.table == p.node.Kinds && p.width == n {
		return
	}
	p.table, p.width = p.node.Kinds, n
	p.kinds = p.kinds[:0]
	for i := range n {
		p.kinds = append(p.kinds, resources.Kind(i))
	}
	slices.SortFunc(p.kinds, func(a, b resources.Kind) int {
		return strings.Compare(p.table.Name(a), p.table.Name(b))
	})
}

// filter filters and classifies the candidates, and adds up what could be freed.
func (p *plan) filter() {
	p.fillFloors()
	p.ranked = p.ranked[:0]
	for i := range p.node.On {
		c := &p.node.On[i]
		if filter, out := p.filterOf(c); out {
			p.leaveOut(c, filter)
			continue
		}
		p.ranked = append(p.ranked, p.eligibleOf(c))
	}
	p.fillShares()
}

func (p *problem) eligibleOf(c *Candidate) eligible {
	class, count := classOf(c), 1
	for m := c.With; m != nil; m = m.With {
		class, count = max(class, classOf(m)), count+1
	}
	return eligible{Candidate: c, class: class, count: count, importance: p.importanceOf(c, class)}
}

func (p *plan) leaveOut(c *Candidate, why Filter) {
	p.byFilter[why]++
	if p.reporting {
		p.filtered = append(p.filtered, Filtered{Key: c.Key, Why: why})
	}
}

// nothingToChoose reports whether the decision is made without choosing victims,
// and records its reason.
func (p *plan) nothingToChoose() bool {
	switch {
	case p.fitsNow():
		p.reason = RoomIsThere
	case p.fitsAfterReleases():
		p.reason = WaitsForReleasing
	case p.cfg.Disabled:
		p.reason = Disabled
	case len(p.ranked) == 0:
		p.reason = NoCandidates
	case !p.rules.partial && !p.reached(p.total):
		p.reason = Impossible
	default:
		return false
	}
	return true
}

// fitsNow reports whether the ask can run here as things are. One that waits for the end of others
// to get its quota cannot.
func (p *plan) fitsNow() bool {
	return p.rules.hasAsk && p.onNode == len(p.short) && p.ask.Amounts.FitsIn(p.node.Free) &&
		(p.fits == nil || !(p.node.AwaitsQuota && len(p.releasingKeys) > 0) && p.fits(nil) == nil)
}

// fitsAfterReleases reports whether the ask can run here once the releasing
// allocations have ended.
func (p *plan) fitsAfterReleases() bool {
	return len(p.short) == 0 && (p.fits == nil || len(p.releasingKeys) > 0 && p.fits(p.releasingKeys) == nil)
}

// tooYoung reports whether the reservation is too young.
func (p *plan) tooYoung(now time.Time) bool {
	if !p.rules.configured || now.Sub(p.ask.Reserved) >= p.cfg.StartDelay {
		return false
	}
	p.reason, p.again = TooYoung, p.ask.Reserved.Add(p.cfg.StartDelay)
	return true
}

// choose runs the strategies. If the resource manager refuses the ask even without all
// candidates, they run again without those that the ask needs.
func (p *plan) choose() {
	p.rank()
	if p.run(); p.reason == Refused && p.spareNeeded() {
		p.failures, p.refusal = p.failures[:0], ""
		p.run()
	}
}

// chooseConfigured runs the strategies of a required node. They look at amounts
// only. So where the resource manager is asked, reprieve is the last: it finds the
// candidates that conflict with the ask.
func (p *plan) chooseConfigured(list []Strategy) {
	last := slices.Contains(list, Reprieve)
	if len(p.short) > 0 && !last && p.chooseWithin(list) || p.fits == nil && !last {
		return
	}
	p.chooseFirst([]Strategy{Reprieve})
}

// chooseFirst runs strategies until one finds victims.
func (p *plan) chooseFirst(list []Strategy) bool {
	for _, s := range list {
		if (s != Minimal || p.minimalApplies()) && p.took(s, strategies[s].choose(p)) {
			return true
		}
	}
	return false
}

// took takes the victims that a strategy chose, or notes why there are none.
func (p *plan) took(s Strategy, c choice) bool {
	if s != Reprieve && len(c.victims) > 0 && p.fits != nil && p.fits(p.keysOf(c.victims)) != nil {
		c = choice{failure: Failure{Why: NotFitting}}
	}
	if len(c.victims) == 0 {
		c.failure.Strategy = s
		p.failures = append(p.failures, c.failure)
		return false
	}
	p.reason, p.strategy, p.proof, p.victims = Chosen, s, c.proof, c.victims
	slices.Sort(p.victims)
	p.violations = p.countViolations(p.victims)
	return true
}

// minimalApplies reports whether the strategy Minimal can be used: it considers
// amounts only, frees all or nothing, and is slow with many candidates.
func (p *plan) minimalApplies() bool {
	if !p.reached(p.total) {
		return false
	}
	most := p.rules.minimalMax
	if !p.rules.configured && p.floored() {
		most = min(most, ProvedMax)
	}
	return len(p.ranked) <= most && len(p.short) > 0
}

// victimsMax is how many victims a bounded strategy may choose.
func (p *problem) victimsMax() int {
	if p.rules.configured {
		return p.cfg.VictimsMax
	}
	return VictimsLimit
}
