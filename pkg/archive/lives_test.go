package archive

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/core/preemptor"
	"github.com/narwhal-scheduler/narwhal/pkg/events"
	"github.com/narwhal-scheduler/narwhal/pkg/reports"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// A living is a book in which asks live, by the minute.
type living struct {
	*Book
	waits map[api.AllocationKey]api.Reason
	asked map[api.AllocationKey]*api.Allocation
}

func newLiving(t *testing.T) *living {
	past, err := New(Config{})
	assert.NilError(t, err)
	l := &living{past.Open("default"), map[api.AllocationKey]api.Reason{}, map[api.AllocationKey]*api.Allocation{}}
	l.at(0, &api.ApplicationAccepted{ID: "app", Queue: "root.a"})
	return l
}

func minute(n int) time.Time { return start.Add(time.Duration(n) * time.Minute) }

func (l *living) at(n int, effects ...api.Event) {
	l.Observe(events.Step{Now: minute(n), Effects: effects})
}

func (l *living) asks(n int, key, pod string) *api.Allocation {
	a := &api.Allocation{Key: api.AllocationKey(key), Application: "app", Created: minute(n)}
	if pod != "" {
		a.Tags = map[string]string{"kubernetes.io/meta/podName": pod, "kubernetes.io/meta/namespace": "default"}
	}
	l.asked[a.Key] = a
	l.at(n, api.AskAdded{Allocation: a})
	return a
}

// sees takes a sample in which the asks wait for a reason.
func (l *living) sees(n int, reason api.Reason, asks ...*api.Allocation) {
	app := &api.ApplicationView{ID: "app", Queue: "root.a"}
	for _, a := range asks {
		app.Asks = append(app.Asks, api.AskView{Allocation: a, Waiting: &api.Waiting{Reason: reason}})
	}
	l.Sample(minute(n), &api.View{Root: &api.QueueView{Path: "root"}, Applications: []*api.ApplicationView{app}})
}

// told says from when on an ask waits for a reason.
func (l *living) told(n int, reason api.Reason, ask *api.Allocation) {
	l.at(n, &reports.AskWaits{Allocation: ask, Reason: reason})
}

// said is a life on a few lines.
func said(life Life) string {
	text := fmt.Sprintf("asked %d", int(life.Asked.Sub(start).Minutes()))
	if life.Unknown > 0 {
		text += fmt.Sprintf(", unknown %d", int(life.Unknown.Minutes()))
	}
	for _, w := range life.Waits {
		text += fmt.Sprintf(", %d %s", int(w.For.Minutes()), w.Reason)
	}
	for _, m := range life.Marks {
		text += fmt.Sprintf("\n%d %s", int(m.At.Sub(start).Minutes()), m.Text)
	}
	for _, former := range life.Before {
		text += "\nbefore: " + strings.ReplaceAll(said(former), "\n", "; ")
	}
	return text
}

func (l *living) tells(t *testing.T, key, want string) {
	t.Helper()
	life, known := l.Life("app", api.AllocationKey(key))
	assert.Assert(t, known)
	assert.Equal(t, said(life), want)
}

// TestLives: how long an ask waited for what, what happened to it, and that its pod came again.
func TestLives(t *testing.T) {
	l := newLiving(t)
	web := l.asks(1, "web", "web-0")
	l.told(2, api.QuotaExceeded, web)
	l.sees(20, api.QuotaExceeded, web)
	l.told(31, api.NoNodeFits, web)
	l.sees(40, api.NoNodeFits, web)
	l.at(41, &api.Claimed{Allocation: web, Node: "n1", Plan: &preemptor.Decision{}})
	l.sees(43, api.RoomIsMade, web)
	l.tells(t, "web", "asked 1, 30 queue quota exceeded, 10 no node has room, 2 room is being made\n41 room is made for it on node n1")
	placed := web.PlacedOn("n1", minute(44))
	l.at(44, api.Placed{Allocation: placed})
	l.at(60, &api.EvictionRequested{Allocation: placed, For: "db", Trigger: preemptor.Priority})
	l.at(61, &api.Ended{Allocation: placed, Cause: api.CausePreempted, Evicted: true, Message: "preempted"})
	// The same pod comes again under another key.
	again := l.asks(62, "web-b", "web-0")
	l.sees(65, api.NoNodeFits, again)
	l.tells(t, "web-b", "asked 62, 3 no node has room\n"+
		"before: asked 1, 30 queue quota exceeded, 10 no node has room, 3 room is being made; 41 room is made for it on node n1; 44 placed on node n1; 60 told to end, by priority for db; 61 ended: preempted")
}

