package migration_test

import (
	"testing"
	"testing/synctest"

	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/migration"
)

// A migration from its beginning to its end: a place is reserved, the pod is evicted, and its
// replacement runs at the place.
func TestMigration(t *testing.T) {
	for _, kind := range []string{"ReplicaSet", "StatefulSet"} {
		t.Run(kind, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, kind)
				w.start(migration.NewArgs(), 0, false)
				job := w.evict("web-1")
				w.drive(60)
				got := w.job(job)
				assert.Equal(t, got.Status.Phase, migration.Succeeded, "%+v", got.Status)
				assert.DeepEqual(t, steps(got), []string{"ReservationCreated", "ReservationScheduled", "Eviction", "ReservationBound", "PodScheduled", "PodBoundReservation", "BoundPodReady"})
				assert.Equal(t, got.Status.NodeName, "node-1")
				assert.Equal(t, got.Status.TargetNode, "node-2")
				assert.Equal(t, w.Pod(got.Status.PodRef.Name).Spec.NodeName, "node-2")
				assert.DeepEqual(t, w.evicted, []string{"uid-web-1"})
				assert.Equal(t, len(w.reservations()), 0)
			})
		})
	}
}
