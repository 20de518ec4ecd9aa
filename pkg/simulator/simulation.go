package simulator

import (
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
)

// epoch is the moment at which virtual time begins. Its value is of no
// importance, as all outputs count from it.
var epoch = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)

// A simulation is what all parts of a cluster share: the scenario, the virtual time
// and what is planned, chance, the way to the core, and what is counted.
type simulation struct {
	scenario *Scenario
	seed     uint64
	events   eventQueue
	now      time.Duration
	ahead    time.Duration // by how much the clock of the core has jumped
	inbox    []api.Command
	books    *books
	counts   counts
	delays   *rand.Rand // start, stop, restart
	faults   *rand.Rand
	crossing *rand.Rand
	// broken is the first thing the core did that it must not do.
	broken error
}

func newSimulation(s *Scenario, seed uint64) *simulation {
	return &simulation{
		scenario: s,
		seed:     seed,
		books:    newBooks(s.Config, s.Kinds),
		counts:   counts{rejections: map[string]int{}, gaveUp: map[pendingReason]*pendingPods{}, preemption: newPlanCounts()},
		delays:   stream(seed, "delays"),
		faults:   stream(seed, "faults"),
		crossing: stream(seed, "crossing"),
	}
}

// counts are what the summary shows for no single queue.
type counts struct {
	nodesJoined, nodesReturned, nodesFailed, nodesDrained, nodesUndrained int
	placements, bindFailures, restarts                                    int
	releasesLate, releasesTwice, releasesNever, reportsTwice, crossed     int
	foreignReported, foreignStatic, foreignResized, foreignEnded          int
	foreignLost, foreignEarly, foreignPreempted                           int
	rejections                                                            map[string]int
	gaveUp                                                                map[pendingReason]*pendingPods
	incidents                                                             []IncidentRecord
	daemonWaits                                                           []time.Duration
	preemption                                                            planCounts
	gangs                                                                 GangCounts
}

// time is now as the resource manager sees it.
func (s *simulation) time() time.Time { return epoch.Add(s.now) }

// clock is now as the core sees it.
func (s *simulation) clock() time.Time { return s.time().Add(s.ahead) }

// happens draws whether a fault happens. It is drawn after the last of them, too.
func (s *simulation) happens(fault Probability) bool { return s.happensIn(s.faults, fault) }

func (s *simulation) happensIn(random *rand.Rand, fault Probability) bool {
	until := s.scenario.Faults.Until
	return fault.happens(random) && (until == 0 || s.now < until)
}

// setTime goes on to a time, never back.
func (s *simulation) setTime(at time.Duration) {
	s.now = max(s.now, at)
	s.books.advance(s.now)
}

func (s *simulation) send(command api.Command) { s.inbox = append(s.inbox, command) }

// report sends an allocation, by a fault twice.
func (s *simulation) report(a *api.Allocation) (twice bool) {
	s.send(api.AddAllocation{Allocation: a})
	if s.happens(s.scenario.Faults.ReportTwice) {
		s.counts.reportsTwice++
		again := *a
		s.send(api.AddAllocation{Allocation: &again})
		return true
	}
	return false
}

// after plans something for later; no delay is still after the partition has
// scheduled once more.
func (s *simulation) after(delay time.Duration, do func()) { s.events.plan(s.now+delay, do) }

// pause draws a delay that ends.
func (s *simulation) pause(span Span) time.Duration {
	d, _ := span.draw(s.delays)
	return d
}

// breach keeps the first thing that was wrong.
func (s *simulation) breach(format string, args ...any) {
	if s.broken == nil {
		s.broken = fmt.Errorf("at %s: %w", s.now, fmt.Errorf(format, args...))
	}
}

// confirm reports to the core that a pod has ended, after the grace and a delay:
// late, twice or never if a fault says so. It is false for never.
func (s *simulation) confirm(grace time.Duration, report func()) bool {
	f := s.scenario.Faults
	never, late, twice := s.happens(f.ReleaseNever), s.happens(f.ReleaseLate), s.happens(f.ReleaseTwice)
	if never {
		s.counts.releasesNever++
		return false
	}
	delay := grace + s.pause(s.scenario.Delays.Stop)
	if late {
		s.counts.releasesLate++
		delay += s.pause(f.Late)
	}
	s.soon(delay, report)
	if twice {
		s.counts.releasesTwice++
		s.soon(delay+s.pause(f.Late), report)
	}
	return true
}

// soon does something after a delay, or at once without one.
func (s *simulation) soon(delay time.Duration, do func()) {
	if delay == 0 {
		do()
		return
	}
	s.after(delay, do)
}
