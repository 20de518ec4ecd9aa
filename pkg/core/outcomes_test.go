package core_test

import (
	"fmt"
	"slices"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/core"
	"github.com/narwhal-scheduler/narwhal/pkg/core/preemptor"
)

// An outcomeChecker follows victims by events alone, and says where it disagrees with what
// the core says of them: each is served, wasted by one cause, or undecided.
type outcomeChecker struct {
	victims []*followed // that are not wasted
	target  map[core.AllocationKey]core.NodeID
	asks    map[core.AllocationKey]*core.Allocation
	runs    map[core.AllocationKey]*core.Allocation
	ended   [3]uint64 // served, wasted, by quota
	causes  [core.WasteCauses]uint64
	broken  error // what the last step broke
}

// followed is a victim of which is known for which ask it was told to end, and where the
// ask would run.
type followed struct {
	key       core.AllocationKey
	ask       *core.Allocation
	trigger   preemptor.Trigger
	node      core.NodeID
	elsewhere bool // it frees quota only
	ended     bool
	used      bool // the ask, or one like it, was placed where the room is made
}

func newOutcomeChecker() *outcomeChecker {
	return &outcomeChecker{
		target: map[core.AllocationKey]core.NodeID{},
		asks:   map[core.AllocationKey]*core.Allocation{}, runs: map[core.AllocationKey]*core.Allocation{},
	}
}

func (c *outcomeChecker) follow(fx core.Effects) error {
	for _, event := range fx {
		switch e := event.(type) {
		case core.AskAdded:
			c.asks[e.Key] = e.Allocation
		case core.AskResized:
			c.asks[e.Key] = e.Allocation
		case *core.Nominated:
			c.target[e.Key] = e.Node
		case *core.EvictionRequested:
			c.tell(e)
		case core.Placed:
			c.placed(e.Allocation)
		case core.Adopted:
			c.placed(e.Allocation)
		case *core.Ended:
			delete(c.runs, e.Key)
			c.end(e.Key)
		case core.ForeignRemoved:
			c.end(e.Key)
		case *core.VictimsWasted:
			if err := c.wasted(e); err != nil {
				return err
			}
		}
	}
	return nil
}

func (c *outcomeChecker) tell(e *core.EvictionRequested) {
	if e.Trigger == preemptor.Quota {
		c.ended[2]++
		return
	}
	ask := c.asks[e.For]
	node := c.target[e.For]
	if ask.Required != "" {
		node = ask.Required
	}
	c.victims = append(c.victims, &followed{key: e.Key, ask: ask, trigger: e.Trigger, node: node, elsewhere: e.Node != node})
}

// placed has an ask use what was made for it or for one like it.
func (c *outcomeChecker) placed(a *core.Allocation) {
	c.runs[a.Key] = a
	for _, v := range c.victims {
		like := v.ask.Key == a.Key || v.ask.Priority == a.Priority && v.ask.Required == a.Required && v.ask.Amounts.Equal(a.Amounts)
		v.used = v.used || like && (v.elsewhere || v.node == a.Node)
	}
}

func (c *outcomeChecker) end(key core.AllocationKey) {
	for _, v := range c.victims {
		v.ended = v.ended || v.key == key
	}
}

// wasted checks that victims have ended, for an ask that does not run where the room was
// made, and are told once.
func (c *outcomeChecker) wasted(e *core.VictimsWasted) error {
	for _, key := range e.Victims {
		at := c.find(key, e)
		runs := c.runs[e.For]
		switch {
		case at < 0:
			return fmt.Errorf("%s is wasted, and was not told to end for %s, or has not ended, or was wasted before", key, e.For)
		case e.Cause != core.NotBound && e.Cause != core.NodeChanged && runs != nil && runs.Node == e.Node && runs.Application == e.Application:
			return fmt.Errorf("%s is wasted, by %s, and %s runs on %s", key, e.Cause, e.For, e.Node)
		}
		c.victims = slices.Delete(c.victims, at, at+1)
		c.ended[1]++
		c.causes[e.Cause]++
	}
	return nil
}

// find is a victim that may be wasted: one that was used for no ask before one that was,
// since a key may be that of several victims, one after the other.
func (c *outcomeChecker) find(key core.AllocationKey, e *core.VictimsWasted) int {
	found := -1
	for i, v := range c.victims {
		if v.key != key || !v.ended || v.trigger != e.Trigger || v.ask.Key != e.For && !v.used {
			continue
		}
		if found < 0 || c.victims[found].used {
			found = i
		}
	}
	return found
}

// agree compares with the counts of a view: what is not wasted and has ended was used, or
// is undecided.
func (c *outcomeChecker) agree(v *core.View) error {
	p := &v.Preempted
	unused, open := uint64(0), uint64(0)
	for _, one := range c.victims {
		if open++; one.ended && !one.used {
			unused++
		}
	}
	switch {
	case p.Wasted.Total() != c.ended[1]:
		return fmt.Errorf("%d are wasted, and %d were told", p.Wasted.Total(), c.ended[1])
	case p.Served+p.Undecided != open || p.Served+p.Wasted.Total()+p.Undecided+p.Victims.By(preemptor.Quota) != p.Victims.Total():
		return fmt.Errorf("%d are not wasted, counted %+v", open, *p)
	case unused > p.Undecided:
		return fmt.Errorf("%d have ended and are not used, and %d are undecided", unused, p.Undecided)
	}
	return nil
}

// TestOutcomesOfVictims has every eviction of a random history end in exactly one way,
// and knows the cause of each that was wasted.
func TestOutcomesOfVictims(t *testing.T) {
	var all, served uint64
	var causes [core.WasteCauses]uint64
	for seed := range uint64(800) {
		h := newHistory(seeded(seed, 21))
		h.outcomes = newOutcomeChecker()
		for i := range 200 {
			done := h.step()
			assert.NilError(t, h.outcomes.broken, "seed %d, step %d: %T%+v", seed, i, done, done)
			assert.NilError(t, h.p.Verify(), "seed %d, step %d: %T%+v", seed, i, done, done)
			assert.NilError(t, h.outcomes.agree(h.p.View()), "seed %d, step %d: %T%+v", seed, i, done, done)
		}
		was := h.p.View().Preempted
		all, served = all+was.Victims.Total(), served+was.Served
		for cause, count := range h.outcomes.causes {
			causes[cause] += count
			if core.WasteCause(cause) == core.OtherCause && count > 0 {
				t.Errorf("seed %d: %d victims wasted without a cause", seed, count)
			}
		}
	}
	named := map[string]uint64{}
	for cause, count := range causes {
		named[core.WasteCause(cause).String()] = count
	}
	t.Logf("of %d victims %d were served, wasted %v", all, served, named)
	assert.Assert(t, served > 300)
	for _, cause := range []core.WasteCause{
		core.AskRemoved, core.AskChanged, core.RanElsewhere, core.NodeChanged, core.RoomBooked, core.NotFeasible,
		core.NotBound, core.MoreImportant, core.VictimOverdue,
	} {
		assert.Assert(t, causes[cause] > 0, "none wasted by %s", cause)
	}
}

// The names of causes are all different, since metrics and reports count by them.
func TestWasteCauses(t *testing.T) {
	var names []string
	for cause := range core.WasteCauses {
		name := core.WasteCause(cause).String()
		assert.Assert(t, name != "" && !slices.Contains(names, name), name)
		names = append(names, name)
	}
}
