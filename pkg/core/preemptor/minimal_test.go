package preemptor

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/internal/seeds"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// TestMinimalOnHardNodes compares with all sets of up to four of 20 candidates,
// on nodes where the bounds do not settle it and the search has to.
func TestMinimalOnHardNodes(t *testing.T) {
	var steps, chosen int64
	for seed := range seeds.Of(t, 1200) {
		r := rand.New(rand.NewPCG(seed, 2))
		s := hardNode(r, int(seed)%len(families), 20, 1+int(seed)/len(families)%4)
		s.cfg.VictimsMax = 4
		if seed%2 == 0 { // all alike, so that number and weight decide
			for i := range s.node.On {
				c := &s.node.On[i]
				c.Owner, c.Foreign, c.OptedOut, c.Priority = false, false, false, 0
			}
		}
		d := s.plan()
		want, found := upToFour(s)
		assert.Equal(t, d.Reason == Chosen, found, "seed %d: %s", seed, d)
		if !found {
			continue
		}
		assert.Equal(t, priceOf(s, victimsOf(d)), want, "seed %d: %s", seed, d)
		assert.Assert(t, d.Proof.Proved, "seed %d", seed)
		steps += d.Proof.Steps
		chosen++
	}
	t.Logf("%d plans, %d steps", chosen, steps)
	assert.Assert(t, chosen > int64(seeds.Part(t, 900)) && steps > 30*chosen, "%d plans, %d steps", chosen, steps)
}

// upToFour is bruteForce for many candidates and few victims.
func upToFour(s situation) (best price, found bool) {
	var able []Candidate
	for _, c := range s.node.On {
		if mayBeVictim(s, c) {
			able = append(able, c)
		}
	}
	need := missing(s)
	var try func(from int, p price, sum [4]int64)
	try = func(from int, p price, sum [4]int64) {
		enough := true
		for i, v := range need {
			enough = enough && sum[i] >= v
		}
		if enough {
			if !found || p.less(best) {
				best, found = p, true
			}
			return
		}
		if p.victims == 4 {
			return
		}
		for i := from; i < len(able); i++ {
			one, next := priceOf(s, able[i:i+1]), sum
			for k, v := range able[i].Amounts {
				next[k] += v
			}
			try(i+1, price{max(p.class, one.class), max(p.priority, one.priority), p.victims + 1, p.weight + one.weight}, next)
		}
	}
	try(0, price{priority: math.MinInt32}, [4]int64{})
	return best, found
}

// TestBrokenOff gives the search too few steps: it says so, what it found still
// suffices, and the bounds it reports hold for the best there is.
func TestBrokenOff(t *testing.T) {
	open, without := 0, 0
	for seed := range seeds.Of(t, 60) {
		s := hardNode(rand.New(rand.NewPCG(seed, 3)), int(seed)%len(families), 100, 4)
		for i := range s.node.On {
			c := &s.node.On[i]
			c.Owner, c.Foreign, c.OptedOut, c.Priority = false, false, false, 0
		}
		s.cfg.StepsMax = 1 << 30
		best := s.plan()
		assert.Assert(t, best.Proof.Proved)
		s.cfg.StepsMax = 50
		d := s.plan()
		checkLaws(t, seed, s, d)
		assert.Equal(t, d.Reason, Chosen)
		if d.Proof.Proved {
			assert.Equal(t, d.Weight, best.Weight, "seed %d", seed)
			continue
		}
		open++
		assert.Assert(t, strings.Contains(d.Explain(s.node.Kinds), "proof      stopped after "), d.Explain(s.node.Kinds))

		// With no victim to spare, it may come upon none in one step.
		s.cfg.StepsMax, s.cfg.VictimsMax = 1, len(best.Victims)
		if d := s.plan(); d.Reason != Chosen {
			without++
			assert.Equal(t, d.Failures[0].String(), "minimal: stopped after 1 steps")
		}
	}
	assert.Assert(t, open > seeds.Part(t, 20) && without > 0, "%d of %d were broken off, %d with nothing", open, seeds.Part(t, 60), without)
}

