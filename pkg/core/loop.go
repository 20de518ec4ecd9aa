package core

import (
	"fmt"
	"time"
)

// A loop counts how often room was made for an application since a time.
type loop struct {
	since time.Time
	count int
	told  bool
}

// loops reports whether room was made so often for an application that it is
// taken for a loop, with others who make room for themselves in turn. The ask
// then rests until the window is over.
func (p *Partition) loops(r *request) bool {
	app := r.application
	end := app.loop.since.Add(p.preemption.LoopWindow)
	if !end.After(p.now) {
		app.loop = loop{since: p.now}
		return false
	}
	most := p.preemption.LoopMax * max(1, len(app.asks)+len(app.allocations))
	if app.loop.count < most {
		return false
	}
	w := r.waiting()
	times := "once"
	if app.loop.count > 1 {
		times = fmt.Sprintf("%d times", app.loop.count)
	}
	w.loop = fmt.Sprintf("room was made %s within %s", times, p.preemption.LoopWindow)
	p.restFromHunting(r, end.Sub(p.now))
	if !app.loop.told {
		app.loop.told = true
		p.preempted.Loops++
		p.recordLoop(r)
	}
	return true
}

func (p *Partition) recordLoop(r *request) {
	p.tell(&ApplicationReport{
		r.Application, r.Key,
		"no more room is made for the application for now, since it repeats itself: " + r.wait.loop,
	})
}
