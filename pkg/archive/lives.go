package archive

import (
	"slices"
	"strings"
	"time"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/reports"
)

const (
	// livesMax is of how many asks and allocations the life is kept. Those that have ended go first; of more that
	// go on none is begun.
	livesMax = 20_000
	// marksMax is how many marks are kept of one, the first and the latest.
	marksMax = 16
)

// A Life is what one ask or allocation has been, from when it was asked for to its end. Of those that ran
// at once and were left alone there is none.
//
//	Asked to Placed, or to Until = Unknown + the sum of Waits, in the first go
type Life struct {
	Key         api.AllocationKey
	Application api.ApplicationID
	Asked       time.Time
	Unknown     time.Duration // it waited before anything was known of it here
	Waits       []Wait        // how long for which reason, in the order in which the reasons came
	Until       time.Time     // until when Waits tell, while it waits
	Reason      api.Reason    // for which it waits since
	Placed      time.Time     // zero while it waits
	Ended       time.Time     // zero while it goes on
	Marks       []Mark        // what happened to it, the oldest first
	Before      []Life        // what the same pod was before, under other keys, the oldest first; the last few
	Told        Told          // when it was said to run
}

// A Told is what was said of an ask: that it will run until a time, and how often that has passed before another was said.
type Told struct {
	At, Until time.Time
	Wrong     int
}

// Missed is how often what was told was wrong by now.
func (t Told) Missed(now time.Time) int {
	if !t.Until.IsZero() && now.After(t.Until) {
		return t.Wrong + 1
	}
	return t.Wrong
}

// A Wait is how long an ask waited for one reason, to within the second or so after which a change of it is told
// (package reports).
type Wait struct {
	Reason api.Reason
	For    time.Duration
}

// A Mark is something that happened to an ask or allocation, in words.
type Mark struct {
	At   time.Time
	Text string
}

// beforeMax is how many former lives of a pod are kept with the one that goes on.
const beforeMax = 4

// lives are those of a partition.
//
//	len(by) <= livesMax
//	ended   = those in by that have ended, the oldest first, and perhaps some that are gone
type lives struct {
	by    map[api.AllocationKey]*life
	pods  map[podKey]api.AllocationKey // the last of each pod that the resource manager names
	ended []api.AllocationKey
	full  time.Time // when a life was last not begun, as there were too many
}

type podKey struct {
	application api.ApplicationID
	pod         string
}

type life struct {
	Life
	pod  string
	step int64 // when it was last seen to wait
	open bool  // why it waits since Until is told next
}

func newLives() lives {
	return lives{by: map[api.AllocationKey]*life{}, pods: map[podKey]api.AllocationKey{}}
}

// of is the life of an ask or allocation, begun if need be; nil if there are too many. Since is when the partition began.
func (s *lives) of(now time.Time, a *api.Allocation, since time.Time) *life {
	if l := s.by[a.Key]; l != nil {
		return l
	}
	for len(s.by) >= livesMax && len(s.ended) > 0 {
		if l := s.by[s.ended[0]]; l != nil && !l.Ended.IsZero() {
			s.drop(s.ended[0])
		}
		s.ended = s.ended[1:]
	}
	if len(s.by) >= livesMax {
		s.full = now
		return nil
	}
	l := s.begun(a)
	known := since
	if s.full.After(known) {
		known = s.full
	}
	if a.Placed.IsZero() && known.After(a.Created) {
		l.Unknown, l.Until = known.Sub(a.Created), known
	}
	if at := (podKey{a.Application, l.pod}); l.pod != "" {
		if before := s.by[s.pods[at]]; before != nil && !before.Ended.IsZero() {
			l.follows(before)
		}
		s.pods[at] = a.Key
	}
	s.by[a.Key] = l
	return l
}

func (s *lives) begun(a *api.Allocation) *life {
	return &life{Life: Life{Key: a.Key, Application: a.Application, Asked: a.Created, Placed: a.Placed, Until: a.Created}, pod: PodOf(a), open: true}
}

// follows notes what the same pod was before.
func (l *life) follows(before *life) {
	former := before.Life
	former.Before = nil
	l.Before = append(slices.Clone(before.Before), former)
	l.Before = l.Before[max(0, len(l.Before)-beforeMax):]
}

// tooLate is how long before it came an ask was made, if that is worth telling: its time is that of the resource manager, which
// may count in seconds.
const tooLate = 2 * time.Second

// again begins the life of an ask that came late, or is known already: it could not be bound, or comes again after its end.
func (s *lives) again(now time.Time, a *api.Allocation, since time.Time) {
	l := s.by[a.Key]
	switch {
	case l == nil:
		if late := now.Sub(a.Created); late >= tooLate && !a.Created.IsZero() {
			if l = s.of(now, a, since); l != nil {
				l.Unknown, l.Until = late, now
			}
		}
	case l.Ended.IsZero():
		l.Placed, l.Until, l.open = time.Time{}, now, true
	default:
		next := s.begun(a)
		next.Until = now
		next.follows(l)
		s.by[a.Key] = next
	}
}

func (s *lives) drop(key api.AllocationKey) {
	l := s.by[key]
	if l == nil {
		return
	}
	if at := (podKey{l.Application, l.pod}); s.pods[at] == key {
		delete(s.pods, at)
	}
	delete(s.by, key)
}

