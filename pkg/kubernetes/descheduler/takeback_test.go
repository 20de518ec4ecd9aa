package descheduler

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/framework"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/policy"
)

// takingBack is a world of which the evict plugin notes what still stands of some that may have asked.
// It fails while that is wanted.
func takingBack(t *testing.T) (w *world, j *journal, fails *atomic.Bool) {
	w, j = live(t)
	w.options.Interval = time.Minute
	w.plugins = append(w.plugins, &scripted{name: "Other", deschedule: evictAll})
	fails = new(atomic.Bool)
	w.plugin("Evict").takeBack = func(_ context.Context, _ framework.Handle, stands func(framework.Asker) bool) error {
		var all []string
		for _, by := range []framework.Asker{{}, {Profile: "p"}, {Profile: "p", Plugin: "All"}, {Profile: "p", Plugin: "Other"}, {Profile: "p", Plugin: "Unknown"}, {Profile: "q", Plugin: "All"}} {
			if stands(by) {
				all = append(all, fmt.Sprint(by.Profile, "/", by.Plugin))
			}
		}
		j.note("stand: " + strings.Join(all, " "))
		if fails.Load() {
			return errors.New("no answer")
		}
		return nil
	}
	return w, j, fails
}

// TestPolicyTakesBack: with each policy evict plugins are told once what still stands of what they were asked for, before controllers run.
func TestPolicyTakesBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, j, _ := takingBack(t)
		p := w.policy.Profiles[0]
		p.Plugins[framework.Controller] = []string{"All"}
		w.plugin("All").run = func(ctx context.Context, _ framework.Handle) error {
			j.note("controller")
			<-ctx.Done()
			return nil
		}
		stop := w.run()
		time.Sleep(150 * time.Second)
		synctest.Wait()
		assert.DeepEqual(t, j.take(), []string{"0s stand: / p/ p/All p/Unknown", "0s controller"})

		next := *w.policy
		next.Profiles = []policy.Profile{profileOf("q", framework.Deschedule, "Other")}
		assert.NilError(t, w.d.Reload(t.Context(), &next))
		synctest.Wait()
		assert.DeepEqual(t, j.take(), []string{"150s stand: /"})
		assert.NilError(t, stop())
	})
}

// TestTakingBackIsTriedAgain: where it fails, a report says so, and it is tried before each cycle.
func TestTakingBackIsTriedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, j, fails := takingBack(t)
		var warned []string
		w.options.Reported = func(r *Report) {
			for _, one := range r.Warnings {
				warned = append(warned, one.Plugin+": "+one.Text)
			}
		}
		fails.Store(true)
		stop := w.run()
		time.Sleep(90 * time.Second)
		synctest.Wait()
		assert.Equal(t, len(j.take()), 2)
		fails.Store(false)
		time.Sleep(5 * time.Minute)
		synctest.Wait()
		assert.Equal(t, len(j.take()), 1)
		assert.DeepEqual(t, slices.Compact(warned), []string{"Evict: what an earlier policy has asked for cannot be taken back: no answer"})
		assert.NilError(t, stop())
	})
}

// TestDryRunTakesNothingBack.
func TestDryRunTakesNothingBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, j, _ := takingBack(t)
		w.options.Interval, w.options.DryRun = 0, true
		assert.NilError(t, w.build().Run(t.Context()))
		assert.Equal(t, len(j.take()), 0)
		w.d, w.options.DryRun = nil, false
		assert.NilError(t, w.build().Run(t.Context()))
		assert.Equal(t, len(j.take()), 1)
	})
}
