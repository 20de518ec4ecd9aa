package migration_test

import (
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"gotest.tools/v3/assert"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/migration"
)

// killed plays a migration with a descheduler that ends at one of its writes, before or
// after the API server has carried it out, and another one that goes on.
func killed(t *testing.T, killAt int, late bool, args func() *migration.Args, prepare func(*world)) (w *world, reached bool) {
	w = newWorld(t, "ReplicaSet")
	prepare(w)
	w.start(args(), killAt, late)
	_ = w.EvictPod(t.Context(), w.Pod("web-1"), optionsOf("main")) // it may end there
	w.drive(100)
	reached = w.process.dead
	for range 3 {
		w.turn() // without a descheduler
	}
	w.start(args(), 0, false)
	w.drive(100)
	return w, reached
}

// A descheduler ends at each of its writes. Its successor ends the job; no reservation stays,
// no pod is evicted twice, and no pod is evicted that has no place.
// D-K-PMJ-5: jobs of an earlier process are gone on with.
func TestEndOfTheProcessAtEachWrite(t *testing.T) {
	refused := apierrors.NewTooManyRequests("the budget allows none", 1)
	for _, c := range []struct {
		name    string
		args    func(*migration.Args)
		prepare func(*world)
		phases  []migration.Phase
	}{
		{"it succeeds", nil, func(*world) {}, []migration.Phase{migration.Succeeded}},
		{"without a reservation", func(a *migration.Args) { a.DefaultJobMode = migration.EvictDirectly }, func(*world) {}, []migration.Phase{migration.Succeeded}},
		{"by deletion", func(a *migration.Args) { a.EvictionPolicy = migration.ByDelete }, func(*world) {}, []migration.Phase{migration.Succeeded}},
		{"no room", nil, func(w *world) { w.RemoveNode("node-2") }, []migration.Phase{migration.Failed, migration.Aborted}},
		{"a budget forbids it", nil, func(w *world) { w.refuse = refused }, []migration.Phase{migration.Failed}},
		{"no replacement comes", nil, func(w *world) { w.missing = 1 }, []migration.Phase{migration.Failed}},
		{"the replacement is never ready", nil, func(w *world) { w.starts = -1 }, []migration.Phase{migration.Failed}},
	} {
		t.Run(c.name, func(t *testing.T) {
			most := 0
			for killAt := 1; killAt < 20; killAt++ {
				reachedAny := false
				for _, late := range []bool{false, true} {
					synctest.Test(t, func(t *testing.T) {
						args := func() *migration.Args {
							a := migration.NewArgs()
							a.DefaultJobTTL.Duration = time.Minute
							if c.args != nil {
								c.args(a)
							}
							return a
						}
						w, reached := killed(t, killAt, late, args, c.prepare)
						reachedAny = reachedAny || reached
						check(t, w, fmt.Sprintf("write %d, carried out %v", killAt, late), c.phases)
					})
				}
				if !reachedAny {
					break
				}
				most = killAt
			}
			t.Logf("ended at each of %d writes", most)
			assert.Assert(t, most >= 4)
		})
	}
}

// check looks at the end of a migration.
func check(t *testing.T, w *world, at string, phases []migration.Phase) {
	t.Helper()
	names := w.names()
	if len(names) == 0 { // the process ended before there was a job
		assert.Equal(t, len(w.evicted), 0, at)
		return
	}
	job := w.job(names[0])
	assert.Assert(t, slices.Contains(phases, job.Status.Phase), "%s: %s %s: %s", at, job.Status.Phase, job.Status.Reason, job.Status.Message)
	assert.DeepEqual(t, w.reservations(), []string(nil))
	assert.Assert(t, len(slices.Compact(slices.Sorted(slices.Values(w.evicted)))) == len(w.evicted), "%s: %v", at, w.evicted)
	if job.Status.Phase == migration.Aborted {
		assert.Equal(t, len(w.evicted), 0, at)
	}
	if job.Status.Phase == migration.Succeeded {
		assert.DeepEqual(t, w.evicted, []string{"uid-web-1"})
	}
	w.Advance(time.Second)
	assert.DeepEqual(t, w.Booked(), w.Expected())
}

// The scheduler ends in the middle of a migration too.
func TestEndOfTheSchedulerInTheMiddle(t *testing.T) {
	for seconds := range 6 {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t, "ReplicaSet")
			w.start(migration.NewArgs(), 0, false)
			job := w.evict("web-1")
			w.drive(seconds)
			w.restartScheduler()
			w.drive(60)
			assert.Equal(t, w.job(job).Status.Phase, migration.Succeeded, "%+v", w.job(job).Status)
			assert.DeepEqual(t, w.evicted, []string{"uid-web-1"})
			assert.DeepEqual(t, w.reservations(), []string(nil))
		})
	}
}
