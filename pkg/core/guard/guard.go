// Package guard keeps what repeats itself from being done again at once. Nothing in it reads a clock, and
// nothing is safe for use by several goroutines.
package guard

import (
	"fmt"
	"maps"
	"math"
	"time"

	"github.com/narwhal-scheduler/narwhal/pkg/core/timers"
)

// A Guard keeps what repeats itself from being done again at once: it is a pause with a reason,
// which doubles each time. There is one
//
//   - of an ask, and of a group: no room is made for it;
//   - of an application against loops: no room is made for any of its asks until the window is over in which
//     that was done too often;
//   - of an application of which many asks failed: none of its asks is tried. That pause does not double,
//     since others of them are tried between two pauses;
//   - of a node, for each eviction there that is overdue: nothing else is evicted there.
//
// Readers are told the reason where they are told why an ask waits. The zero value is no pause.
type Guard struct {
	Times int       // how often there was a pause
	Until time.Time // zero while there is none
	Why   string    // empty without a pause, or if another reason says more
	Timer timers.Timer
}

// None is no pause. It is never changed.
var None Guard

// PauseMax is the longest pause, unless the first one is longer. A window against loops may be longer:
// so that a loop comes to rest.
const PauseMax = 24 * time.Hour

// Next is how long the next pause is, which is twice as long as the last one.
func (g *Guard) Next(first time.Duration) time.Duration {
	g.Times++
	return min(Doubled(first, g.Times-1), max(first, PauseMax))
}

// Start begins a pause of what becomes due then: an ask, an application, or an overdue eviction.
func (g *Guard) Start(in *timers.Queue, until time.Time, why string, of timers.Due) {
	g.Until, g.Why = until, why
	in.Set(&g.Timer, until, of)
}

// PauseUntil begins a pause without a timer, of what has one for its parts.
func (g *Guard) PauseUntil(until time.Time, why string) { g.Until, g.Why = until, why }

// Pauses reports whether there is a pause.
func (g *Guard) Pauses() bool { return !g.Until.IsZero() }

// End ends the pause.
func (g *Guard) End() { g.Until, g.Why = time.Time{}, "" }

// A Loop counts how often room was made for an application within a window, in a way that another
// one may answer: applications may evict each other in turn. The window is twice as long after one in
// which that was too often, so that a loop comes to rest. The pause is the rest of the window: it has
// no timer, as each ask that it keeps back has one.
type Loop struct {
	Guard
	Since time.Time // when the window began
	Made  int
}

// Begin begins a window. After one that was too much the next ones are twice as long.
func (l *Loop) Begin(now time.Time) {
	times := 0
	if l.Pauses() {
		times = l.Times + 1
	}
	*l = Loop{Guard: Guard{Times: times}, Since: now}
}

// Count counts that room was made, and Uncount takes it back, unless that was in another window.
func (l *Loop) Count() { l.Made++ }

// Uncount is the opposite of Count.
func (l *Loop) Uncount() { l.Made = max(l.Made-1, 0) }

// Doubled is a pause that was doubled so many times, or the longest there is.
func Doubled(pause time.Duration, times int) time.Duration {
	for ; times > 0; times-- {
		if pause > math.MaxInt64/2 {
			return math.MaxInt64
		}
		pause *= 2
	}
	return pause
}

// TimesText is a number of times in words.
func TimesText(times int) string {
	if times == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times", times)
}

// A Backoff counts the asks of an application that failed on nodes, one of each class, since
// everything that may be tried was tried last. After as many as its queue says the application
// backs off: for a while it stands in no order, so that its asks are not tried.
// Those that it backed off for do not count again before all others were tried: else the same ones
// would fail each time, and those behind them never be tried.
// Asks that are nominated, hold a reservation or have a required node go on, since they are
// bound to a node.
type Backoff struct {
	Guard
	failed  int
	counted map[string]bool // keys of the classes whose failures were counted since all could be tried last
	visit   uint64          // in which they failed
	cut     bool            // the application backed off in it
}

// Fails counts an ask of a class that failed in a visit of all that may be tried, and reports whether so many have that
// the application backs off. Waits says whether there are asks of a class.
func (b *Backoff) Fails(class string, visit uint64, most int, waits func(class string) bool) (backsOff bool) {
	if b.visit != visit {
		maps.DeleteFunc(b.counted, func(class string, _ bool) bool { return !b.cut || !waits(class) })
		b.visit, b.failed, b.cut = visit, 0, false
	}
	if b.counted[class] {
		return false
	}
	if b.counted == nil {
		b.counted = map[string]bool{}
	}
	b.counted[class] = true
	if b.failed++; b.failed < most {
		return false
	}
	b.failed, b.cut = 0, true
	return true
}
