package landing

import (
	"fmt"
	"math/rand/v2"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"gotest.tools/v3/assert"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/narwhal-scheduler/narwhal/pkg/internal/seeds"
)

// crowd makes nodes in two zones, pods that run there up to what these have, and some that
// wait for more room than there is. They are of several applications and priorities, and look
// at each other by rules.
func crowd(r *rand.Rand) (list []*v1.Node, running, waiting []*v1.Pod) {
	list = nodes(2 + r.IntN(4))
	for i, n := range list {
		n.Labels[v1.LabelTopologyZone], n.Labels["disk"] = fmt.Sprint("zone", i%2), fmt.Sprint("disk", i%3)
	}
	edit := func(p *v1.Pod) {
		p.Labels = map[string]string{"applicationId": fmt.Sprint("app", r.IntN(2)), "app": fmt.Sprint("web", r.IntN(4))}
		if r.IntN(3) == 0 {
			p.Spec.Priority = new(int32(r.IntN(2)))
		}
		if r.IntN(2) == 0 {
			follow(r, p)
		}
		if r.IntN(6) == 0 {
			p.Spec.NodeSelector = map[string]string{"disk": fmt.Sprint("disk", r.IntN(3))}
		}
	}
	for _, n := range list {
		for room := 4 - r.Int64N(3); room > 0; {
			cpu := 1 + r.Int64N(min(2, room))
			running = append(running, pod(fmt.Sprint("p", len(running)), n.Name, cpu, edit))
			room -= cpu
		}
	}
	for i := range 2 + r.IntN(4) {
		waiting = append(waiting, pod(fmt.Sprint("waits", i), "", 1+r.Int64N(4), edit))
	}
	return list, running, waiting
}

// follow gives a pod a rule about pods of some app, on its node or in its zone.
func follow(r *rand.Rand, p *v1.Pod) {
	of := &metav1.LabelSelector{MatchLabels: map[string]string{"app": fmt.Sprint("web", r.IntN(4))}}
	if r.IntN(2) == 0 {
		of.MatchLabels["app"] = p.Labels["app"]
	}
	term := v1.PodAffinityTerm{LabelSelector: of, TopologyKey: []string{v1.LabelHostname, v1.LabelTopologyZone}[r.IntN(2)]}
	switch r.IntN(5) {
	case 0:
		p.Spec.Affinity = &v1.Affinity{PodAffinity: &v1.PodAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []v1.PodAffinityTerm{term}}}
	case 1:
		p.Spec.TopologySpreadConstraints = []v1.TopologySpreadConstraint{{
			MaxSkew: 1, TopologyKey: term.TopologyKey, WhenUnsatisfiable: v1.DoNotSchedule, LabelSelector: of,
		}}
	default:
		p.Spec.Affinity = &v1.Affinity{PodAntiAffinity: &v1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []v1.PodAffinityTerm{term}}}
	}
}

// TestAnswersDoNotDependOnQuestions: after whatever was asked, an answer is that of a cluster
// which has just begun its cycle, in its words too.
func TestAnswersDoNotDependOnQuestions(t *testing.T) {
	places, nowhere := 0, 0
	for seed := range seeds.Of(t, 300) {
		r := rand.New(rand.NewPCG(seed, 20))
		list, running, waiting := crowd(r)
		all := append(waiting, running...)
		asked, fresh := cluster(t, ours, list, all...), cluster(t, ours, list, all...)
		for question := range 20 {
			p := running[r.IntN(len(running))]
			fresh.Sync(snapshot(list, all...))
			want, wantErr := fresh.whereTo(p)
			got, err := asked.whereTo(p)
			assert.Assert(t, got == want && fmt.Sprint(err) == fmt.Sprint(wantErr),
				"seed %d, question %d: %s on %q (%v), and on %q (%v) if nothing was asked", seed, question, p.Name, got, err, want, wantErr)
			if err == nil {
				places++
			} else {
				nowhere++
			}
		}
		assert.NilError(t, asked.partition.Verify())
	}
	assert.Assert(t, places > seeds.Part(t, 1000) && nowhere > seeds.Part(t, 1000), "%d have a place, %d have none", places, nowhere)
}

// TestQuestionsLeaveNoTraceAmongWaitingPods: pods that wait are given room by questions, and
// take their turns as before when the next pod is booked.
func TestQuestionsLeaveNoTraceAmongWaitingPods(t *testing.T) {
	for seed := range seeds.Of(t, 300) {
		r := rand.New(rand.NewPCG(seed, 2))
		list, running, waiting := crowd(r)
		all := append(waiting, running...)
		asked, silent := cluster(t, ours, list, all...), cluster(t, ours, list, all...)
		for _, i := range r.Perm(len(running)) {
			for range 1 + r.IntN(3) {
				_, _ = asked.whereTo(running[r.IntN(len(running))])
			}
			want, err := silent.book(running[i])
			got, askedErr := asked.book(running[i])
			assert.Check(t, got == want, "seed %d: %s on %q, and on %q if nothing was asked", seed, running[i].Name, got, want)
			assert.Check(t, (err == nil) == (askedErr == nil), "seed %d: %v, and %v if nothing was asked", seed, askedErr, err)
			asked.takeBack()
			silent.takeBack()
			diff := gocmp.Diff(places(asked), places(silent))
			assert.Assert(t, diff == "" && !t.Failed(), "seed %d: %s", seed, diff)
		}
	}
}

// places are the nodes on which pods count.
func places(c *Cluster) map[types.UID]string {
	on := map[types.UID]string{}
	for uid, p := range c.counted {
		on[uid] = p.Spec.NodeName
	}
	return on
}
