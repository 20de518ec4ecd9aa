package core_test

import (
	"testing"

	"gotest.tools/v3/assert"
)

// evaluated is for how many nodes the cost is worked out for the asks of a load, and
// for how many of the asks room is made.
func (c attemptLoad) evaluated(t *testing.T) (looked, nominated uint64) {
	t.Helper()
	p := c.build(t, 256)
	run(p)
	for i := range c.asks {
		c.addAsk(p, start, i)
		run(p)
	}
	view := p.View()
	assert.Equal(t, view.Preempted.Victims.Total(), uint64(c.asks*c.victims))
	return view.Work.NodeCosts, view.Preempted.Nominations
}

// TestADecisionLooksAtWhatChanged pins what a preemption attempt looks at: the node that is
// chosen. A node that has changed, or on which room is being made for another ask, is ruled
// out by what room costs there at least. Ten times as many nodes make no difference, with one
// exception: where one victim is never enough, every node of the lowest priority, one in
// five, is looked at once to learn that.
func TestADecisionLooksAtWhatChanged(t *testing.T) {
	for _, c := range []struct {
		name string
		attemptLoad
		most uint64 // for each decision
		once uint64 // of a thousand nodes
	}{
		{"one victim", attemptLoad{pods: 4, asks: 200, classes: 1, victims: 1}, 1, 0},
		{"two victims", attemptLoad{pods: 4, asks: 200, classes: 1, victims: 2}, 1, 200},
		{"ten classes", attemptLoad{pods: 4, asks: 200, classes: 10, victims: 1}, 1, 0},
		{"each of its own class", attemptLoad{pods: 4, asks: 200, classes: 200, victims: 1}, 1, 0},
		{"guarantees beside them", attemptLoad{pods: 4, asks: 200, classes: 1, victims: 1, guaranteed: true}, 1, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, nodes := range []int{500, 5000} {
				load := c.attemptLoad
				load.nodes, load.pods = nodes, nodes*c.pods
				looked, nominated := load.evaluated(t)
				t.Logf("%d nodes: %d evaluated for %d decisions", nodes, looked, nominated)
				assert.Equal(t, nominated, uint64(load.asks))
				most := c.most*nominated + c.once*uint64(nodes)/1000
				assert.Assert(t, looked <= most, "%d nodes: %d evaluated, %d expected at most", nodes, looked, most)
			}
		})
	}
}
