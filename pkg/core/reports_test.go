package core_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/core"
	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/explain"
	"github.com/narwhal-scheduler/narwhal/pkg/reports"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// What is promised of reports: of no ask is anything told twice in less than reportGap, and in
// any second no more is told than reportsInSecond.
const (
	reportGap       = 15 * time.Second
	reportsInSecond = 10_000
)

// A reader of reports notes what was told of which ask, and checks what is promised.
type reportReader struct {
	t      *testing.T
	book   *reports.Book
	last   map[api.AllocationKey]time.Time
	kind   map[api.AllocationKey]string // the reason, and whether more nodes help
	why    map[api.AllocationKey]string
	times  []time.Time // of all reports
	atOnce int         // the most reports of one step
}

func newReportReader(t *testing.T, p *core.Partition) *reportReader {
	return &reportReader{t: t, book: reports.NewBook(p, testKinds()), last: map[api.AllocationKey]time.Time{}, kind: map[api.AllocationKey]string{}, why: map[api.AllocationKey]string{}}
}

// forget forgets what waits no more: others may come with these keys.
func (r *reportReader) forget(v *api.View) {
	waiting := map[api.AllocationKey]bool{}
	for _, app := range v.Applications {
		for _, a := range app.Asks {
			waiting[a.Key] = true
		}
	}
	gone := func(key api.AllocationKey) bool { return !waiting[key] }
	maps.DeleteFunc(r.last, func(key api.AllocationKey, _ time.Time) bool { return gone(key) })
	maps.DeleteFunc(r.kind, func(key api.AllocationKey, _ string) bool { return gone(key) })
	maps.DeleteFunc(r.why, func(key api.AllocationKey, _ string) bool { return gone(key) })
}

func (r *reportReader) note(now time.Time, a *api.Allocation, kind, message string) {
	at, before := r.last[a.Key]
	gap := reportGap
	if kind != r.kind[a.Key] {
		gap = time.Second
	}
	assert.Assert(r.t, !before || now.Sub(at) >= gap, "%s after %s, and after %q: %s", a.Key, now.Sub(at), r.why[a.Key], message)
	r.last[a.Key], r.kind[a.Key], r.why[a.Key] = now, kind, message
}

func (r *reportReader) read(now time.Time, fx api.Effects) {
	told := 0
	for _, e := range fx {
		switch e := e.(type) {
		case *reports.AskWaits:
			r.note(now, e.Allocation, fmt.Sprint(e.Reason, e.MoreNodes), e.Message)
			r.times = append(r.times, now)
			told++
		case *api.Unschedulable:
			r.why[e.Key] = e.Reason
		case *api.Claimed: // it waits for something else meanwhile
			r.kind[e.Allocation.Key] = "nominated"
		case *api.AskReport:
			r.note(now, e.Allocation, "", e.Message)
		case api.AskAdded:
			delete(r.last, e.Key)
			delete(r.kind, e.Key)
			delete(r.why, e.Key)
		case api.Placed:
			delete(r.last, e.Key)
			delete(r.kind, e.Key)
			delete(r.why, e.Key)
		}
	}
	r.atOnce = max(r.atOnce, told)
}

// checkPace checks that in no second too much was told.
func (r *reportReader) checkPace() {
	first := 0
	for i, at := range r.times {
		for at.Sub(r.times[first]) >= time.Second {
			first++
		}
		assert.Assert(r.t, i-first < reportsInSecond, "%d in the second before %s", i-first+1, at)
	}
}

