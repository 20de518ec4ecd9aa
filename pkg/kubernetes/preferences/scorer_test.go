package preferences

import (
	"fmt"
	"math"
	"testing"

	"gotest.tools/v3/assert"
	batchv1 "k8s.io/api/batch/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/narwhal-scheduler/narwhal/pkg/internal/seeds"
)

// The plugins of kube-scheduler, which look at the whole cluster for each question, give each node the same
// points as the counts that are kept, or all nodes so many more, whatever has happened since the class of the pod was counted first. Only where
// an affinity comes to a whole number of points, theirs may lose one by a division of floats.
func TestScoresAreThoseOfTheScorePlugins(t *testing.T) {
	const onePoint = 2 // which counts twice
	compared, off := 0, 0
	for seed := range seeds.Of(t, 150) {
		w := newWorld(t, seed)
		asking := []*v1.Pod{w.newPod(), w.newPod(), w.newPod()}
		for i := range 60 {
			w.step()
			pod := asking[i%3].DeepCopy() // one of a job, whose pods differ by their numbers
			pod.Labels[batchv1.JobCompletionIndexAnnotation] = pick(w, "0", "1", "2")
			nodes, theirs, ours := w.asked(pod)
			same := int64(math.MaxInt64) // what all nodes have beyond theirs, or lack
			for i := range nodes {
				same = min(same, ours[i]-theirs[i])
			}
			for i := range nodes {
				compared++
				switch d := ours[i] - theirs[i] - same; d {
				case 0:
				case onePoint:
					off++
				default:
					t.Fatalf("seed %d: %d points more than theirs for %s on %s", seed, d, pod.Name, nodes[i])
				}
			}
			if w.chance(20) {
				asking[i%3] = w.newPod()
			}
		}
	}
	assert.Assert(t, compared > 10_000 && off*200 < compared, "%d of %d differ", off, compared)
}

// Best is the nodes with the most points of all, those for the order of nodes included, of which the best two count alike, and of equal ones the first,
// in whatever order the nodes come and whatever was asked before.
func TestBestIsTheMostPoints(t *testing.T) {
	for seed := range seeds.Of(t, 100) {
		w := newWorld(t, seed)
		w.scorer.profile.Order = int64(w.rand.IntN(3))
		asking := []*v1.Pod{w.newPod(), w.newPod()}
		for i := range 40 {
			w.step()
			pod := asking[i%2]
			points := map[string]int64{"unknown": 100}
			var order []string
			for _, node := range w.nodes {
				points[node.Name] = 100 - int64(w.rand.IntN([]int{3, 101}[i%2]))
				order = append(order, node.Name)
			}
			order = append(order, "unknown")
			if w.chance(30) {
				w.rand.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
			}
			most := 1 + w.rand.IntN(4)
			best := w.scorer.Best(pod, func(yield func(string, int64) bool) {
				for _, name := range order {
					if !yield(name, points[name]) {
						return
					}
				}
			}, most)
			if w.scorer.classOf(pod).isIndifferent() {
				assert.Equal(t, len(best), 0)
				continue
			}
			assert.DeepEqual(t, best, w.best(pod, order, points, most))
		}
	}
}

// Pods of a StatefulSet or an indexed Job are alike, although each has a label with its number, unless their constraints
// count by it, or terms of other pods name it.
func TestNumbersOfPodsMakeNoClass(t *testing.T) {
	pod := func(label, value string, keys ...string) *v1.Pod {
		return &v1.Pod{
			ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "db", label: value}},
			Spec:       v1.PodSpec{TopologySpreadConstraints: []v1.TopologySpreadConstraint{{MatchLabelKeys: keys}}},
		}
	}
	for _, label := range []string{"apps.kubernetes.io/pod-index", "statefulset.kubernetes.io/pod-name", "batch.kubernetes.io/job-completion-index"} {
		keys, named := map[string]bool{}, map[string]bool{}
		for i := range 200 {
			keys[keyOf(pod(label, fmt.Sprint(i)), 0)] = true
			named[keyOf(pod(label, fmt.Sprint(i)), math.MaxUint32)] = true
		}
		assert.Assert(t, len(keys) == 1 && len(named) == 200, "200 pods are %d classes, and %d where a term names their numbers", len(keys), len(named))
		first := pod(label, "1")
		assert.Equal(t, keyOf(first, 0), keyOf(pod(label, "2"), 0))
		assert.Equal(t, first.Labels[label], "1")
		assert.Assert(t, keyOf(pod(label, "1", label), 0) != keyOf(pod(label, "2", label), 0))
	}
	assert.Assert(t, keyOf(pod("version", "1"), 0) != keyOf(pod("version", "2"), 0))
}

// Of a thousand classes of pods the counts of the last 512 are kept.
func TestClassesAreBounded(t *testing.T) {
	d := newDeployments(t, 1)
	for i := range 1000 {
		pod := d.pod(i)
		pod.Labels["class"] = fmt.Sprint(i)
		d.scorer.Best(pod, func(yield func(string, int64) bool) { yield(d.nodes[0], 0) }, 1)
		assert.Assert(t, d.scorer.classes.Len() <= 512)
	}
	assert.Equal(t, d.scorer.classes.Len(), 512)
	listening := 0
	for _, classes := range d.scorer.listeners {
		listening += len(classes)
	}
	assert.Equal(t, listening, 512, "those that are not kept are told of no pods")
}

func TestLogarithm(t *testing.T) {
	for n := uint64(2); n < 1<<32; n += 1 + n/7 {
		assert.Assert(t, math.Abs(float64(logarithm(n))/one-math.Log(float64(n))) < 2.0/one, "of %d", n)
	}
}