// TestLivesThatBeginAnew: one that could not be bound goes on waiting, and one that was asked for before the
// scheduler started is unknown until then.
func TestLivesThatBeginAnew(t *testing.T) {
	l := newLiving(t)
	old := l.asks(-20, "old", "")
	l.sees(5, api.NoNodeFits, old)
	l.tells(t, "old", "asked -20, unknown 20, 5 no node has room")
	placed := old.PlacedOn("n1", minute(6))
	l.at(6, api.Placed{Allocation: placed})
	l.at(7, &api.Ended{Allocation: placed, Cause: api.CauseBindFailed, Message: "no volume"}, api.AskAdded{Allocation: old})
	l.sees(9, api.BindFailed, old)
	l.tells(t, "old", "asked -20, unknown 20, 6 no node has room, 2 binding failed\n6 placed on node n1\n7 it could not be bound: no volume")
	l.at(10, &api.AskEnded{Allocation: old})
	l.asks(12, "old", "")
	l.sees(13, api.QuotaExceeded, l.asked["old"])
	life, _ := l.Life("app", "old")
	assert.Equal(t, len(life.Before), 1)
	assert.Equal(t, strings.Split(said(life), "\n")[0], "asked 12, 1 queue quota exceeded")
}

// TestWaitsBetweenSamples: what an ask waits for is counted from change to change, however it was between two samples, and what
// it waits for again is added to what it did.
func TestWaitsBetweenSamples(t *testing.T) {
	l := newLiving(t)
	web := l.asks(1, "web", "")
	l.told(1, api.QuotaExceeded, web)
	l.told(17, api.NoNodeFits, web)
	l.told(18, api.QuotaExceeded, web)
	l.told(19, api.NoNodeFits, web)
	l.sees(20, api.NoNodeFits, web)
	l.tells(t, "web", "asked 1, 17 queue quota exceeded, 2 no node has room")
}

// TestLivesOfTheLate: what came after the scheduler has no time before it, but that before it was told of.
func TestLivesOfTheLate(t *testing.T) {
	l := newLiving(t)
	l.sees(9, api.NoNodeFits)
	web := &api.Allocation{Key: "web", Application: "app", Created: minute(8)} // not in the sample, which was made before
	l.Observe(events.Step{Now: minute(8), Effects: api.Effects{api.AskAdded{Allocation: web}}})
	l.sees(10, api.NoNodeFits, web)
	l.tells(t, "web", "asked 8, 2 no node has room")
	late := &api.Allocation{Key: "late", Application: "app", Created: minute(4)}
	l.at(11, api.AskAdded{Allocation: late})
	l.told(12, api.QuotaExceeded, late)
	l.sees(14, api.QuotaExceeded, late)
	l.tells(t, "late", "asked 4, unknown 7, 3 queue quota exceeded")
}

// TestLivesAreBounded: the oldest of those that have ended go, and what waits stays.
func TestLivesAreBounded(t *testing.T) {
	l := newLiving(t)
	first := l.asks(0, "first", "")
	l.sees(1, api.NoNodeFits, first)
	for i := range livesMax + 10 {
		one := &api.Allocation{Key: api.AllocationKey(fmt.Sprint("a", i)), Application: "app", Created: minute(1), Placed: minute(1)}
		l.at(2, &api.EvictionRequested{Allocation: one}, &api.Ended{Allocation: one, Cause: api.CausePreempted, Evicted: true})
	}
	assert.Equal(t, len(l.lives.by), livesMax)
	l.sees(3, api.NoNodeFits, first)
	l.tells(t, "first", "asked 0, 3 no node has room")
	// Of one that found no place it is not known why it waited until there was one.
	clear(l.lives.by)
	for i := range livesMax {
		key := api.AllocationKey(fmt.Sprint("w", i))
		l.lives.by[key] = &life{Life: Life{Key: key, Application: "app"}}
	}
	more := l.asks(4, "more", "")
	l.told(5, api.NoNodeFits, more)
	delete(l.lives.by, "w0")
	l.told(7, api.QuotaExceeded, more)
	l.sees(9, api.QuotaExceeded, more)
	l.tells(t, "more", "asked 4, unknown 1, 4 queue quota exceeded")
	_, known := l.Life("app", "a0")
	assert.Assert(t, !known)
	_, known = l.Life("other", "first")
	assert.Assert(t, !known)
}

