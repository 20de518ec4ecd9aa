package simulation

import (
	"cmp"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"gotest.tools/v3/assert"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/migration"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/pods"
)

// inFlightMost is the limit in flight of policies that have one.
const inFlightMost = 2

// migratingPolicy has all pods go by migration.
func migratingPolicy(r *rand.Rand, of ...choice) string {
	top := ""
	if r.IntN(2) == 0 {
		top = fmt.Sprintf("limits: {inFlight: {total: %d}}\n", inFlightMost)
	}
	text := policyOf(top, "{}", of...)
	text = strings.ReplaceAll(text, "    preevictionfilter: {enabled: [QueueProtection]}\n", `    filter: {enabled: [MigrationController]}
    preevictionfilter: {enabled: [MigrationController, QueueProtection]}
    evict: {enabled: [MigrationController]}
`)
	return strings.ReplaceAll(text, "  pluginConfig:\n", `  pluginConfig:
  - {name: MigrationController, args: {maxMigratingPerNode: 3, objectLimiters: {workload: {duration: 0s}}}}
`)
}

// TestMigratingClosedLoop plays random clusters in which the evictor is the migration. A pod is
// evicted when a place on another node is kept for it, once, and its replacement runs
// there; no pod goes back to a node from which a plugin moved it; limits in flight hold all the
// time; and in the end nothing moves, all jobs have ended and no reservation is left.
func TestMigratingClosedLoop(t *testing.T) {
	phases := map[migration.Phase]int{}
	for _, seed := range seeds(t, clusters(t)/10) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { migrate(t, seed, phases) })
		})
	}
	t.Log(phases)
	assert.Assert(t, phases[migration.Succeeded] > 5, "%v", phases)
}

// playedFor is how long a cluster is played.
const playedFor = 25 * time.Minute

// migrate plays one cluster.
func migrate(t *testing.T, seed uint64, phases map[migration.Phase]int) {
	r := rand.New(rand.NewPCG(seed, 17))
	queues := randomQueues(r, true)
	o := migratable(randomObjects(r))
	w := newMigrating(t, o, queues)
	text := migratingPolicy(r, randomChoices(r, seed)...)
	most := inFlightMost
	if !strings.Contains(text, "inFlight") {
		most = len(o.Pods)
	}
	w.run(text, queues)
	w.play(playedFor-5*time.Minute, most)
	before := len(w.evicted)
	w.play(5*time.Minute, most)
	assert.Check(t, len(w.evicted) == before, "%d evictions, and then %d", before, len(w.evicted))
	for _, wrong := range append(w.wrong, w.settled(phases)...) {
		t.Error(wrong)
	}
	if t.Failed() {
		t.Log(text)
	}
}

// play lets time pass, with no more than so many jobs under way.
func (w *migrating) play(d time.Duration, most int) {
	w.t.Helper()
	for until := time.Now().Add(d); time.Now().Before(until); w.turn() {
		under := 0
		for _, job := range w.all() {
			w.seen[job.UID] = job
			if !job.Ended() {
				under++
			}
		}
		if under > most {
			w.wrong = append(w.wrong, fmt.Sprintf("%d jobs are under way, and %d are the most", under, most))
		}
	}
}

// settled returns what is wrong in the end.
func (w *migrating) settled(phases map[migration.Phase]int) (wrong []string) {
	if len(slices.Compact(slices.Sorted(slices.Values(w.evicted)))) != len(w.evicted) {
		wrong = append(wrong, fmt.Sprintf("a pod is evicted twice: %v", w.evicted))
	}
	all := w.pods()
	for _, p := range all {
		if pods.IsReservation(p) {
			wrong = append(wrong, "reservation "+p.Name+" is left")
		}
		if p.Spec.NodeName == "" {
			wrong = append(wrong, p.Name+" waits")
		}
	}
	for _, n := range w.nodes() {
		wrong = append(wrong, overfull(n, all)...)
	}
	been := map[string][]string{}
	jobs := slices.SortedFunc(maps.Values(w.seen), func(a, b *migration.Job) int {
		return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), cmp.Compare(a.Name, b.Name))
	})
	for _, job := range jobs {
		phases[job.Status.Phase]++
		plugin := job.Annotations[migration.AnnotationTrigger]
		switch {
		case !job.Ended():
			wrong = append(wrong, fmt.Sprintf("job %s is %s", job.Name, job.Status.Phase))
		case job.Status.Phase == migration.Succeeded && slices.Contains(moving, plugin):
			slot := strings.TrimRight(job.Spec.PodRef.Name, "x")
			been[slot] = append(been[slot], job.Status.NodeName)
			if slices.Contains(been[slot], job.Status.TargetNode) {
				wrong = append(wrong, fmt.Sprintf("%s moves %s back to %s", plugin, slot, job.Status.TargetNode))
			}
		case job.Status.Phase == migration.Failed && slices.Contains(w.evicted, job.Status.PodUID):
			wrong = append(wrong, fmt.Sprintf("job %s evicted its pod and failed: %s", job.Name, job.Status.Message))
		}
	}
	return wrong
}

// nodes are all nodes there are.
func (w *migrating) nodes() (all []*v1.Node) {
	list, err := w.API.CoreV1().Nodes().List(w.t.Context(), metav1.ListOptions{})
	assert.NilError(w.t, err)
	for i := range list.Items {
		all = append(all, &list.Items[i])
	}
	return all
}
