package preemptor

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/internal/seeds"
)

// grouped is a tight node of which some candidates are members of groups, and some end together.
func grouped(r *rand.Rand, t Trigger) situation {
	s := tight(r, t)
	s.node.Fits = nil
	for i := range r.IntN(4) {
		s.node.Groups = append(s.node.Groups, Group{Name: fmt.Sprint("group-", i), Stay: 9, Spare: r.IntN(3)})
	}
	for i := range s.node.On {
		if len(s.node.Groups) > 0 && r.IntN(4) > 0 {
			s.node.On[i].Group = 1 + int32(r.IntN(len(s.node.Groups)))
		}
	}
	for range r.IntN(3) {
		s.unite(r)
	}
	return s
}

// unite makes one candidate of some that are none of a unit.
func (s *situation) unite(r *rand.Rand) {
	name := fmt.Sprint("unit-", len(s.node.Groups))
	var last *Candidate
	var rest []Candidate
	for _, c := range s.node.On {
		if c.Unit != "" || r.IntN(3) > 0 {
			rest = append(rest, c)
			continue
		}
		c.Unit, c.Group, c.With = name, int32(len(s.node.Groups)+1), last
		if last != nil {
			c.Priority = max(c.Priority, last.Priority)
			if last.Created.Before(c.Created) {
				c.Created = last.Created
			}
		}
		last = &c
	}
	if last == nil {
		return
	}
	s.node.On = append(rest, *last)
	s.node.Groups = append(s.node.Groups, Group{Name: name, Stay: len(expand([]Candidate{*last}))})
}

// expand are all that end with some candidates.
func expand(set []Candidate) (all []Candidate) {
	for i := range set {
		for c := &set[i]; c != nil; c = c.With {
			all = append(all, *c)
		}
	}
	return all
}

// figuresOf is what a set costs, in the order of its trigger, as far as all strategies promise it.
func (s situation) figuresOf(set []Candidate) (figures []int) {
	allowed, gone := make([]int, len(s.node.Budgets)), make([]int, len(s.node.Groups))
	violations, stops, class, priority, top := 0, 0, 0, -1, 0
	slices.SortFunc(set, s.order)
	for i := range set {
		violates, worst := false, 0
		for c := &set[i]; c != nil; c = c.With {
			worst = max(worst, naiveClass(*c))
			for _, b := range c.Budgets {
				allowed[b]++
				violates = violates || allowed[b] > max(s.node.Budgets[b].Allowed, 0)
			}
		}
		if violates {
			violations++
		}
		if g := set[i].Group; g > 0 {
			if gone[g-1]++; gone[g-1] == s.node.Groups[g-1].Spare+1 {
				stops++
			}
		}
		switch class = max(class, worst); {
		case int(set[i].Priority) > priority:
			priority, top = int(set[i].Priority), worst
		case int(set[i].Priority) == priority:
			top = max(top, worst)
		}
	}
	switch count := len(expand(set)); {
	case s.ask.Trigger == Priority:
		return []int{violations, priority, top, stops}
	case s.cfg.Budgets == StrictPriority:
		return []int{class, priority, violations, stops, count}
	case s.ask.Trigger == RequiredNode:
		return []int{class, violations, priority, stops, count}
	default:
		return []int{violations, class, priority, stops, count}
	}
}

// TestGroupsAndUnits compares with all sets of candidates: no others stop fewer groups and do no more harm
// that comes before, and units end whole.
func TestGroupsAndUnits(t *testing.T) {
	var pl Planner
	var chosen, stopping, whole [Triggers]int
	for seed := range seeds.Of(t, 6_000) {
		trigger := Trigger(seed % 4)
		s := grouped(rand.New(rand.NewPCG(seed, 34)), trigger)
		s.cfg.Strategies, s.cfg.VictimsMax = []Strategy{Minimal}, VictimsLimit
		if trigger == RequiredNode {
			s.node.Floors = nil
			for i := range s.node.On {
				for c := &s.node.On[i]; c != nil; c = c.With {
					c.Floors = nil
				}
			}
		}
		if trigger == Priority && s.cfg.Budgets == StrictPriority || s.enough(nil) {
			continue
		}
		var best []int
		for set := range setsOf(s.node.On) {
			all := expand(set)
			if !s.enough(all) || !s.keeps(all) {
				continue
			}
			figures := s.figuresOf(slices.Clone(set))
			if at := slices.Index([]Trigger{RequiredNode}, trigger) + 1; s.cfg.Budgets == HardBudgets && figures[at] > 0 {
				continue
			}
			if best == nil || slices.Compare(figures, best) < 0 {
				best = figures
			}
		}
		d := pl.Plan(epoch, s.cfg, s.ask, s.node)
		if best == nil {
			assert.Assert(t, d.Reason != Chosen || d.Partial, "seed %d: %s", seed, d)
			continue
		}
		assert.Equal(t, d.Reason, Chosen, "seed %d: %v", seed, d.Failures)
		var heads []Candidate
		for _, c := range s.node.On {
			ended := 0
			all := expand([]Candidate{c})
			for _, one := range all {
				if slices.ContainsFunc(d.Victims, func(v Victim) bool { return v.Key == one.Key }) {
					ended++
				}
			}
			assert.Assert(t, ended == 0 || ended == len(all), "seed %d: %d of a unit of %d end: %s", seed, ended, len(all), d)
			if ended > 0 {
				heads = append(heads, c)
			}
			if ended > 1 {
				whole[trigger]++
			}
		}
		got := s.figuresOf(slices.Clone(heads))
		assert.Assert(t, slices.Equal(got, best), "seed %d: %s costs %v, not %v", seed, d, got, best)
		assert.Equal(t, pl.Cost(s.cfg, s.ask, s.node), d.Cost, "seed %d", seed)
		if chosen[trigger]++; len(d.Stops) > 0 {
			stopping[trigger]++
		}
		for i := range heads {
			assert.Assert(t, !s.enough(expand(slices.Delete(slices.Clone(heads), i, i+1))), "seed %d: %s could stay", seed, heads[i].Key)
		}
	}
	t.Log("chosen", chosen, "stopping groups", stopping, "whole units", whole)
	for trigger := range Triggers {
		assert.Assert(t, stopping[trigger] > seeds.Part(t, 200) && whole[trigger] > seeds.Part(t, 20))
	}
}
