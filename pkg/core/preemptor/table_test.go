package preemptor

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/internal/seeds"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// A rule selects victims, or none.
type rule struct {
	name   string
	choose func(situation) []Candidate
}

var rules = []rule{
	{"single", byStrategies(Single)},
	{"multiple", byStrategies(Multiple)},
	{"single,multiple", byStrategies(Single, Multiple)},
	{"single,multiple,minimal", byStrategies(Single, Multiple, Minimal)},
	{"minimal", byStrategies(Minimal)},
	{"sum until it covers the ask", sumUntilCovered},
}

func byStrategies(list ...Strategy) func(situation) []Candidate {
	return func(s situation) []Candidate {
		s.cfg.Strategies = list
		return victimsOf(s.plan())
	}
}

// sumUntilCovered is what other schedulers do: take one after the other until the
// victims hold as much as the ask, as if nothing were free and nothing being
// released.
func sumUntilCovered(s situation) []Candidate {
	var able, victims []Candidate
	for _, c := range s.node.On {
		if mayBeVictim(s, c) {
			able = append(able, c)
		}
	}
	slices.SortFunc(able, func(a, b Candidate) int {
		return cmp.Or(
			cmp.Compare(naiveClass(a), naiveClass(b)),
			cmp.Compare(a.Priority, b.Priority),
			b.Created.Compare(a.Created),
			s.node.Kinds.Compare(a.Amounts, b.Amounts),
			cmp.Compare(a.Key, b.Key),
		)
	})
	var sum resources.Amounts
	for _, c := range able {
		if s.ask.Amounts.FitsIn(sum) {
			break
		}
		sum.Add(c.Amounts)
		victims = append(victims, c)
	}
	if !missing(s, victims...).IsZero() {
		return nil
	}
	return victims
}

// fewestOf is how many victims would do if class and priority were nothing.
func fewestOf(s situation) int {
	var able []Candidate
	for _, c := range s.node.On {
		if c.Releasing || mayBeVictim(s, c) {
			c.Owner, c.Foreign, c.OptedOut, c.Priority = false, false, false, s.ask.Priority
			able = append(able, c)
		}
	}
	s.node.On = able
	best, _ := bruteForce(s, len(able))
	return best.victims
}

// A tally is what a rule came to over all nodes, and what the optimum comes to
// on the same nodes.
type counts struct {
	served, victims, optimum, fewest int
	weight, least                    int64
	class, priority                  int // on how many nodes the class, or in the same class the priority, is above that of the optimum
}

// TestVictimsByRule prints, over the random nodes, how many asks each rule finds
// room for and at what price. The optimum goes by class and priority first, so
// it is above the fewest victims that would do if all were alike. With -v it is
// a table for the documentation.
func TestVictimsByRule(t *testing.T) {
	tallies := make([]counts, len(rules))
	short, possible := 0, 0
	eachNode(t, func(_ *testing.T, _ uint64, s situation) {
		s.cfg = DefaultConfig()
		if missing(s).IsZero() {
			return
		}
		short++
		best, ok := bruteForce(s, s.cfg.VictimsMax)
		if !ok {
			return
		}
		possible++
		fewest := fewestOf(s)
		for i, rule := range rules {
			chosen := rule.choose(s)
			if len(chosen) == 0 {
				continue
			}
			p, to := priceOf(s, chosen), &tallies[i]
			to.served++
			to.victims += p.victims
			to.weight += p.weight
			to.optimum += best.victims
			to.fewest += fewest
			to.least += best.weight
			switch {
			case p.class > best.class:
				to.class++
			case p.class == best.class && p.priority > best.priority:
				to.priority++
			}
		}
	})
	var b strings.Builder
	fmt.Fprintf(&b, "%d nodes, %d asks do not fit, %d of them can be served by preemption\n", seeds.Part(t, nodes), short, possible)
	fmt.Fprintln(&b, "| rule | asks served | worse class | higher priority | victims | optimum | fewest of any class | evicted against the optimum |")
	fmt.Fprintln(&b, "|---|---:|---:|---:|---:|---:|---:|---:|")
	for i, to := range tallies {
		fmt.Fprintf(&b, "| %s | %d | %d | %d | %d | %d | %d | %.2f |\n",
			rules[i].name, to.served, to.class, to.priority, to.victims, to.optimum, to.fewest, float64(to.weight)/float64(to.least))
	}
	t.Log("\n" + b.String())
	list, minimal, others := tallies[3], tallies[4], tallies[5]
	assert.Equal(t, list.served, possible)
	assert.Equal(t, list.class+list.priority+minimal.class+minimal.priority, 0)
	assert.Assert(t, others.class > 0 && others.priority > 0)
	assert.Equal(t, minimal.served, possible)
	assert.Equal(t, minimal.victims, minimal.optimum)
	assert.Equal(t, minimal.weight, minimal.least)
	assert.Assert(t, others.victims > others.optimum)
}
