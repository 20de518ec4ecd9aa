package landing

import (
	"fmt"
	"math/rand/v2"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"gotest.tools/v3/assert"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// crowd makes pods that run on nodes, up to what these have, and some that wait for more room
// than there is. They are of several applications and priorities.
func crowd(r *rand.Rand, list []*v1.Node) (running, waiting []*v1.Pod) {
	edit := func(p *v1.Pod) {
		p.Labels = map[string]string{"applicationId": fmt.Sprint("app", r.IntN(2)), "app": fmt.Sprint("web", r.IntN(4))}
		if r.IntN(3) == 0 {
			p.Spec.Priority = new(int32(r.IntN(2)))
		}
		if r.IntN(6) == 0 {
			apart(p)
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
		waiting = append(waiting, pod(fmt.Sprint("waits", i), "", 2+r.Int64N(3), edit))
	}
	return running, waiting
}

// TestQuestionsLeaveNoTraceAmongWaitingPods: pods that wait are given room by questions, and
// take their turns as before when the next pod is booked.
func TestQuestionsLeaveNoTraceAmongWaitingPods(t *testing.T) {
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 2))
		list := nodes(2 + r.IntN(3))
		running, waiting := crowd(r, list)
		all := append(waiting, running...)
		asked, silent := cluster(t, ours, list, all...), cluster(t, ours, list, all...)
		for _, i := range r.Perm(len(running)) {
			for range 1 + r.IntN(3) {
				_, _ = asked.Place(running[r.IntN(len(running))])
			}
			want, err := silent.Book(running[i])
			got, askedErr := asked.Book(running[i])
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
