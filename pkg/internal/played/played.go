// Package played plays scenarios of the simulator under virtual time up to a moment, for tests
// that look at a partition as it is then.
package played

import (
	"fmt"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/archive"
	"github.com/narwhal-scheduler/narwhal/pkg/core"
	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/events"
	"github.com/narwhal-scheduler/narwhal/pkg/explain"
	"github.com/narwhal-scheduler/narwhal/pkg/explain/forecast"
	"github.com/narwhal-scheduler/narwhal/pkg/reports"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
	"github.com/narwhal-scheduler/narwhal/pkg/simulator"
)

// Began is when every play does, as in every scenario.
var Began = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)

// A Play is a partition and its past, at one moment.
type Play struct {
	Now       time.Time
	Kinds     *resources.Kinds
	Book      *archive.Book
	Partition *core.Partition

	told    *reports.Book
	configs int // that took the place of the first
	remote  *simulator.Remote
	point   time.Time // when the archive gets one next
	seen    func(time.Time, api.Event)
}

// New begins a scenario. Seen is told of every event; it may be nil.
func New(t testing.TB, text string, seen func(now time.Time, event api.Event)) *Play {
	t.Helper()
	s, err := simulator.Parse(text)
	assert.NilError(t, err)
	past, err := archive.New(archive.Config{})
	assert.NilError(t, err)
	p := &Play{Now: Began, Kinds: s.Kinds, Book: past.Open("default"), remote: simulator.NewRemote(s, 1), seen: seen}
	o := api.Options{Partition: "[played]default", Kinds: s.Kinds}
	if s.Constrained() {
		o.Feasible = func(key api.AllocationKey, node api.NodeID, _ bool) error { return p.remote.Feasible(key, node) }
		o.Constraints = p.remote.PredicateClass
	}
	p.Partition = core.NewPartition(o, s.Config)
	p.told = reports.NewBook(p.Partition, s.Kinds)
	return p
}

// sampled is how often the archive gets a point.
const sampled = 10 * time.Second

// To goes on to a moment after the beginning.
func (p *Play) To(after time.Duration) *Play {
	until := Began.Add(after)
	for next := p.Now; !next.After(until); {
		p.Now = next
		next = p.moment(until.Add(1))
		if !p.Now.Before(p.point) {
			p.Book.Sample(p.Now, p.Partition.View())
			p.point = p.Now.Truncate(sampled).Add(sampled)
		}
		if p.point.Before(next) {
			next = p.point
		}
	}
	p.Now = until
	return p
}

// moment lets happen what happens now. It returns when something does next, at most at a time.
func (p *Play) moment(most time.Time) (next time.Time) {
	for first := true; ; first = false {
		commands, due := p.remote.Advance(p.Now.Sub(Began))
		if !first && len(commands) == 0 {
			for _, at := range []time.Time{Began.Add(due), p.due(most)} {
				if at.After(p.Now) && at.Before(most) {
					most = at
				}
			}
			return most
		}
		for _, command := range commands {
			p.observe(p.told.Observe(p.Now, p.Partition.Apply(p.Now, command)))
			if _, is := command.(api.Reconfigure); is {
				p.Book.Reconfigured(p.Now, fmt.Sprintf("config-%d", p.configs), fmt.Sprintf("config-%d", p.configs+1), nil)
				p.configs++
			}
		}
		for more := true; more; {
			var fx api.Effects
			fx, more = p.Partition.Schedule(p.Now)
			p.observe(p.told.Scheduled(p.Now, fx))
		}
	}
}

// due is when the partition has something to do or to tell by itself, or another time.
func (p *Play) due(otherwise time.Time) time.Time {
	if at, ok := p.told.Due(); ok {
		return at
	}
	return otherwise
}

func (p *Play) observe(fx api.Effects) {
	p.Book.Observe(events.Step{Now: p.Now, Effects: fx})
	for _, event := range fx {
		p.remote.Observe(p.Now.Sub(Began), event)
		if p.seen != nil {
			p.seen(p.Now, event)
		}
	}
}

// Trial is what remedies are tried with.
func (p *Play) Trial() explain.Trial {
	return explain.Trial{Now: p.Now, MayRun: func(ask api.AllocationKey, node api.NodeID) (bool, error) {
		return true, p.remote.Feasible(ask, node)
	}}
}

// Forecasts is what a forecast for an ask of a queue is made of.
func (p *Play) Forecasts(queue api.QueuePath) forecast.Question {
	return forecast.Question{
		View: p.Partition.View(), Kinds: p.Kinds, Times: p.Book.RunTimes(), Preempted: p.Book.PreemptedSince(queue, p.Now.Add(-time.Hour)), Trial: p.Trial(),
	}
}
