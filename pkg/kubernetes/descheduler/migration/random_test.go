package migration_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"gotest.tools/v3/assert"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/migration"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/shim/shimtest"
)

// Random histories: pods are migrated one after the other and at a time, and the descheduler and the
// scheduler end again and again, users delete pods, nodes come and go. In the end all jobs have ended,
// no pod was evicted twice, no reservation is left, and the books are right.
func TestRandomHistories(t *testing.T) {
	const histories = 12
	ends, why := map[migration.Phase]int{}, map[string]int{}
	for seed := range uint64(histories) {
		synctest.Test(t, func(t *testing.T) {
			r := rand.New(rand.NewPCG(seed, 13))
			w := newWorld(t, []string{"ReplicaSet", "StatefulSet"}[seed%2])
			args := func() *migration.Args {
				a := migration.NewArgs()
				a.MaxMigratingPerWorkload, a.MaxUnavailablePerWorkload = new(intstr.FromInt32(2)), new(intstr.FromInt32(2))
				a.ObjectLimiters.Workload.Duration.Duration = 0
				a.DefaultJobTTL.Duration = time.Minute
				return a
			}
			for step := range 30 {
				w.start(args(), r.IntN(20), r.IntN(2) == 0)
				var names []string
				for _, pod := range w.all() {
					if strings.HasPrefix(pod.Name, "web") && pod.DeletionTimestamp == nil && pod.Spec.NodeName != "" {
						names = append(names, pod.Name)
					}
				}
				switch r.IntN(8) {
				case 0:
					w.restartScheduler()
				case 1:
					w.AddNode(fmt.Sprint("late-", step), "cpu=2")
				case 2:
					if w.Node(fmt.Sprint("late-", step-2)) != nil {
						w.ChangeNode(fmt.Sprint("late-", step-2), cordon)
					}
				case 3:
					if len(names) > 0 {
						w.DeletePod(names[r.IntN(len(names))])
					}
				default:
					if len(names) > 0 { // it may be refused, or the process ends
						_ = w.EvictPod(t.Context(), w.Pod(names[r.IntN(len(names))]), optionsOf("main"))
					}
				}
				w.drive(1 + r.IntN(5))
			}
			w.start(args(), 0, false)
			w.drive(100)
			for _, name := range w.names() {
				job := w.job(name)
				assert.Assert(t, job.Ended(), "history %d: %+v", seed, job.Status)
				ends[job.Status.Phase]++
				why[string(job.Status.Phase)+" "+string(job.Status.Reason)+": "+job.Status.Message]++
				if job.Status.Phase == migration.Aborted {
					assert.Assert(t, !slices.Contains(w.evicted, string(job.Status.PodUID)), "history %d: %+v", seed, job.Status)
				}
			}
			assert.DeepEqual(t, w.reservations(), []string(nil))
			assert.Equal(t, len(slices.Compact(slices.Sorted(slices.Values(w.evicted)))), len(w.evicted), "history %d: %v", seed, w.evicted)
			for range 20 {
				w.turn()
			}
			assert.Equal(t, len(w.Booked()), 3, "history %d: %v", seed, w.Booked())
		})
	}
	t.Logf("%v %v", ends, why)
	assert.Assert(t, ends[migration.Succeeded] > histories, "%v", ends)
}

// Many jobs wait at a time: a look at all of them stays short, so that it can be repeated twice a second.
func TestManyJobs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, "ReplicaSet")
		const count = 2000
		w.Put(shimtest.NewNode("big", "cpu=10000 pods=10000"))
		for i := range count {
			pod := shimtest.NewPod(fmt.Sprintf("api-%d", i), "cpu=1", of("Group", fmt.Sprint("api-", i%10), "big"))
			w.Put(pod)
			w.put(&migration.Job{ObjectMeta: metav1.ObjectMeta{Name: pod.Name}, Spec: migration.Spec{PodRef: migration.PodRef{Namespace: "default", Name: pod.Name}}})
		}
		args := migration.NewArgs()
		args.MaxMigratingPerNode = new(10)
		w.start(args, 0, false)
		assert.NilError(t, w.Arbitrate(t.Context()))
		assert.Equal(t, len(w.passed()), 10)
	})
}
