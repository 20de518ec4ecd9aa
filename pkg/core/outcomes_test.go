package core_test

import (
	"fmt"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/core/preemptor"
	"github.com/narwhal-scheduler/narwhal/pkg/internal/seeds"
	"github.com/narwhal-scheduler/narwhal/pkg/outcomes"
)

// An outcomeChecker recounts what a book of outcomes says of the victims of a partition.
type outcomeChecker struct {
	book   outcomes.Book
	told   map[api.AllocationKey]int // victims by key that run, and those that ended
	ended  map[api.AllocationKey]int
	runs   map[api.AllocationKey]*api.Allocation
	causes [outcomes.Causes]uint64
}

func newOutcomeChecker() *outcomeChecker {
	return &outcomeChecker{
		told: map[api.AllocationKey]int{}, ended: map[api.AllocationKey]int{}, runs: map[api.AllocationKey]*api.Allocation{},
	}
}

func (c *outcomeChecker) observe(fx api.Effects) {
	c.book.Observe(fx)
	for i, event := range fx {
		switch e := event.(type) {
		case *api.EvictionRequested:
			if e.Trigger != preemptor.Quota {
				c.told[e.Key]++
			}
		case api.Placed:
			c.runs[e.Key] = e.Allocation
		case api.Adopted:
			c.runs[e.Key] = e.Allocation
		case *api.Ended:
			delete(c.runs, e.Key)
			c.end(e.Key)
		case api.ForeignRemoved:
			if !e.StaysIn(fx[i+1:]) {
				c.end(e.Key)
			}
		}
	}
}

func (c *outcomeChecker) end(key api.AllocationKey) {
	if c.told[key] > 0 {
		c.told[key]--
		c.ended[key]++
	}
}

// settle checks that what is wasted has ended, is told once, and was for an ask that does not run
// where the room was made.
func (c *outcomeChecker) settle(v *api.View) error {
	for _, event := range c.book.Settle() {
		e := event.(*outcomes.VictimsWasted)
		c.causes[e.Cause] += uint64(len(e.Victims))
		for _, key := range e.Victims {
			if c.ended[key]--; c.ended[key] < 0 {
				return fmt.Errorf("%s is wasted, and has not ended, or was wasted before", key)
			}
		}
		if r := c.runs[e.For]; e.Cause != outcomes.NodeChanged && r != nil && r.Node == e.Node {
			return fmt.Errorf("%v are wasted, by %s, and %s runs on %s", e.Victims, e.Cause, e.For, e.Node)
		}
	}
	counts, p, coming := c.book.Counts(), &v.Preempted, uint64(0)
	for _, count := range c.told {
		coming += uint64(count)
	}
	if counts.Served+counts.Wasted.Total()+counts.Undecided != p.Victims.Total()-p.Victims.By(preemptor.Quota) || coming > counts.Undecided {
		return fmt.Errorf("%d have not ended, and of %v it is counted %v", coming, p.Victims, counts)
	}
	return nil
}

// TestOutcomesOfVictims has every eviction of a random history end in one way at most, and tells
// causes of those that were wasted.
func TestOutcomesOfVictims(t *testing.T) {
	var all outcomes.Counts
	var causes [outcomes.Causes]uint64
	for seed := range seeds.Of(t, 400) {
		h, c := newHistory(seeded(seed, 21)), newOutcomeChecker()
		h.heard = c.observe
		for i := range 200 {
			done := h.step()
			assert.NilError(t, h.p.Verify(), "seed %d, step %d: %T%+v", seed, i, done, done)
			assert.NilError(t, c.settle(h.p.View()), "seed %d, step %d: %T%+v", seed, i, done, done)
		}
		counts := c.book.Counts()
		all.Served, all.Undecided = all.Served+counts.Served, all.Undecided+counts.Undecided
		for cause, count := range c.causes {
			causes[cause] += count
		}
	}
	t.Logf("%d served, %d undecided, wasted by cause %v", all.Served, all.Undecided, causes)
	assert.Assert(t, all.Served > seeds.Part(t, uint64(100)))
}
