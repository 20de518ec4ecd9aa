package simulator

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/api"
	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"
)

// LiveID is the resource manager that a Live registers as.
const LiveID = "simulator"

// The bounds of LiveOptions.Speed.
const (
	SpeedMin = 0.01
	SpeedMax = 10_000
)

// LiveOptions are what a Live is given beside its scenario. Speed is needed.
type LiveOptions struct {
	// Seed decides everything that is random in the cluster; zero means
	// the seed of the scenario. What the scheduler does depends on time as well.
	Seed uint64
	// Speed is how much virtual time goes by in a unit of real time, from SpeedMin
	// to SpeedMax.
	Speed float64
	// Loop restarts the scenario when it is over. Otherwise the cluster stays as
	// it is then.
	Loop bool
	// Over, if set, is called when the scenario is over.
	Over func()
	// Breach, if set, is called when the scheduler did what it must not do, which
	// is left out then. It must call neither the Live nor the scheduler.
	Breach func(error)
}

// A Live is the cluster of a scenario as a resource manager of a real scheduler,
// in real time. It is the same cluster that Run plays with; where a partition
// stands there, requests go out here and callbacks come in. Unlike there, both
// are under way for a while and may cross: see live_crossing.go.
type Live struct {
	scenario *Scenario
	options  LiveOptions
	texts    []string // configurations: the first, and what each change comes to
}

// NewLive makes a live cluster, which does nothing before Run. The error is a
// scenario that cannot be played, or a speed out of range. The scenario is not
// changed.
func NewLive(s *Scenario, options LiveOptions) (*Live, error) {
	if !(options.Speed >= SpeedMin && options.Speed <= SpeedMax) { // not a number is out of range too
		return nil, fmt.Errorf("a speed of %v is not from %v to %v", options.Speed, SpeedMin, SpeedMax)
	}
	if err := s.CheckQueues(); err != nil {
		return nil, fmt.Errorf("scenario %s: %w", s.Name, err)
	}
	l := &Live{scenario: s, options: options}
	text := s.queues
	for i := 0; ; i++ {
		hurried, err := l.scaleDelays(text)
		if err != nil {
			return nil, fmt.Errorf("scenario %s: queues: %w", s.Name, err)
		}
		l.texts = append(l.texts, hurried)
		if i == len(s.Changes) {
			return l, nil
		}
		if text, err = s.Changes[i].applied(text); err != nil {
			return nil, fmt.Errorf("scenario %s: change %d: %w", s.Name, i+1, err)
		}
	}
}

// Constrained reports whether any pod cares for more than amounts. If none does,
// the scheduler may skip predicates.
func (l *Live) Constrained() bool { return l.scenario.constrained() }

// Real is how long a virtual duration takes, to the millisecond, and at least one
// if it is any.
func (l *Live) Real(virtual time.Duration) time.Duration {
	if virtual <= 0 {
		return virtual
	}
	return max(l.real(virtual).Round(time.Millisecond), time.Millisecond)
}

// real is rounded up, so that a moment that was waited for has come.
func (l *Live) real(virtual time.Duration) time.Duration {
	return time.Duration(float64(virtual)/l.options.Speed) + 1
}

// Run registers with a scheduler and plays the scenario until the context ends,
// which is no error. An error is a scheduler that refuses a request. Callbacks may
// still come after it has returned; they do nothing. It leaves no goroutine.
func (l *Live) Run(ctx context.Context, scheduler api.SchedulerAPI) error {
	for again := true; again; {
		p := l.newSession()
		_, err := scheduler.RegisterResourceManager(&si.RegisterResourceManagerRequest{
			RmID: LiveID, Version: "simulated", PolicyGroup: "queues", Config: l.texts[0],
		}, p)
		if err == nil {
			again, err = p.play(ctx, scheduler)
		}
		if ctx.Err() != nil {
			return nil // whatever fails now fails because of it
		}
		if err != nil {
			return fmt.Errorf("scenario %s: %w", l.scenario.Name, err)
		}
	}
	return nil
}

