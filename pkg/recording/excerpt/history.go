package excerpt

import (
	"iter"
	"maps"
	"slices"
	"time"

	"github.com/narwhal-scheduler/narwhal/pkg/core"
	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/internal/scenario"
	"github.com/narwhal-scheduler/narwhal/pkg/recording"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// A history is the steps of a segment up to one, what the resource manager answered, and views before some of them.
type history struct {
	partition *core.Partition // after the last step
	kinds     *resources.Kinds
	steps     []step
	views     map[int]state // by how many steps were made before
	answers   *answers
}

// A step is one that was made, and what the resource manager said in it that is new.
type step struct {
	recording.Step
	said []scenario.Line
}

// A state is how a partition stood at a moment.
type state struct {
	*api.View
	now     time.Time
	classes map[api.AllocationKey]string // of asks that are answered alike
}

// read plays a segment up to the end of a step.
func read(file string, last int) (*history, error) {
	h := &history{views: map[int]state{}, answers: newAnswers()}
	p, err := recording.OpenListening(file, h.answers.listen)
	if err != nil {
		return nil, err
	}
	defer p.Close()
	h.answers.take() // what was said in segments before
	h.partition, h.kinds = p.Partition, p.Kinds
	wanted := map[int]bool{0: true}
	for back := 1; back <= last; back *= 2 {
		wanted[last-back] = true
	}
	for number := range last {
		if wanted[number] {
			h.views[number] = stateOf(p)
		}
		s, err := p.Next()
		if err != nil {
			return nil, err
		}
		h.steps = append(h.steps, step{s, h.answers.take()})
		h.answers.observe(s.Effects)
	}
	return h, nil
}

func stateOf(p *recording.Player) state {
	s := state{p.Partition.View(), p.Now, map[api.AllocationKey]string{}}
	if p.Partition.Options.Constraints == nil {
		return s
	}
	for _, app := range s.Applications {
		for _, ask := range app.Asks {
			s.classes[ask.Key] = p.Partition.ClassOf(p.Partition.Requests[ask.Key]).Constraints
		}
	}
	return s
}

// beginnings are where a scenario may begin, the latest first.
func (h *history) beginnings() iter.Seq[int] {
	return slices.Values(slices.SortedFunc(maps.Keys(h.views), func(a, b int) int { return b - a }))
}

// beginning is what happens from one on.
func (h *history) beginning(at int) (*beginning, error) {
	s := h.views[at]
	b := &beginning{from: s.now}
	standing, err := h.standing(s, h.saidBefore(at, s), b)
	if err != nil {
		return nil, err
	}
	for _, l := range standing {
		b.lines = append(b.lines, line{Line: l})
	}
	clock := scenario.Clock{Kinds: h.kinds, Begin: s.now, Now: s.now}
	add := func(lines ...scenario.Line) {
		for _, l := range lines {
			b.lines = append(b.lines, line{l, true})
		}
	}
	for _, one := range h.steps[at:] {
		if after := one.Now.Sub(clock.Now); after > 0 {
			add(scenario.Line{Verb: "advance", Words: []string{after.String()}})
			clock.Now = one.Now
		}
		add(one.said...)
		command, err := h.lineOf(clock, one.Command)
		if err != nil {
			return nil, err
		}
		if last := b.lines[len(b.lines)-1]; command.Verb != "schedule" || !last.step || last.Verb != "schedule" {
			add(command)
		}
	}
	return b, nil
}

// lineOf is a command, or a call of Schedule, as a scenario has it.
func (h *history) lineOf(clock scenario.Clock, c api.Command) (scenario.Line, error) {
	switch c := c.(type) {
	case nil:
		return scenario.Line{Verb: "schedule"}, nil
	case api.Reconfigure:
		text, err := configurationOf(c.Config, h.kinds)
		return scenario.Line{Verb: "reconfigure", Below: text}, err
	default:
		return clock.Line(c), nil
	}
}
