package explanation

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/narwhal-scheduler/narwhal/pkg/archive"
	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/explain"
	"github.com/narwhal-scheduler/narwhal/pkg/explain/forecast"
	"github.com/narwhal-scheduler/narwhal/pkg/webservice/encoder"
	"github.com/narwhal-scheduler/narwhal/pkg/webservice/object"
	"github.com/narwhal-scheduler/narwhal/pkg/wording"
)

// lifeJSON is what an ask or allocation has been, and the same pod before under other keys.
type lifeJSON struct {
	RequestTime encoder.Nanoseconds `json:"requestTime"`
	WaitTime    int64               `json:"waitTime"` // ns, until it was placed, until its end, or until now
	UnknownTime int64               `json:"unknownTime,omitempty"`
	Waits       []waitJSON          `json:"waits,omitempty"`
	StartTime   encoder.Nanoseconds `json:"startTime,omitempty"`
	EndTime     encoder.Nanoseconds `json:"endTime,omitempty"`
	Marks       []markJSON          `json:"marks,omitempty"`
	Before      []lifeJSON          `json:"before,omitempty"`
}

type waitJSON struct {
	Why  string `json:"why"`
	Time int64  `json:"time"` // ns
}

type markJSON struct {
	Time encoder.Nanoseconds `json:"time"`
	Text string              `json:"text"`
}

// forecastJSON is when an ask will run.
type forecastJSON struct {
	Place        int    `json:"place,omitempty"`
	Of           int    `json:"of,omitempty"`
	PlaceInQueue int    `json:"placeInQueue,omitempty"`
	OfQueue      int    `json:"ofQueue,omitempty"`
	Least        int64  `json:"least,omitempty"` // ns from now, as Middle and Most
	Middle       int64  `json:"middle,omitempty"`
	Most         int64  `json:"most,omitempty"`
	Wrong        int    `json:"wrong,omitempty"` // estimates that were told before
	No           string `json:"no,omitempty"`    // why there is no estimate
}

// lifeOf is the life of an allocation or ask that there is: what is recorded, or what it says itself.
func lifeOf(at *object.Snapshot, a *api.Allocation) archive.Life {
	if life, known := at.Past().Life(a.Application, a.Key); known {
		return life
	}
	return archive.Life{Key: a.Key, Application: a.Application, Asked: a.Created, Placed: a.Placed}
}

// waitTime is how long it waited in its first go, so far.
func waitTime(l *archive.Life, now time.Time) time.Duration {
	until := now
	if !l.Placed.IsZero() {
		until = l.Placed
	} else if !l.Ended.IsZero() {
		until = l.Ended
	}
	if l.Asked.IsZero() {
		return 0 // that is not known
	}
	return max(until.Sub(l.Asked), 0)
}

// waitsOf is how long it waited for what: while it waits, until now.
func waitsOf(l *archive.Life, now time.Time) []archive.Wait {
	waits := append([]archive.Wait(nil), l.Waits...)
	since := now.Sub(l.Until)
	if !l.Placed.IsZero() || !l.Ended.IsZero() || since <= 0 || l.Until.IsZero() {
		return waits
	}
	i := slices.IndexFunc(waits, func(w archive.Wait) bool { return w.Reason == l.Reason })
	if i < 0 {
		return append(waits, archive.Wait{Reason: l.Reason, For: since})
	}
	waits[i].For += since
	return waits
}

func lifeJSONOf(l *archive.Life, now time.Time) *lifeJSON {
	out := &lifeJSON{
		RequestTime: encoder.NanosecondsOf(l.Asked), WaitTime: int64(waitTime(l, now)), UnknownTime: int64(l.Unknown),
		StartTime: encoder.NanosecondsOf(l.Placed), EndTime: encoder.NanosecondsOf(l.Ended),
	}
	for _, w := range waitsOf(l, now) {
		out.Waits = append(out.Waits, waitJSON{w.Reason.String(), int64(w.For)})
	}
	for _, m := range l.Marks {
		out.Marks = append(out.Marks, markJSON{encoder.NanosecondsOf(m.At), m.Text})
	}
	for i := range l.Before {
		out.Before = append(out.Before, *lifeJSONOf(&l.Before[i], now))
	}
	return out
}

// lifeLines are a life for people.
func lifeLines(l *archive.Life, now time.Time) (lines []string) {
	for i := range l.Before {
		lines = append(lines, "before, as "+string(l.Before[i].Key)+": "+lived(&l.Before[i], now))
	}
	lines = append(lines, lived(l, now))
	for _, m := range l.Marks {
		lines = append(lines, m.At.UTC().Format(time.RFC3339)+" "+m.Text)
	}
	return lines
}

// lived is a life in one line.
func lived(l *archive.Life, now time.Time) string {
	text := fmt.Sprintf("asked for at %s, waited %s", l.Asked.UTC().Format(time.RFC3339), wording.Age(waitTime(l, now)))
	if l.Asked.IsZero() {
		text = "when it was asked for is not known"
	}
	var parts []string
	if l.Unknown > 0 {
		parts = append(parts, wording.Age(l.Unknown)+" before the scheduler knew of it")
	}
	for _, w := range waitsOf(l, now) {
		parts = append(parts, wording.Age(w.For)+" "+w.Reason.String())
	}
	if len(parts) > 0 {
		text += ": " + strings.Join(parts, ", ")
	}
	switch {
	case l.Placed.IsZero():
	case l.Ended.IsZero():
		text += "; has run for " + wording.Age(now.Sub(l.Placed))
	default:
		text += "; ran for " + wording.Age(l.Ended.Sub(l.Placed))
	}
	return text
}

// addLife adds the life of an allocation, or of an ask, to its explanation.
func (e *explanationJSON) addLife(l *archive.Life, now time.Time) {
	e.Life = lifeJSONOf(l, now)
	e.Lines = append(e.Lines, inMargin("life", lifeLines(l, now))...)
}

// inMargin is lines with a name beside the first.
func inMargin(name string, lines []string) []string {
	out := make([]string, len(lines))
	for i, line := range lines {
		out[i] = fmt.Sprintf("  %-10s%s", name, line)
		name = ""
	}
	return out
}

// addForecast adds when an ask will run to its explanation.
func (e *explanationJSON) addForecast(ctx context.Context, at *object.Snapshot, trial explain.Trial, a *explain.Answer) {
	life, _ := at.Past().Life(a.Allocation.Application, a.Allocation.Key)
	f := forecast.When(ctx, forecast.Question{
		View: at.View, Kinds: at.Kinds(), Times: at.Past().RunTimes(), Trial: trial, Told: life.Told,
		Preempted: at.Past().PreemptedSince(a.Queue, at.Now().Add(-time.Hour)),
	}, a.Allocation.Application, a.Allocation.Key)
	if _, most := f.Bounds(); f.No == "" {
		at.Past().Tell(a.Allocation.Key, at.Now(), at.Now().Add(most))
	}
	e.Forecast = &forecastJSON{Least: int64(f.Least), Middle: int64(f.Middle), Most: int64(f.Most), Wrong: f.Wrong, No: f.No}
	if l := f.Line; l != nil {
		e.Forecast.Place, e.Forecast.Of, e.Forecast.PlaceInQueue, e.Forecast.OfQueue = l.Place, l.Of, l.PlaceInQueue, l.OfQueue
	}
	e.Lines = append(e.Lines, inMargin("when", f.Lines())...)
}