// Asks over quota, four times what is told of in a second: each is told why
// it waits, once, and again when that has changed.
func TestReportsAreBoundedAndComplete(t *testing.T) {
	if testing.Short() {
		t.Skip("long, so make test-long plays it")
	}
	const asks, applications = 4 * reportsInSecond, 50
	p := core.NewPartition(api.Options{Kinds: testKinds(), ReserveDelay: -1}, api.Config{
		Name: "default", Root: api.QueueConfig{Name: "root", Queues: []api.QueueConfig{{Name: "a", Max: resources.Limits{4}}}},
	})
	now, r := start, newReportReader(t, p)
	p.Apply(now, api.AddNode{ID: "n1", Capacity: []int64{1 << 40, 1 << 40, 1 << 40}})
	for i := range applications {
		p.Apply(now, api.AddApplication{ID: api.ApplicationID(fmt.Sprint("app", i)), Queue: "root.a"})
	}
	for i := range asks {
		p.Apply(now, ask(api.ApplicationID(fmt.Sprint("app", i%applications)), fmt.Sprint("k", i), int64(5+i%7), 1, 1))
	}
	settle := func(until time.Time) {
		for !now.After(until) {
			fx, more := p.Schedule(now)
			r.read(now, r.book.Scheduled(now, fx))
			due, ok := p.Due()
			if at, walks := r.book.Due(); walks && (!ok || at.Before(due)) {
				due, ok = at, true
			}
			switch {
			case more:
			case !ok || due.After(until):
				now = until.Add(time.Nanosecond)
			default:
				now = due
			}
		}
	}
	settle(now.Add(20 * time.Second))
	assert.Equal(t, len(r.times), asks)
	assert.Equal(t, len(r.why), asks)
	assert.Equal(t, r.why["k0"], "request does not fit in queue root.a: requests memory=1 pods=1 vcore=5, available vcore=4")
	_, due := r.book.Due()
	assert.Assert(t, !due, "there is nothing to do and a walk is due")

	// While something changes every second the walks go on, and come to the end.
	p.Apply(now, api.Reconfigure{Config: api.Config{
		Name: "default", Root: api.QueueConfig{Name: "root", Max: resources.Limits{3}, Queues: []api.QueueConfig{{Name: "a"}}},
	}})
	for i := range 40 {
		r.read(now, r.book.Observe(now, p.Apply(now, ask("app0", fmt.Sprint("other", i), 4, 1, 1))))
		settle(now.Add(time.Second))
	}
	settle(now.Add(20 * time.Second))
	for i := range asks {
		why := r.why[api.AllocationKey(fmt.Sprint("k", i))]
		assert.Assert(t, strings.HasPrefix(why, "request does not fit in queue root: "), why)
	}
	r.checkPace()
	assert.Assert(t, r.atOnce <= 500, "%d at once", r.atOnce)
}

// Whatever happens: nothing is told of an ask too often, and when things have come to rest
// each ask that waits was told of.
func TestReportsOfHistories(t *testing.T) {
	told := 0
	for seed := range uint64(150) {
		h := newHistory(rand.New(rand.NewPCG(seed, 7)))
		r := newReportReader(t, h.p)
		h.heard = func(fx api.Effects) { r.read(h.now, r.book.Scheduled(h.now, fx)) }
		for range 150 {
			switch h.step().(type) {
			case api.ReleaseAllocation, api.RemoveApplication:
				r.forget(h.p.View())
			}
		}
		for range 100 {
			h.now = h.now.Add(time.Second)
			for more := true; more; {
				var fx api.Effects
				fx, more = h.p.Schedule(h.now)
				r.read(h.now, r.book.Scheduled(h.now, fx))
			}
		}
		for _, app := range h.p.View().Applications {
			for _, a := range app.Asks {
				switch a.Reason {
				case api.NotTried, api.RoomIsMade:
				default:
					assert.Assert(t, r.why[a.Key] != "", "seed %d: %s was not told that %s", seed, a.Key, a.Reason)
				}
				if a.Reason == api.QuotaExceeded {
					told++
					assert.Assert(t, strings.Contains(r.why[a.Key], "does not fit in queue "+a.Detail+":"), "seed %d: %s: %s", seed, a.Key, r.why[a.Key])
				}
			}
		}
	}
	assert.Assert(t, told > 100, "%d asks over quota", told)
}

// An attempt is told as a success only if the ask was nominated by it, at that time and to that
// node; all others are told as those that came to nothing.
func TestAttemptsAreToldAsTheyCameOut(t *testing.T) {
	type nomination struct {
		key  api.AllocationKey
		node api.NodeID
		at   time.Time
	}
	var made, failed, refused int
	for seed := range uint64(200) {
		h, kinds := newHistory(rand.New(rand.NewPCG(seed, 11))), testKinds()
		nominated := map[nomination]bool{}
		for range 120 {
			fx, is := h.step().(api.Effects)
			if !is {
				continue
			}
			for _, e := range fx {
				if e, is := e.(*api.Claimed); is && e.Plan != nil {
					nominated[nomination{e.Key, e.Node, h.now}] = true
				}
			}
			for _, app := range h.p.View().Applications {
				for _, a := range app.Asks {
					for _, attempt := range a.Attempts {
						text := explain.Attempt(&attempt, kinds)
						if nominated[nomination{a.Key, attempt.Node, attempt.At}] && attempt.Succeeded() {
							made++
							continue
						}
						failed++
						assert.Assert(t, !attempt.Succeeded() && strings.Contains(text, " on none of "), "seed %d: %s: %s", seed, a.Key, text)
						assert.Assert(t, !strings.Contains(text, "chosen by") && !strings.Contains(text, "victims found") && !strings.Contains(text, "room is there"), "seed %d: %s: %s", seed, a.Key, text)
						if attempt.Refused > 0 {
							refused++
						}
					}
				}
			}
		}
	}
	t.Logf("%d attempts seen that made room, %d that did not, %d since nodes were refused", made, failed, refused)
	assert.Assert(t, made > 0 && failed > 0 && refused > 0, "%d, %d, %d", made, failed, refused)
}
