package migration_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"gotest.tools/v3/assert"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	clienttesting "k8s.io/client-go/testing"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/migration"
)

// running has the plugin work by itself as a controller until the function ends, which is given the job of a pod.
func running(t *testing.T, play func(w *world, job string)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, "ReplicaSet")
		w.start(migration.NewArgs(), 0, false)
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- w.Run(ctx) }()
		w.Advance(time.Second)
		play(w, w.evict("web-1"))
		cancel()
		assert.ErrorIs(t, <-ended, context.Canceled)
	})
}

// TestRefusedEvictionIsTriedAgain within three seconds after a budget allows it.
func TestRefusedEvictionIsTriedAgain(t *testing.T) {
	running(t, func(w *world, job string) {
		w.refuse = apierrors.NewTooManyRequests("the budget allows none", 1)
		for range 45 {
			w.turn()
		}
		assert.Equal(w.t, w.job(job).Status.Reason, migration.FailedEvict)
		w.refuse = nil
		w.Advance(3 * time.Second)
		assert.Equal(w.t, len(w.evicted), 1)
	})
}

// TestPausesAfterFailures: while jobs cannot be read one is tried less and less often, and at least each 30 seconds, so that it goes on soon after an outage.
func TestPausesAfterFailures(t *testing.T) {
	running(t, func(w *world, job string) {
		fails, tries := true, 0
		w.jobs.PrependReactor("get", "*", func(clienttesting.Action) (bool, runtime.Object, error) {
			if fails {
				tries++
			}
			return fails, nil, apierrors.NewInternalError(errors.New("out of order"))
		})
		w.Advance(210 * time.Second)
		assert.Assert(w.t, tries > 8 && tries < 30, "%d", tries)
		fails = false
		w.Advance(30 * time.Second)
		assert.Assert(w.t, w.job(job).Status.Phase == migration.Running, "%+v", w.job(job).Status)
	})
}

// TestJobsAreDeletedInTime: one that has ended is gone six minutes after its time to live, which is five.
func TestJobsAreDeletedInTime(t *testing.T) {
	running(t, func(w *world, job string) {
		for range 20 {
			w.turn()
		}
		assert.Equal(w.t, w.job(job).Status.Phase, migration.Succeeded)
		w.Advance(9 * time.Minute)
		assert.DeepEqual(w.t, w.names(), []string{job})
		w.Advance(100 * time.Second)
		assert.Equal(w.t, len(w.names()), 0)
	})
}