// TestExtremes sees that nothing overflows at the ends of the numbers.
func TestExtremes(t *testing.T) {
	kinds := kindsOf(rand.New(rand.NewPCG(0, 0)), 2)
	s := situation{cfg: DefaultConfig(), node: Node{Kinds: kinds}}
	s.ask = Ask{Key: "ask", Amounts: resources.Amounts{math.MaxInt64, 1}, Priority: math.MaxInt32}
	for i := range 70 {
		s.node.On = append(s.node.On, Candidate{
			Key: fmt.Sprint("c", i), Amounts: resources.Amounts{math.MaxInt64 - int64(i), math.MinInt64}, Priority: math.MinInt32,
		})
	}
	s.node.On = append(s.node.On, Candidate{Key: "d", Amounts: resources.Amounts{5, math.MaxInt64}})
	for strategy := range configurable {
		d := s.with(strategy).plan()
		if strategy == Single {
			assert.Equal(t, d.Failures[0].String(), "single: no single victim is enough")
			continue
		}
		assert.Equal(t, d.Reason, Chosen, "%s: %v", strategy, d.Failures)
		assert.Equal(t, len(d.Victims), 2, "%s: %s", strategy, d)
	}
	s.node.Free = resources.Amounts{math.MinInt64, math.MinInt64}
	s.plan()
	s.ask.Amounts = resources.Amounts{math.MinInt64, -1}
	assert.Equal(t, s.plan().Reason, RoomIsThere)
	s.ask.Amounts = nil
	assert.Equal(t, s.plan().Reason, RoomIsThere)
	assert.Equal(t, Plan(time.Time{}, Config{}, Ask{Amounts: resources.Amounts{1}}, Node{Kinds: kinds}).Reason, NoCandidates)
}

// TestManyOfTheLargest: what many victims hold together is beyond the numbers, and a small one of
// another kind is needed beside them.
func TestManyOfTheLargest(t *testing.T) {
	for _, strategy := range []Strategy{Multiple, Minimal} {
		s := situation{cfg: DefaultConfig(), node: Node{Kinds: kindsOf(rand.New(rand.NewPCG(0, 0)), 2)}}
		s.ask = Ask{Key: "ask", Priority: 9, Amounts: resources.Amounts{math.MaxInt64 - 1, 1}}
		for i := range 5 {
			s.node.On = append(s.node.On, Candidate{Key: fmt.Sprint("c", i), Amounts: resources.Amounts{math.MaxInt64 - 1, 0}})
		}
		s.node.On = append(s.node.On, Candidate{Key: "small", Amounts: resources.Amounts{0, 1}, Owner: true})
		for _, conflicts := range []bool{false, true} {
			if conflicts {
				s.node.Fits = conflictWith(s, "c3", "c4")
			}
			d := s.with(strategy).plan()
			assert.Equal(t, d.Reason, Chosen, "%s: %v", strategy, d.Failures)
			if !conflicts {
				assert.Equal(t, len(d.Victims), 2, "%s: %s", strategy, d)
			}
		}
	}
}

// FuzzPlan makes small nodes from bytes and holds every plan to the laws and
// minimal to brute force.
func FuzzPlan(f *testing.F) {
	for seed := range uint64(20) {
		f.Add(seed, byte(seed*37), byte(seed*11))
	}
	f.Fuzz(func(t *testing.T, seed uint64, victims, deviation byte) {
		s := randomSituation(rand.New(rand.NewPCG(seed, 4)))
		s.cfg.VictimsMax, s.cfg.DeviationMax = int(victims%16)+1, int64(deviation)
		for strategy := range Strategy(len(strategies)) {
			checkLaws(t, seed, s, s.with(strategy).plan())
		}
		d := s.with(Minimal).plan()
		if best, found := bruteForce(s, s.cfg.VictimsMax); found && !missing(s).IsZero() {
			assert.Equal(t, priceOf(s, victimsOf(d)), best, "%s", d)
		}
	})
}