// turns adds the time until now to the reason for which an ask waited, as it waits for this one from now on.
func (l *life) turns(now time.Time, reason api.Reason) {
	if l.open {
		l.Reason, l.open = reason, false
	}
	l.waited(now)
	l.Reason = reason
}

// turns notes of an ask that it waits for a reason from now on.
func (s *lives) turns(now time.Time, a *api.Allocation, since time.Time, reason api.Reason) {
	if l := s.of(now, a, since); l != nil && l.Placed.IsZero() {
		l.turns(now, reason)
	}
}

// waited adds the time until now to the reason for which an ask waits.
func (l *life) waited(now time.Time) {
	d, reason := now.Sub(l.Until), l.Reason
	if d <= 0 {
		return
	}
	l.Until = now
	i := slices.IndexFunc(l.Waits, func(w Wait) bool { return w.Reason == reason })
	if i < 0 {
		l.Waits = append(l.Waits, Wait{Reason: reason})
		i = len(l.Waits) - 1
	}
	l.Waits[i].For += d
}

// mark adds what happened. The first and the latest marks are kept.
func (l *life) mark(now time.Time, text string) {
	if len(l.Marks) == marksMax {
		l.Marks = slices.Delete(l.Marks, marksMax/2, marksMax/2+1)
	}
	l.Marks = append(l.Marks, Mark{now, text})
}

// sample takes in why asks wait now, for those of which no event told.
func (s *lives) sample(now, since time.Time, step int64, view *api.View) {
	for _, app := range view.Applications {
		for i := range app.Asks {
			ask := &app.Asks[i]
			l := s.of(now, ask.Allocation, since)
			if l == nil || !l.Placed.IsZero() || !l.Ended.IsZero() {
				continue // it was placed since the view was made
			}
			l.step = step
			l.turns(now, ask.Reason)
		}
	}
	// What had ended before the view was looked at was begun in vain.
	for key, l := range s.by {
		if l.Placed.IsZero() && l.Ended.IsZero() && l.step != step && l.step != 0 {
			s.drop(key)
		}
	}
}

// lived takes in an event about an ask or allocation.
func (b *Book) lived(event api.Event) {
	s := &b.lives
	switch e := event.(type) {
	case api.AskAdded:
		s.again(b.now, e.Allocation, b.since)
	case api.Placed:
		if l := s.by[e.Key]; l != nil {
			l.waited(b.now)
			l.Placed = b.now
			l.mark(b.now, "placed on node "+string(e.Node))
		}
	case *reports.AskWaits:
		s.turns(b.now, e.Allocation, b.since, e.Reason)
	case *api.Unschedulable:
		if e.Why != nil {
			s.turns(b.now, e.Allocation, b.since, e.Why.Reason)
		}
	case *api.AskReport:
		if e.Why != nil {
			s.turns(b.now, e.Allocation, b.since, e.Why.Reason)
		}
	case *api.Claimed:
		if e.Plan == nil {
			return
		}
		if l := s.of(b.now, e.Allocation, b.since); l != nil {
			l.turns(b.now, api.RoomIsMade)
			l.mark(b.now, "room is made for it on node "+string(e.Node))
		}
	case *api.ClaimEnded:
		if l := s.by[e.Key]; l != nil && e.Nominated && e.Waits() {
			l.waited(b.now)
			l.open = true
			l.mark(b.now, e.Text())
		}
	case *api.EvictionRequested:
		if l := s.of(b.now, e.Allocation, b.since); l != nil {
			text := "told to end, by " + e.Trigger.String()
			if e.For != "" {
				text += " for " + string(e.For)
			}
			l.mark(b.now, text)
		}
	case *api.EvictionOverdue:
		if l := s.by[e.Key]; l != nil {
			l.mark(b.now, "overdue: it has not ended in time")
		}
	case *api.AskEnded:
		s.end(b.now, e.Key, "the ask ended")
	case *api.Ended:
		b.ran(e)
		if e.Cause != api.CauseBindFailed {
			s.end(b.now, e.Key, strings.TrimSuffix("ended: "+e.Text(), ": "))
		} else if l := s.of(b.now, e.Allocation, b.since); l != nil {
			l.mark(b.now, "it could not be bound: "+e.Message)
		}
	}
}

// end notes the end of a life.
func (s *lives) end(now time.Time, key api.AllocationKey, text string) {
	l := s.by[key]
	if l == nil || !l.Ended.IsZero() {
		return
	}
	if l.Placed.IsZero() {
		l.waited(now)
	}
	l.Ended = now
	l.mark(now, text)
	s.ended = append(s.ended, key)
}

// Tell notes until when it was said now that an ask will run. What was said before holds until its time has passed.
func (b *Book) Tell(key api.AllocationKey, now, until time.Time) {
	if b == nil {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if l := b.lives.by[key]; l != nil && (l.Told.Until.IsZero() || now.After(l.Told.Until)) {
		l.Told = Told{now, until, l.Told.Missed(now)}
	}
}

// Life is that of an ask or allocation of an application; false if none is kept.
func (b *Book) Life(application api.ApplicationID, key api.AllocationKey) (Life, bool) {
	if b == nil {
		return Life{}, false
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	l := b.lives.by[key]
	if l == nil || l.Application != application {
		return Life{}, false
	}
	copied := l.Life
	copied.Waits, copied.Marks = slices.Clone(l.Waits), slices.Clone(l.Marks)
	return copied, true
}
