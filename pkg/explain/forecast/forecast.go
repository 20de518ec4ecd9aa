// Package forecast says when an ask that waits will run: its place in line, and an estimate from how long
// others ran.
//
// Both are played on copies of the partition, in which the core itself decides the order. For the place there is room for all that
// waits. For the estimate what runs ends after a time that others of its application took, or of its queue and its amounts, drawn anew
// for each play, and what came in the last hour comes again. The plays differ, and how much they do is the error that is told.
//
// Read in this order:
//
//	forecast.go   When, Forecast
//	line.go       the place in line
//	play.go       one play of what is to come; came.go, what comes in it
//	text.go       the forecast for people to read
package forecast

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/narwhal-scheduler/narwhal/pkg/archive"
	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/explain"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
	"github.com/narwhal-scheduler/narwhal/pkg/wording"
)

const (
	playsMax = 7 // that an estimate is made from
	playsMin = 3
	// wrongMax is from how many estimates on that were wrong for an ask none is told of it any more.
	wrongMax = 3
)

// A Forecast says when an ask will run.
type Forecast struct {
	Line *Line // nil if it has none
	// Least, Middle and Most are in how much time it runs. Middle is the middle one of the plays. Least is two thirds of the shortest and Most
	// one and a half times the longest, as the run times that are known are few. Least is zero if some are Unknown, which may end sooner.
	// Between them were 41 of 42 waits on the cluster from which that was taken, and 129 of 135 on two others (TestMeasured). After each estimate that was wrong Most is twice as far, up to wrongMax.
	// All are zero if there is no estimate, and No says why.
	Least, Middle, Most time.Duration
	No                  string
	Plays               int
	Wrong               int // estimates for the ask that were told before
	Cut                 int // asks that came lately, and were too many to come again in the plays
	Running, Unknown    int // allocations that run, and of how many of these nothing tells how long they will
}

// A Line is the place of an ask among those that wait, as the core would place them if there was room for all. The first has place 1.
type Line struct{ Place, Of, PlaceInQueue, OfQueue int }

// Question is what a forecast is made of.
type Question struct {
	View  *api.View
	Kinds *resources.Kinds
	Times archive.RunTimes
	// Preempted is how many allocations of its queue were chosen as victims in the last hour.
	Preempted int
	Told      archive.Told // what was told of the ask before
	Trial     explain.Trial
}

// When is the forecast for an ask. It takes time linear in the size of the view for each play, as long as the context lasts.
func When(ctx context.Context, q Question, application api.ApplicationID, key api.AllocationKey) *Forecast {
	f := &Forecast{}
	app, ask := q.View.Ask(application, key)
	switch {
	case app == nil:
		f.No = "it is not known"
		return f
	case ask == nil:
		f.No = "it does not wait"
		return f
	}
	f.Line = lineOf(ctx, q, app.Queue, key)
	if node := ask.Nominated; node != "" {
		f.No = "room is being made for it on node " + string(node) + ": it runs when that is free"
		return f
	}
	if q.Preempted > 0 {
		f.No = fmt.Sprintf("in the last hour there %s in its queue for what is more important, and when such comes again is not known", evictions(q.Preempted))
		return f
	}
	if f.Wrong = q.Told.Missed(q.Trial.Now); f.Wrong >= wrongMax {
		f.No = fmt.Sprintf("the last %s for it were wrong, the latest that of %s, so none is told any more", wording.Several(f.Wrong, "estimate"), q.Told.At.UTC().Format(time.RFC3339))
		return f
	}
	f.estimate(ctx, q, key)
	return f
}

// estimate plays what is to come.
func (f *Forecast) estimate(ctx context.Context, q Question, key api.AllocationKey) {
	var ends []time.Duration
	remains := ""
	q.Trial.MayRun = unasked(q.Trial.MayRun)
	came := cameLately(q)
	f.Cut = came.cut
	for n := range uint64(playsMax) {
		p := newPlay(q, came, n)
		f.Running, f.Unknown = p.running, p.unknown
		if p.running == p.unknown {
			f.No = "an estimate is made from how long pods ran that have ended, and nothing like what runs now has ended yet"
			return
		}
		after, err := p.until(ctx, key)
		switch {
		case errors.Is(err, errOver):
			if f.Plays < playsMin {
				f.No = "there was not enough time to work it out"
				return
			}
		case err != nil:
			if f.Plays++; remains != "" { // with two of seven it is none
				f.No = f.unknown() + remains
				return
			}
			remains = err.Error()
			continue
		default:
			f.Plays++
			ends = append(ends, after)
			continue
		}
		break
	}
	if 5*len(ends) < 4*f.Plays {
		f.No = f.unknown() + remains
		return
	}
	slices.Sort(ends)
	f.Middle, f.Most = ends[len(ends)/2], ends[len(ends)-1]*3/2<<f.Wrong
	if f.Unknown == 0 {
		f.Least = ends[0] * 2 / 3
	}
}

// evictions says how many there were.
func evictions(n int) string {
	if n == 1 {
		return "was 1 eviction"
	}
	return "were " + wording.Several(n, "eviction")
}

// unknown says of how much of what runs it is not known how long it will.
func (f *Forecast) unknown() string {
	if f.Unknown == 0 {
		return ""
	}
	return fmt.Sprintf("%d of %d pods that run are like none that has ended, so nothing tells when they end; if they do not, ", f.Unknown, f.Running)
}
