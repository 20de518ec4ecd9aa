package live

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/api"
	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"

	"github.com/narwhal-scheduler/narwhal/pkg/simulator"
)

// ID is the resource manager that a Cluster registers as.
const ID = "simulator"

// The bounds of Options.Speed.
const (
	SpeedMin = 0.01
	SpeedMax = 10_000
)

// Options are what a Cluster is given beside its scenario. Speed is needed.
type Options struct {
	// Seed decides everything that is random in the cluster; zero means the
	// seed of the scenario. What the scheduler does depends on time as well.
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
	// is left out then. It must call neither the Cluster nor the scheduler.
	Breach func(error)
}

// A Cluster is that of a scenario as a resource manager of a real scheduler, in real
// time.
type Cluster struct {
	scenario *simulator.Scenario
	options  Options
	texts    []string // configurations: the first, and what each change comes to
}

// New makes a cluster, which does nothing before Run. The error is a scenario that
// cannot be played, or a speed out of range. The scenario is not changed.
func New(s *simulator.Scenario, options Options) (*Cluster, error) {
	if err := CheckSpeed(options.Speed); err != nil {
		return nil, err
	}
	if err := s.CheckQueues(); err != nil {
		return nil, fmt.Errorf("scenario %s: %w", s.Name, err)
	}
	l := &Cluster{scenario: s, options: options}
	scale := l.Real
	if options.Speed == 1 {
		scale = nil // the text stays as it was written
	}
	var err error
	if l.texts, err = s.Configurations(scale); err != nil {
		return nil, fmt.Errorf("scenario %s: %w", s.Name, err)
	}
	return l, nil
}

// CheckSpeed says what is wrong with a speed.
func CheckSpeed(speed float64) error {
	if speed >= SpeedMin && speed <= SpeedMax { // not a number is out of range too
		return nil
	}
	return fmt.Errorf("a speed of %v is not from %v to %v", speed, SpeedMin, SpeedMax)
}

// Constrained reports whether any pod cares for more than amounts. If none does,
// the scheduler may skip predicates.
func (l *Cluster) Constrained() bool { return l.scenario.Constrained() }

// Real is how long a virtual duration takes, to the millisecond, and at least one
// if it is any.
func (l *Cluster) Real(virtual time.Duration) time.Duration {
	if virtual <= 0 {
		return virtual
	}
	return max(l.real(virtual).Round(time.Millisecond), time.Millisecond)
}

// real is rounded up, so that a moment that was waited for has come.
func (l *Cluster) real(virtual time.Duration) time.Duration {
	return time.Duration(float64(virtual)/l.options.Speed) + 1
}

// Run registers with a scheduler and plays the scenario until the context ends,
// which is no error. An error is a scheduler that refuses a request. Callbacks may
// still come after it has returned; they do nothing. It leaves no goroutine.
func (l *Cluster) Run(ctx context.Context, scheduler api.SchedulerAPI) error {
	for p := l.newSession(); p != nil; {
		_, err := scheduler.RegisterResourceManager(&si.RegisterResourceManagerRequest{
			RmID: ID, Version: "simulated", PolicyGroup: "queues", Config: l.texts[p.cluster.Changes()],
		}, p)
		if err == nil {
			p, err = p.play(ctx, scheduler)
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

// A session is the cluster from its beginning until it or the scheduler begins anew, and the callback
// of one registration. The goroutine of play sends all requests, so that they
// keep their order; callbacks only change the cluster and wake it.
type session struct {
	live  *Cluster
	began time.Time     // the cluster
	wake  chan struct{} // holds that there is something to send or to plan
	mail  []any         // what the scheduler is to be sent first

	mu      sync.Mutex // guards what is below, and is not held while anything is sent
	cluster *simulator.Remote
	ended   bool // callbacks do nothing any more
}

func (l *Cluster) newSession() *session {
	return &session{
		live: l, began: time.Now(), wake: make(chan struct{}, 1),
		cluster: simulator.NewRemote(l.scenario, l.options.Seed),
	}
}

// afterRestart is the session in which the scheduler has begun anew, and is sent something first.
func (p *session) afterRestart(mail []any) *session {
	return &session{live: p.live, began: p.began, wake: make(chan struct{}, 1), mail: mail, cluster: p.cluster}
}

// time is now in virtual time.
func (p *session) time() time.Duration {
	return time.Duration(float64(time.Since(p.began)) * p.live.options.Speed)
}

// play lets happen what is planned, at its time, until the context ends, or the
// scenario or the scheduler begins anew: then it returns the session after this one.
func (p *session) play(ctx context.Context, scheduler api.SchedulerAPI) (after *session, err error) {
	defer p.end()
	timer := time.NewTimer(0)
	defer timer.Stop()
	if err := p.send(p.mail, scheduler); err != nil {
		return nil, err
	}
	for over := false; ctx.Err() == nil; {
		mail, next, restarted := p.advance()
		if restarted {
			return p.afterRestart(mail), nil
		}
		if err := p.send(mail, scheduler); err != nil {
			return nil, err
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
				return p.live.newSession(), nil
			}
		}
		select {
		case <-ctx.Done():
		case <-p.wake:
		case <-timer.C:
		}
	}
	return nil, nil
}

// end makes callbacks that are still to come do nothing.
func (p *session) end() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.ended = true
}

// advance lets happen what is due. It returns what is to be sent, and in what real time to
// come again; zero is when the scenario is over. Where the scheduler is to begin anew, the session has ended.
func (p *session) advance() (mail []any, next time.Duration, restarted bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.time()
	commands, at := p.cluster.Advance(now)
	p.reportBreach()
	mail = p.requests(commands)
	restarted = p.cluster.Restarted()
	p.ended = p.ended || restarted
	if at <= now {
		return mail, 0, restarted
	}
	return mail, p.live.real(at - now), restarted
}

// reportBreach reports what was wrong.
func (p *session) reportBreach() {
	if err := p.cluster.Breach(); err != nil && p.live.options.Breach != nil {
		p.live.options.Breach(err)
	}
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
			err = scheduler.UpdateConfiguration(r)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
