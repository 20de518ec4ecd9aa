package migration_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"gotest.tools/v3/assert"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	clienttesting "k8s.io/client-go/testing"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/migration"
)

// jobOf is a job of a user for a pod.
func jobOf(name string, spec migration.Spec) *migration.Job {
	if spec.PodRef == (migration.PodRef{}) {
		spec.PodRef = migration.PodRef{Namespace: "default", Name: "web-0"}
	}
	return &migration.Job{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: spec}
}

// A job that cannot be read keeps no other: the definition of the kind takes any text as a time to
// live, and any template.
func TestJobsThatCannotBeRead(t *testing.T) {
	for field, value := range map[string]any{
		"ttl":                "soon",
		"deleteOptions":      map[string]any{"gracePeriodSeconds": "long"},
		"reservationOptions": map[string]any{"template": map[string]any{"spec": map[string]any{"containers": "none"}}},
	} {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t, "ReplicaSet")
			w.start(migration.NewArgs(), 0, false)
			w.put(jobOf("a-wrong-one", migration.Spec{}))
			jobs := w.jobs.Resource(migration.Resource)
			wrong, err := jobs.Get(t.Context(), "a-wrong-one", metav1.GetOptions{})
			assert.NilError(t, err)
			assert.NilError(t, unstructured.SetNestedField(wrong.Object, value, "spec", field))
			_, err = jobs.Update(t.Context(), wrong, metav1.UpdateOptions{})
			assert.NilError(t, err)
			job := w.evict("web-1")
			assert.NilError(t, w.Arbitrate(t.Context()))
			assert.Assert(t, w.job(job).InFlight())
			assert.NilError(t, w.Scavenge(t.Context()))
			_, err = w.Reconcile(t.Context(), "a-wrong-one")
			assert.ErrorContains(t, err, "job a-wrong-one: ")
		})
	}
}

// Jobs that make no sense end, with a reason, or count as something that makes sense. No reservation
// is left.
func TestJobsThatMakeNoSense(t *testing.T) {
	of := func(namespace, name string) migration.PodRef {
		return migration.PodRef{Namespace: namespace, Name: name}
	}
	for name, c := range map[string]struct {
		spec   migration.Spec
		reason migration.Reason
	}{
		"no name":              {migration.Spec{PodRef: of("default", "")}, migration.MissingPod},
		"no namespace":         {migration.Spec{PodRef: of("", "web-0")}, migration.MissingPod},
		"a path":               {migration.Spec{PodRef: of("default", "../../nodes/node-1")}, migration.MissingPod},
		"a path of namespaces": {migration.Spec{PodRef: of("a/b", "web-0")}, migration.MissingPod},
		"an absent pod":        {migration.Spec{PodRef: of("default", "nobody")}, migration.MissingPod},
		"a negative time":      {migration.Spec{TTL: &metav1.Duration{Duration: -time.Hour}}, migration.Timeout},
		"a time of 292 years":  {migration.Spec{TTL: &metav1.Duration{Duration: 1<<63 - 1}}, ""},
		"a mode that is none":  {migration.Spec{Mode: "Absurd"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, "ReplicaSet")
				w.start(migration.NewArgs(), 0, false)
				w.process.client.PrependReactor("get", "pods", func(action clienttesting.Action) (bool, runtime.Object, error) {
					asked := action.(clienttesting.GetAction)
					assert.Check(t, asked.GetName() != "" && asked.GetNamespace() != "" && asked.GetNamespace() != "a/b" && asked.GetName()[0] != '.',
						"a client refuses to ask for %s/%s", asked.GetNamespace(), asked.GetName())
					return false, nil, nil
				})
				w.put(jobOf("by-hand", c.spec))
				w.drive(60)
				got := w.job("by-hand").Status
				assert.Equal(t, got.Reason, c.reason, "%+v", got)
				assert.Equal(t, got.Phase == migration.Succeeded, c.reason == "", "%+v", got)
				assert.Equal(t, len(w.reservations()), 0)
			})
		})
	}
}

// A thousand jobs that make no sense do not keep one that does, and end one after the other.
func TestManyJobsThatMakeNoSense(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const endsMax = 100
		w := newWorld(t, "ReplicaSet")
		w.start(migration.NewArgs(), 0, false)
		for i := range 10 * endsMax {
			w.put(jobOf(fmt.Sprintf("absent-%04d", i), migration.Spec{PodRef: migration.PodRef{Namespace: "default", Name: fmt.Sprint("nobody-", i)}}))
		}
		w.put(jobOf("real", migration.Spec{}))
		for i := range 10 {
			before := len(w.process.client.Actions()) + len(w.process.writes)
			assert.NilError(t, w.Arbitrate(t.Context()))
			assert.Assert(t, w.job("real").InFlight())
			assert.Assert(t, len(w.process.client.Actions())+len(w.process.writes)-before <= 3*endsMax+1)
			assert.Assert(t, w.job(fmt.Sprintf("absent-%04d", (i+1)*endsMax-1)).Ended())
		}
	})
}

// A user may change a job while it is under way: its reservation goes with it all the same, and what
// is taken out of its status is made again.
func TestJobsThatAreChanged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, "ReplicaSet")
		args := migration.NewArgs()
		args.EvictionPolicy = migration.BySoftEviction // which waits
		w.start(args, 0, false)
		w.put(jobOf("by-hand", migration.Spec{TTL: &metav1.Duration{Duration: time.Minute}}))
		w.drive(5)
		assert.Equal(t, len(w.reservations()), 1)
		w.change("by-hand", func(job *migration.Job) { job.Status.Reservation = nil })
		w.drive(1)
		assert.Assert(t, w.job("by-hand").Status.Reservation != nil)
		w.change("by-hand", func(job *migration.Job) { job.Spec.Mode = migration.EvictDirectly })
		w.drive(60)
		assert.Equal(t, w.job("by-hand").Status.Reason, migration.Timeout)
		assert.Equal(t, len(w.reservations()), 0)
	})
}

// A panic over one job does not end the process, and other jobs go on; one in arbitration ends a run,
// which is then started again.
func TestPanicsOverAJob(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, "ReplicaSet")
		w.start(migration.NewArgs(), 0, false)
		verb := "get"
		w.process.dynamic.PrependReactor("*", "*", func(action clienttesting.Action) (bool, runtime.Object, error) {
			get, ok := action.(clienttesting.GetAction)
			if verb == "list" && action.GetVerb() == "list" || ok && get.GetName() == "bad" {
				panic("a fault")
			}
			return false, nil, nil
		})
		w.put(jobOf("bad", migration.Spec{Paused: true}))
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan any, 1)
		go func() {
			defer func() { ended <- recover() }()
			_ = w.Run(ctx)
		}()
		w.Advance(time.Second)
		job := w.evict("web-1")
		for range 20 {
			w.turn()
		}
		assert.Equal(t, w.job(job).Status.Phase, migration.Succeeded, "%+v", w.job(job).Status)
		verb = "list"
		w.put(jobOf("another", migration.Spec{}))
		w.Advance(time.Second)
		assert.Equal(t, <-ended, "a fault")
		cancel()
	})
}
