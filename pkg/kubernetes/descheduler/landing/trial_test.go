package landing

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"gotest.tools/v3/assert"
	v1 "k8s.io/api/core/v1"
)

// TestQuestionsLeaveNoTrace: whatever is asked between two bookings, also of the pod that is
// booked next, of one that waits for room and at the end of a cycle, the bookings are those
// of a cluster that was asked nothing.
func TestQuestionsLeaveNoTrace(t *testing.T) {
	list := nodes(4)
	var all []*v1.Pod
	for i := range 10 {
		all = append(all, pod(fmt.Sprint("p", i), list[i%3].Name, 1, func(p *v1.Pod) {
			if i%4 == 0 {
				apart(p)
			}
		}))
	}
	all = append(all, pod("waits", "", 4))
	for seed := range uint64(20) {
		r := rand.New(rand.NewPCG(seed, 1))
		asked, silent := cluster(t, ours, list, all...), cluster(t, ours, list, all...)
		for _, i := range r.Perm(10) {
			for range r.IntN(4) {
				p := all[r.IntN(10)]
				switch r.IntN(5) {
				case 0:
					n := list[r.IntN(4)].Name
					assert.Equal(t, asked.Fits(p, n) == nil, silent.Fits(p, n) == nil, "seed %d: %s on %s", seed, p.Name, n)
				case 1:
					asked.ShortWithout(p)
				case 2:
					_, _ = asked.whereTo(all[i])
					asked.ShareOf(all[i])
				default:
					_, _ = asked.whereTo(p)
				}
			}
			want, err := silent.book(all[i])
			got, askedErr := asked.book(all[i])
			assert.Equal(t, got, want, "seed %d", seed)
			assert.Equal(t, err == nil, askedErr == nil)
		}
		_, _ = asked.whereTo(all[0])
		asked.Sync(snapshot(list, all...))
		silent.Sync(snapshot(list, all...))
		for _, p := range all[:10] {
			for _, n := range list {
				assert.Equal(t, asked.Fits(p, n.Name) == nil, silent.Fits(p, n.Name) == nil)
			}
		}
	}
}

// TestAQuestionTakesNoRoom: where one pod would go, another one still fits.
func TestAQuestionTakesNoRoom(t *testing.T) {
	one, other := pod("one", "a", 4), pod("other", "b", 4)
	list := nodes(3)
	list[0].Spec.Unschedulable = true
	c := cluster(t, ours, list, one, other)
	to, err := c.whereTo(one)
	assert.NilError(t, err)
	assert.Equal(t, to, "c")
	assert.NilError(t, c.Fits(other, "c"))
}
