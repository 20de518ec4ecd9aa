package core_test

import (
	"math/rand/v2"
	"testing"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"
	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
)

// playInPieces has the asks come in a number of pieces, with a batch after each, and the
// victims confirmed in pieces of any size between batches. It returns how many there were.
func (m *mix) playInPieces(t *testing.T, c *rand.Rand, pieces, batchMax int) (victims int) {
	t.Helper()
	p := m.buildWith(api.Options{Kinds: testKinds(), ReserveDelay: -1, BatchMax: batchMax})
	var ending []*api.EvictionRequested
	schedule := func() (more bool) {
		fx, more := p.Schedule(start)
		for _, event := range fx {
			if e, ok := event.(*api.EvictionRequested); ok {
				ending = append(ending, e)
				victims++
			}
		}
		return more
	}
	confirm := func(n int) {
		for _, e := range ending[:n] {
			p.Apply(start, api.ReleaseAllocation{
				Application: e.Application, Key: e.Key, Termination: si.TerminationType_PREEMPTED_BY_SCHEDULER,
			})
		}
		ending = ending[n:]
	}
	for i := range m.asks {
		m.addAsk(p, i)
		if int(i)%(int(m.asks)/pieces) == 0 && pieces > 1 {
			schedule()
			confirm(c.IntN(len(ending) + 1))
		}
	}
	for schedule() || len(ending) > 0 {
		confirm(c.IntN(len(ending) + 1))
	}
	assert.Equal(t, int64(p.View().Work.Placements), m.asks)
	assert.NilError(t, p.Verify())
	return victims
}

// TestVictimsThatEndBetweenBatches: how the confirmations of victims fall between batches does
// not matter for how many there are. In how many pieces the asks come does: five of two units
// need three victims each time, of four, four and two units, and one alone needs one or two.
func TestVictimsThatEndBetweenBatches(t *testing.T) {
	if testing.Short() {
		t.Skip("long, so make test-long plays it")
	}
	for _, c := range []struct{ pieces, batchMax, most int }{
		{1, 0, 140},
		{1, 16, 140},
		{5, 0, 140},
		{5, 16, 140},
		{50, 0, 150},
		{50, 16, 150},
		{250, 0, 212},
	} {
		for seed := range uint64(4) {
			m := backlogMix()
			victims := m.playInPieces(t, rand.New(rand.NewPCG(seed, 3)), c.pieces, c.batchMax)
			assert.Assert(t, victims >= 140 && victims <= c.most, "%+v, seed %d: %d victims", c, seed, victims)
		}
	}
}