// TestTold: what was said of an ask first holds until its time has passed, and then counts as wrong.
func TestTold(t *testing.T) {
	l := newLiving(t)
	web := l.asks(1, "web", "")
	l.told(2, api.QuotaExceeded, web)
	missed := func(n int) int {
		life, _ := l.Life("app", "web")
		return life.Told.Missed(minute(n))
	}
	assert.Equal(t, missed(3), 0)
	l.Tell("web", minute(3), minute(10))
	l.Tell("web", minute(5), minute(20))
	assert.Equal(t, missed(10), 0)
	assert.Equal(t, missed(11), 1)
	l.Tell("web", minute(11), minute(15))
	assert.Equal(t, missed(15), 1)
	assert.Equal(t, missed(16), 2)
	l.Tell("none", minute(11), minute(15))
}

// TestRunTimes: those of what ended by itself, the shortest first, and the latest if there are many; in a queue only those of equal
// amounts tell of each other.
func TestRunTimes(t *testing.T) {
	l := newLiving(t)
	ends := func(after int, cores int64, cause api.EndCause, evicted bool) {
		one := &api.Allocation{Key: "k", Application: "app", Node: "n", Placed: minute(0), Amounts: resources.Amounts{cores}}
		l.at(after, &api.Ended{Allocation: one, Cause: cause, Evicted: evicted})
	}
	ends(9, 1, api.CauseReleased, false)
	ends(10, 1, api.CauseReleased, true)
	ends(11, 1, api.CauseNodeRemoved, false)
	ends(12, 1, api.CauseReleased, false)
	want := []time.Duration{9 * time.Minute, 12 * time.Minute}
	assert.DeepEqual(t, l.RunTimes(), RunTimes{
		map[api.ApplicationID][]time.Duration{"app": want}, map[api.QueuePath][]AlikeTimes{"root.a": {{resources.Amounts{1}, want}}},
	})
	for i := range 10 * runsMax {
		ends(20+i, 1, api.CauseReleased, false)
	}
	times := l.RunTimes().Of("other", "root.a", resources.Amounts{1})
	assert.Equal(t, len(times), runsMax)
	assert.Equal(t, times[0], time.Duration(20+9*runsMax)*time.Minute)
	assert.Equal(t, len(l.RunTimes().Of("other", "root.a", resources.Amounts{2})), 0)
	for i := range 10 * alikeMax {
		ends(1000+i, int64(1+i), api.CauseReleased, false)
	}
	of := l.RunTimes().Queues["root.a"]
	assert.Equal(t, len(of), alikeMax)
	assert.DeepEqual(t, of[alikeMax-1].Amounts, resources.Amounts{10 * alikeMax})
}

// TestFormerLivesAreBounded: of a pod that comes again and again the last few former lives are kept.
func TestFormerLivesAreBounded(t *testing.T) {
	l := newLiving(t)
	for i := range 10 * beforeMax {
		key := fmt.Sprint("web-", i)
		one := l.asks(i, key, "web")
		l.told(i, api.NoNodeFits, one)
		l.at(i, &api.AskEnded{Allocation: one})
	}
	life, _ := l.Life("app", api.AllocationKey(fmt.Sprint("web-", 10*beforeMax-1)))
	assert.Equal(t, len(life.Before), 4)
	assert.Equal(t, life.Before[3].Key, api.AllocationKey(fmt.Sprint("web-", 10*beforeMax-2)))
}

// TestQueuesOfRunTimesAreBounded: queues that come and go leave no more run times than of so many.
func TestQueuesOfRunTimesAreBounded(t *testing.T) {
	l := newLiving(t)
	for i := range runQueuesMax + 10 {
		id := api.ApplicationID(fmt.Sprint("app-", i))
		one := &api.Allocation{Key: "k", Application: id, Node: "n", Placed: minute(0)}
		l.at(1, &api.ApplicationAccepted{ID: id, Queue: api.QueuePath(fmt.Sprint("root.", i))}, &api.Ended{Allocation: one, Cause: api.CauseReleased})
	}
	assert.Equal(t, len(l.RunTimes().Queues), 10_000)
}
