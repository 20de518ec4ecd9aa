package preemptor

import (
	"slices"
	"strings"
	"time"

	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// Plan decides who makes room for the ask on its node, or, with the trigger
// Quota, who goes so that a queue keeps to its max. It changes none of its
// arguments and keeps none. With Node.Fits it asks the resource manager while
// it works, and is as good as the answers are.
//
// That the node could never hold the ask is said at once, however young the
// reservation is. A plan that came to nothing comes to the same until the node,
// the ask or the configuration changes; only TooYoung passes by itself, at
// Decision.Again.
func Plan(now time.Time, cfg Config, ask Ask, node Node) Decision {
	var pl Planner
	return pl.Plan(now, cfg, ask, node)
}

// A Planner makes plans one after the other with the same memory. It belongs to
// one goroutine; the zero value is ready.
type Planner struct{ plan plan }

// Plan is the function of that name.
func (pl *Planner) Plan(now time.Time, cfg Config, ask Ask, node Node) Decision {
	p := &pl.plan
	p.start(cfg, ask, node)
	p.telling = true
	if p.sift(); !p.settled() && !p.early(now) {
		p.choose()
	}
	return p.decision()
}

// Assess is what the plan costs that Plan would come to, without the story. It
// takes the reservation to be old enough. It makes no garbage with the trigger
// Priority, once it has seen a node as large. Of the memory of its arguments
// nothing is read after it returned.
func (pl *Planner) Cost(cfg Config, ask Ask, node Node) Cost {
	p := &pl.plan
	p.start(cfg, ask, node)
	p.telling = false
	if p.sift(); !p.settled() {
		p.choose()
	}
	return p.cost()
}

// A plan is what one call works on. Its slices are used again by the next.
type plan struct {
	cfg   Config
	ask   Ask
	node  Node
	terms *terms
	fits  func(gone []string) error // nil where it has no say

	table *resources.Kinds // of kinds
	kinds []resources.Kind // by name, so that no result depends on their numbers
	width int              // how many kinds there are

	leaving resources.Amounts
	leavers []string         // the keys of those who hold it
	short   []resources.Kind // those that must be freed, by name: first of the node, then of the quota
	onNode  int              // how many of short are of the node
	need    []int64          // how much of each of short, more than zero
	helds   []int64          // the memory of eligible.held
	total   []int64          // what all who are eligible hold of short, saturating

	ranked  []eligible // gentlest first, once rank was called
	places  []int32    // scratch of rank, as are spares
	spares  []eligible
	weighed bool    // weights are known
	left    []int64 // what may still be taken, by floor and kind
	allowed []int64 // how many may still go, by budget

	byFilter [Filters]int
	filtered []Filtered // if telling
	telling  bool
	outcome

	put              reprieval
	lacking, scratch resources.Amounts
}

// An eligible is a candidate that may be a victim.
type eligible struct {
	*Candidate
	class     Class
	tier      tier
	harm      int64   // see plan.harmOf
	violating bool    // it exceeds a budget if all go who come before it
	held      []int64 // of each of plan.short, at most the need
	weight    int64   // see plan.weigh
}

// An outcome is what a plan came to.
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
	binding    []int32 // the floors that kept somebody from going, if telling
	pooled     bool    // the strategy reprieve has filled its pot
}

// A choice is what a strategy selected, as indices of plan.ranked, or why
// nothing.
type choice struct {
	victims []int
	proof   Proof
	failure Failure
}

// start takes the arguments, without what the trigger leaves unused.
func (p *plan) start(cfg Config, ask Ask, node Node) {
	p.cfg, p.ask, p.node = cfg, ask, node
	p.terms = &triggers[ask.Trigger]
	if !p.terms.filters.has(IsGuaranteed) {
		p.node.Floors = nil
	}
	if !p.terms.filters.has(IsBudgeted) {
		p.node.Budgets = nil
	}
	p.fits = nil
	if p.terms.simulated {
		p.fits = node.Fits
	}
	p.sortKinds()
	p.byFilter, p.filtered, p.weighed = [Filters]int{}, nil, false
	p.outcome = outcome{victims: p.victims[:0], failures: p.failures[:0]}
	p.measure()
}

// sortKinds lists every kind there is, by name.
func (p *plan) sortKinds() {
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

// sift filters and classifies, and adds up what could be freed.
func (p *plan) sift() {
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
	p.share()
}

func (p *plan) eligibleOf(c *Candidate) eligible {
	class := classOf(c)
	return eligible{Candidate: c, class: class, tier: tierOf(class, false), harm: p.harmOf(c, class)}
}

func (p *plan) leaveOut(c *Candidate, why Filter) {
	p.byFilter[why]++
	if p.telling {
		p.filtered = append(p.filtered, Filtered{Key: c.Key, Why: why})
	}
}

// settled reports whether there is nothing to choose, and says why.
func (p *plan) settled() bool {
	switch {
	case p.roomIsThere():
		p.reason = RoomIsThere
	case p.waits():
		p.reason = WaitsForReleasing
	case p.cfg.Disabled:
		p.reason = Disabled
	case len(p.ranked) == 0:
		p.reason = NobodyEligible
	case !p.terms.partial && !p.reached(p.total):
		p.reason = Impossible
	default:
		return false
	}
	return true
}

// roomIsThere reports whether the ask may run here as things are.
func (p *plan) roomIsThere() bool {
	return p.terms.hasAsk && p.onNode == len(p.short) && p.ask.Amounts.FitsIn(p.node.Free) &&
		(p.fits == nil || p.fits(nil) == nil)
}

// waits reports whether the ask may run here once those are gone who leave.
func (p *plan) waits() bool {
	return len(p.short) == 0 && (p.fits == nil || len(p.leavers) > 0 && p.fits(p.leavers) == nil)
}

// early reports whether the reservation is too young.
func (p *plan) early(now time.Time) bool {
	if !p.terms.configured || now.Sub(p.ask.Reserved) >= p.cfg.StartDelay {
		return false
	}
	p.reason, p.again = TooYoung, p.ask.Reserved.Add(p.cfg.StartDelay)
	return true
}

// choose asks the strategies, one after the other.
func (p *plan) choose() {
	p.rank()
	p.flagBudgeted()
	list := p.terms.strategies
	if p.terms.configured {
		list = p.cfg.Strategies
	}
	for _, s := range list {
		if s == Minimal && !p.minimalMay() {
			continue
		}
		c := strategies[s].choose(p)
		if s == Minimal && len(c.victims) > 0 && p.fits != nil && p.fits(p.keysOf(c.victims)) != nil {
			c = choice{failure: Failure{Why: NotFitting}}
		}
		if len(c.victims) > 0 {
			p.reason, p.strategy, p.proof, p.victims = Chosen, s, c.proof, c.victims
			slices.Sort(p.victims)
			p.violations = p.countViolations(p.victims)
			return
		}
		c.failure.Strategy = s
		p.failures = append(p.failures, c.failure)
	}
	p.reason = NothingHelps
	if p.refusal != "" {
		p.reason = Refused
	}
}

// minimalMay reports whether the strategy Minimal is up to this: it adds up
// amounts only, and takes long among many.
func (p *plan) minimalMay() bool {
	most := p.terms.minimalMax
	if !p.terms.configured && p.floored() {
		most = min(most, ProvedMax)
	}
	return len(p.ranked) <= most && len(p.short) > 0
}

// victimsMax is how many victims a strategy may choose that is bounded.
func (p *plan) victimsMax() int {
	if p.terms.configured {
		return p.cfg.VictimsMax
	}
	return VictimsLimit
}
