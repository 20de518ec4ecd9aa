package archive

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/core/preemptor"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

const (
	seeds = 300
	steps = 400
)

// TestBookIsAsTheNaiveOne compares a book that is written as things happen with one
// that is worked out afterwards from what was there.
func TestBookIsAsTheNaiveOne(t *testing.T) {
	if testing.Short() {
		t.Skip("large, and played without the race detector")
	}
	met := map[string]int{}
	for seed := range uint64(seeds) {
		w := newWorld(t, seed, Config{Keep: 1000 * time.Hour})
		where := fmt.Sprint("seed ", seed)
		w.live(steps)
		if seed%30 == 0 { // a day is as far back as counts go
			w.now = w.now.Add(time.Duration(1400+w.IntN(100)) * time.Minute)
			w.apply(api.DrainNode{ID: "n0"})
			w.checkCounts(where, 0)
			w.live(steps / 4)
		}
		w.checkRecords(where, met)
		w.checkReasons(where, met)
		w.checkPlans(where, met)
		for _, later := range []time.Duration{0, time.Minute, 20 * time.Minute} {
			w.checkCounts(where, later)
		}
		w.checkBounds(where)
	}
	for _, what := range []string{
		"completed", "failed", "active", "rejected", "used", "preempted", "placeholders", "waits", "scale up",
		"required node", "priority", "quota", "foreign victim", "no further victim", "under way", "placed", "cleared", "planned anew", "withdrawn", "freed",
	} {
		assert.Assert(t, met[what] > 0, "no history has: %s; there is %v", what, met)
	}
}

// plain is amounts of two kinds.
func plain(a resources.Amounts) [2]int64 { return [2]int64{a.Of(0), a.Of(1)} }

// recordText is a record on a few lines.
func recordText(l *ApplicationRecord) string {
	text := fmt.Sprintf("%s in %s of %s: submitted %s, started %s, finished %s, %s, at most %v\n", l.ID, l.Queue, l.User,
		ago(l.Submitted), ago(l.Started), ago(l.Finished), l.State, plain(l.MaxUsed))
	for _, change := range l.Changes {
		text += fmt.Sprintf("  %s %s %s\n", ago(change.At), change.State, change.Reason)
	}
	for _, list := range [][]ResourceUsage{l.Used, l.Preempted, l.Placeholders} {
		for _, s := range list {
			text += fmt.Sprintf("  %s=%v", s.Instance, plain(s.Amounts))
		}
		text += "\n"
	}
	return text
}

func recordsText(records []*ApplicationRecord) string {
	texts := make([]string, len(records))
	for i, l := range records {
		texts[i] = recordText(l)
	}
	return strings.Join(texts, "")
}

func (w *world) checkRecords(where string, met map[string]int) {
	w.t.Helper()
	ended, active := naiveRecords(w.moments)
	got, rejected := w.book.Finished(w.now)
	byEnd := func(a, b *ApplicationRecord) int {
		return cmp.Or(a.Finished.Compare(b.Finished), cmp.Compare(a.ID, b.ID))
	}
	assert.Assert(w.t, slices.IsSortedFunc(got, func(a, b *ApplicationRecord) int { return a.Finished.Compare(b.Finished) }), where)
	got = slices.SortedStableFunc(slices.Values(got), byEnd)
	slices.SortStableFunc(ended, byEnd)
	assert.Equal(w.t, recordsText(got), recordsText(ended), where)
	slices.SortFunc(active, func(a, b *ApplicationRecord) int { return cmp.Compare(a.ID, b.ID) })
	for _, l := range active {
		assert.Equal(w.t, recordText(w.book.Application(l.ID)), recordText(l), where)
		met["active"]++
	}
	for _, l := range append(ended, active...) {
		met[strings.ToLower(l.State)]++
		met["used"] += len(l.Used)
		met["preempted"] += len(l.Preempted)
		met["placeholders"] += len(l.Placeholders)
	}
	var want, have []string
	for _, m := range w.moments {
		for _, effect := range m.Effects {
			if e, ok := effect.(*api.ApplicationRejected); ok {
				want = append(want, ago(m.Now)+string(e.ID)+e.Reason)
			}
		}
	}
	for _, l := range rejected {
		have = append(have, ago(l.Finished)+string(l.ID)+l.Rejection)
		assert.Equal(w.t, l.User, "user of "+string(l.ID))
		met["rejected"]++
	}
	assert.DeepEqual(w.t, have, want)
}

func (w *world) checkReasons(where string, met map[string]int) {
	w.t.Helper()
	for _, app := range w.moments[len(w.moments)-1].view.Applications {
		for _, ask := range app.Asks {
			said, scaleUp := naiveReasons(w.moments, app.ID, ask.Key)
			want, got := folded(said), w.book.PendingReasons(app.ID, ask.Key)
			if len(want) > reasonsMax {
				continue // a reason given again counts anew: TestReasons
			}
			assert.DeepEqual(w.t, got, PendingReasons{want, scaleUp})
			met["waits"] += len(want)
			if scaleUp {
				met["scale up"]++
			}
		}
	}
}

func (w *world) checkPlans(where string, met map[string]int) {
	w.t.Helper()
	plans := w.book.Plans()
	slices.Reverse(plans)
	var got []string
	for _, p := range plans {
		got = append(got, planText(p))
		met[p.Outcome.String()]++
		met[p.Trigger.String()]++
		for _, v := range p.Victims {
			if v.Application == "" {
				met["foreign victim"]++
			}
		}
		if p.Decision.Reason != preemptor.Chosen {
			met["no further victim"]++
		}
	}
	assert.Equal(w.t, strings.Join(got, "\n"), strings.Join(naivePlans(w.moments), "\n"), where)
}

func (w *world) checkCounts(where string, later time.Duration) {
	w.t.Helper()
	got := (&Archive{books: map[string]*Book{"p": w.book}}).Counts(w.now.Add(later))
	want := naiveCounts(w.moments, w.now.Add(later))
	assert.Assert(w.t, slices.Equal(got, want), "%s, %s later: %v, not %v", where, later, got, want)
}

// checkBounds compares what the book keeps of what goes on with what goes on.
func (w *world) checkBounds(where string) {
	w.t.Helper()
	m := &w.moments[len(w.moments)-1]
	running := map[api.AllocationKey]bool{}
	for _, app := range m.view.Applications {
		for _, a := range app.Allocations {
			running[a.Key] = true
		}
		for key := range w.book.applications[app.ID].pending {
			assert.Assert(w.t, waitsAt(m, app.ID, key), "%s: %s of %s", where, key, app.ID)
		}
	}
	for key := range w.book.resized {
		assert.Assert(w.t, running[key], "%s: %s", where, key)
	}
	assert.Equal(w.t, len(w.book.applications), len(m.view.Applications), where)
	assert.Assert(w.t, len(w.book.instances) <= len(m.view.Nodes), where)
	kept := map[api.AllocationKey]bool{}
	names := 0
	for _, p := range w.book.plans.kept.all() {
		kept[p.Key] = true
		names += p.names
		for _, v := range p.Victims {
			kept[v.Key] = true
		}
	}
	assert.Equal(w.t, names, w.book.plans.names, where)
	for key := range w.book.plans.open {
		assert.Assert(w.t, kept[key], where)
	}
	for key := range w.book.plans.victims {
		assert.Assert(w.t, kept[key], where)
	}
}