// A session is the cluster from its beginning until it begins anew, and the callback
// of one registration. The goroutine of play sends all requests, so that they
// keep their order; callbacks only change the cluster and wake it.
type session struct {
	live  *Live
	began time.Time
	wake  chan struct{} // holds that there is something to send or to plan
	sent  int           // configurations, by play

	mu      sync.Mutex // guards what is below, and is not held while anything is sent
	cluster *cluster
	ended   bool // callbacks do nothing any more
}

func (l *Live) newSession() *session {
	seed := l.options.Seed
	if seed == 0 {
		seed = max(l.scenario.Seed, 1)
	}
	p := &session{live: l, began: time.Now(), wake: make(chan struct{}, 1), cluster: newCluster(l.scenario, seed)}
	// The reason why a pod was given up is for the summary of a run.
	p.cluster.pods.explain = func(*pod) pendingReason { return pendingReason{} }
	p.cluster.build()
	p.cluster.startWork()
	return p
}

// time is now in virtual time.
func (p *session) time() time.Duration {
	return time.Duration(float64(time.Since(p.began)) * p.live.options.Speed)
}

// play lets happen what is planned, at its time, until the context ends or the
// scenario begins anew.
func (p *session) play(ctx context.Context, scheduler api.SchedulerAPI) (again bool, err error) {
	defer p.end()
	timer := time.NewTimer(0)
	defer timer.Stop()
	for over := false; ctx.Err() == nil; {
		mail, next := p.advance()
		if err := p.send(mail, scheduler); err != nil {
			return false, err
		}
		switch {
		case next > 0:
			timer.Reset(next)
		case !over:
			over = true
			if p.live.options.Over != nil {
				p.live.options.Over()
			}
			if p.live.options.Loop {
				return true, nil
			}
		}
		select {
		case <-ctx.Done():
		case <-p.wake:
		case <-timer.C:
		}
	}
	return false, nil
}

// end makes callbacks that are still to come do nothing.
func (p *session) end() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.ended = true
}

// advance lets happen what is due, each at its own time even if that is a little
// late. It returns what is to be sent, and in what real time to come again; zero
// is when the scenario is over.
func (p *session) advance() (mail []any, next time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	c, now := p.cluster, p.time()
	until, limited := p.live.scenario.Until, p.live.scenario.Until > 0
	at, planned := c.events.next()
	for ; planned && at <= now && !(limited && at > until); at, planned = c.events.next() {
		c.setTime(at)
		for _, e := range c.events.take(at) {
			e.do()
		}
	}
	p.settle()
	mail = p.requests(c.inbox)
	c.inbox = nil
	switch {
	case limited && (!planned || at > until):
		at = until
	case !planned:
		at = c.now + c.scenario.quiet() // something may come of what is under way
	}
	if at <= now {
		return mail, 0
	}
	return mail, p.live.real(at - now)
}

// settle reports what was wrong, and drops what only the summary of a run needs.
func (p *session) settle() {
	c := p.cluster
	if c.broken != nil && p.live.options.Breach != nil {
		p.live.options.Breach(c.broken)
	}
	c.broken = nil
	c.preemption.step.clear()
}

// send gives requests to the scheduler, in order. It holds no lock, as a new
// configuration waits for callbacks.
func (p *session) send(mail []any, scheduler api.SchedulerAPI) error {
	for _, request := range mail {
		var err error
		switch r := request.(type) {
		case *si.NodeRequest:
			err = scheduler.UpdateNode(r)
		case *si.ApplicationRequest:
			err = scheduler.UpdateApplication(r)
		case *si.AllocationRequest:
			err = scheduler.UpdateAllocation(r)
		case *si.UpdateConfigurationRequest:
			p.sent++
			r.Config = p.live.texts[p.sent]
			err = scheduler.UpdateConfiguration(r)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
