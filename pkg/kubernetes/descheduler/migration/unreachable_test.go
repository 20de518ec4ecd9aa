package migration_test

import (
	"testing"
	"testing/synctest"

	"gotest.tools/v3/assert"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clienttesting "k8s.io/client-go/testing"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/migration"
)

// TestJobsThatCannotBeListed: without the kind of jobs, or the right to list them, the controller fails
// and says what is missing, so that the process is not ready.
func TestJobsThatCannotBeListed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, "ReplicaSet")
		w.start(migration.NewArgs(), 0, false)
		w.jobs.PrependReactor("list", "podmigrationjobs", func(clienttesting.Action) (bool, runtime.Object, error) {
			return true, nil, apierrors.NewNotFound(schema.GroupResource{Resource: "podmigrationjobs"}, "")
		})
		assert.ErrorContains(t, w.Run(t.Context()), "are the kind PodMigrationJob and the role for migrations installed?")
	})
}
