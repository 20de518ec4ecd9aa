package preemptor

import (
	"slices"
	"strings"
	"time"

	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// Plan decides who makes room for the ask on its node, if anybody must and
// can. It changes none of its arguments and keeps none.
//
// That the node could never hold the ask is said at once, however young the
// reservation is. A plan that came to nothing comes to the same until the node,
// the ask or the configuration changes; only TooYoung passes by itself, at
// Decision.Again.
func Plan(now time.Time, cfg Config, ask Ask, node Node) Decision {
	p := &plan{cfg: cfg, ask: ask, node: node, kinds: kindsByName(ask, node)}
	p.measure()
	p.sift()
	d := &p.decision
	switch {
	case ask.Amounts.FitsIn(node.Free):
		return p.because(RoomIsThere)
	case len(p.short) == 0:
		return p.because(WaitsForLeaving)
	case cfg.Disabled:
		return p.because(Disabled)
	case len(p.ranked) == 0:
		return p.because(NobodyEligible)
	case !d.Needed.FitsIn(d.Freeable):
		return p.because(Impossible)
	case now.Sub(ask.Reserved) < cfg.StartDelay:
		d.Again = ask.Reserved.Add(cfg.StartDelay)
		return p.because(TooYoung)
	}
	p.rank()
	for _, s := range cfg.Strategies {
		c := strategies[s].choose(p)
		if len(c.victims) > 0 {
			return p.chosen(s, c)
		}
		c.failure.Strategy = s
		d.Failures = append(d.Failures, c.failure)
	}
	return p.because(NothingHelps)
}

// A plan is what one call of Plan works on.
type plan struct {
	cfg  Config
	ask  Ask
	node Node

	kinds []resources.Kind // by name, so that no result depends on their numbers
	short []resources.Kind // those that must be freed, by name
	need  []int64          // how much of each of short, more than zero

	ranked   []eligible // gentlest first, once rank was called
	decision Decision
}

// An eligible is a candidate that may be a victim.
type eligible struct {
	*Candidate
	class  Class
	held   []int64 // of each of plan.short, at most the need
	weight int64   // see plan.weigh
}

// A choice is what a strategy selected, as indices of plan.ranked, or why
// nothing.
type choice struct {
	victims []int
	proof   Proof
	failure Failure
}

// kindsByName lists every kind that is mentioned, by name.
func kindsByName(ask Ask, node Node) []resources.Kind {
	width := max(len(ask.Amounts), len(node.Free))
	for i := range node.On {
		width = max(width, len(node.On[i].Amounts))
	}
	kinds := make([]resources.Kind, width)
	for i := range kinds {
		kinds[i] = resources.Kind(i)
	}
	slices.SortFunc(kinds, func(a, b resources.Kind) int {
		return strings.Compare(node.Kinds.Name(a), node.Kinds.Name(b))
	})
	return kinds
}

// holds is what the release of c frees.
func holds(c *Candidate) resources.Amounts {
	if _, negative := c.Amounts.Negative(); !negative {
		return c.Amounts
	}
	held := c.Amounts.Clone()
	for i, v := range held {
		held[i] = max(v, 0)
	}
	return held
}

// measure works out what is leaving and what must be freed beyond that.
func (p *plan) measure() {
	d := &p.decision
	d.Ask = p.ask.Key
	d.Asked = p.ask.Amounts.Clone()
	d.Free = p.node.Free.Clone()
	for i := range p.node.On {
		if c := &p.node.On[i]; c.Leaving && !c.Stuck {
			d.Leaving.Add(holds(c))
		}
	}
	lacking := p.ask.Amounts.Minus(p.node.Free)
	lacking.Sub(d.Leaving)
	for _, kind := range p.kinds {
		if short := lacking.Of(kind); short > 0 && p.ask.Amounts.Of(kind) > 0 {
			d.Needed.Set(kind, short)
			p.short = append(p.short, kind)
			p.need = append(p.need, short)
		}
	}
}

// sift filters and classifies, and adds up what could be freed.
func (p *plan) sift() {
	d := &p.decision
	for i := range p.node.On {
		c := &p.node.On[i]
		if filter, out := p.filterOf(c); out {
			d.Filtered = append(d.Filtered, Filtered{Key: c.Key, Why: filter})
			d.ByFilter[filter]++
			continue
		}
		class := classOf(c)
		d.ByClass[class]++
		p.ranked = append(p.ranked, eligible{Candidate: c, class: class})
		d.Freeable.Add(holds(c))
	}
	slices.SortFunc(d.Filtered, func(a, b Filtered) int {
		if a.Why != b.Why {
			return int(a.Why) - int(b.Why)
		}
		return strings.Compare(a.Key, b.Key)
	})
}

func (p *plan) because(reason Reason) Decision {
	p.decision.Reason = reason
	return p.decision
}

// chosen fills in the victims, the gentlest first.
func (p *plan) chosen(s Strategy, c choice) Decision {
	d := &p.decision
	d.Reason, d.Strategy, d.Proof = Chosen, s, c.proof
	slices.Sort(c.victims)
	for _, i := range c.victims {
		e := p.ranked[i]
		v := Victim{Candidate: *e.Candidate, Class: e.class}
		v.Amounts = v.Amounts.Clone()
		d.Victims = append(d.Victims, v)
		d.Freed.Add(holds(e.Candidate))
		d.Weight += e.weight
	}
	return *d
}

// suffice reports whether what these victims hold covers the need.
func (p *plan) suffice(victims []int) bool {
	for k, need := range p.need {
		for _, i := range victims {
			if need -= p.ranked[i].held[k]; need <= 0 {
				break
			}
		}
		if need > 0 {
			return false
		}
	}
	return true
}

// A Planner makes plans one after the other with the same memory. It belongs to
// one goroutine.
type Planner struct{}

// Plan is the function of that name.
func (pl *Planner) Plan(now time.Time, cfg Config, ask Ask, node Node) Decision {
	return Plan(now, cfg, ask, node)
}

// Assess is what Plan would come to on a node, without the story.
func (pl *Planner) Assess(cfg Config, ask Ask, node Node) Cost {
	d := Plan(time.Time{}, cfg, ask, node)
	return d.Cost
}
