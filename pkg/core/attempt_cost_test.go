package core_test

import (
	"testing"

	"gotest.tools/v3/assert"
)

// prospects is how many nodes are assessed for the asks of a crowd, and how many
// of the asks room is made for.
func (c crowd) prospects(t *testing.T) (looked, nominated uint64) {
	t.Helper()
	p := c.build(t, 256)
	run(p)
	for i := range c.hunters {
		c.hunt(p, start, i)
		run(p)
	}
	view := p.View()
	assert.Equal(t, view.Preempted.Victims.Total(), uint64(c.hunters*c.victims))
	return view.Work.NodeCosts, view.Preempted.Nominations
}

// TestADecisionLooksAtWhatChanged pins what hunting looks at: the nodes that
// changed since the last hunt for the same, and the one that is chosen. Ten
// times as many nodes make no difference, but that where one victim is never
// enough every node of the lowest priority, one in five, is looked at once to
// learn that.
func TestADecisionLooksAtWhatChanged(t *testing.T) {
	for _, c := range []struct {
		name string
		crowd
		most uint64 // for each decision
		once uint64 // of a thousand nodes
	}{
		{"one victim", crowd{pods: 4, hunters: 200, shapes: 1, victims: 1}, 2, 0},
		{"two victims", crowd{pods: 4, hunters: 200, shapes: 1, victims: 2}, 2, 200},
		{"ten shapes", crowd{pods: 4, hunters: 200, shapes: 10, victims: 1}, 11, 0},
		{"guarantees beside them", crowd{pods: 4, hunters: 200, shapes: 1, victims: 1, guaranteed: true}, 2, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, nodes := range []int{500, 5000} {
				crowd := c.crowd
				crowd.nodes, crowd.pods = nodes, nodes*c.pods
				looked, nominated := crowd.prospects(t)
				t.Logf("%d nodes: %d assessed for %d decisions", nodes, looked, nominated)
				assert.Equal(t, nominated, uint64(crowd.hunters))
				most := c.most*nominated + c.once*uint64(nodes)/1000
				assert.Assert(t, looked <= most, "%d nodes: %d assessed, %d expected at most", nodes, looked, most)
			}
		})
	}
}
