package descheduler

import (
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/framework"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/pods"
)

// expectedMax is how long the place of a replacement is kept that does not come, from when the
// pod was there last that it replaces.
const expectedMax = 5 * time.Minute

// expected are the replacements which were booked on a node and do not exist yet. All views
// count them, so that no view gives a place again that another one gave. One is forgotten
//
//   - when its workload has a pod that was made since, or a reservation keeps the place,
//   - when its pod is still there and its eviction is not in flight any more,
//   - when the pod has been gone for expectedMax.
//
// It is safe for concurrent use.
type expected struct {
	mu   sync.Mutex
	made int // how many there were, over all
	list []*expectation
	seen map[types.UID]framework.Workload // pods that were taken for replacements
}

// An expectation is one replacement.
type expectation struct {
	number   int
	of       types.UID // of the pod that was evicted
	workload framework.Workload
	at       time.Time // of the eviction
	there    time.Time // when the pod was there last
	standIn  *v1.Pod
}

// add notes that the replacement of a pod is to run on a node.
func (x *expected) add(now time.Time, pod *v1.Pod, node string) {
	w, ok := framework.WorkloadOf(pod)
	if !ok || node == "" {
		return
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	x.made++
	x.list = append(x.list, &expectation{
		number: x.made, of: pod.UID, workload: w, at: now, there: now, standIn: framework.StandIn(pod, node),
	})
}

// after returns the replacements that were noted after the first so many, and how many there
// were over all.
func (x *expected) after(number int) (standIns []*v1.Pod, made int) {
	x.mu.Lock()
	defer x.mu.Unlock()
	for i := len(x.list) - 1; i >= 0 && x.list[i].number > number; i-- {
		standIns = append(standIns, x.list[i].standIn)
	}
	return standIns, x.made
}

// forget begins anew.
func (x *expected) forget() {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.list, x.seen = nil, nil
}

// observe forgets what is not expected any more. It looks at each pod once. A pod is one replacement
// only: of an eviction that is not younger than it.
func (x *expected) observe(now time.Time, all []*v1.Pod, inFlight []types.UID) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if len(x.list) == 0 {
		x.seen = nil
		return
	}
	there, reserved, made := x.sort(all)
	flying := make(map[types.UID]bool, len(inFlight))
	for _, uid := range inFlight {
		flying[uid] = true
	}
	seen := map[types.UID]framework.Workload{}
	var kept []*expectation
	for _, e := range x.list {
		pod := there[e.of]
		if pod != nil {
			e.there = now
		}
		switch by := e.madeBy(made[e.workload], seen); {
		case by != "":
			seen[by] = e.workload
		case reserved[e.of]:
		case pod != nil && pod.DeletionTimestamp == nil && !flying[e.of]:
		case now.Sub(e.there) >= expectedMax:
		default:
			kept = append(kept, e)
		}
	}
	for uid, w := range x.seen {
		seen[uid] = w
	}
	x.list, x.seen = kept, seen
}

// sort returns, of all pods, those of which replacements are expected, for which of them a place is
// reserved, and the other pods of their workloads that were not taken for a replacement before.
func (x *expected) sort(all []*v1.Pod) (there map[types.UID]*v1.Pod, reserved map[types.UID]bool, made map[framework.Workload][]*v1.Pod) {
	there, reserved, made = map[types.UID]*v1.Pod{}, map[types.UID]bool{}, map[framework.Workload][]*v1.Pod{}
	old, open := map[types.UID]bool{}, map[framework.Workload]bool{}
	for _, e := range x.list {
		old[e.of], open[e.workload] = true, true
	}
	for _, pod := range all {
		if old[pod.UID] {
			there[pod.UID] = pod
			continue
		}
		if r, ok := pods.ReservationOf(pod); ok {
			reserved[r.Pod] = true
			continue
		}
		_, taken := x.seen[pod.UID]
		if w, ok := framework.WorkloadOf(pod); ok && open[w] && !taken {
			made[w] = append(made[w], pod)
		}
	}
	return there, reserved, made
}

// madeBy returns the pod that was made in place of the one that was evicted, of those that are not
// taken, or nothing. The time at which a pod was made has no fractions of a second.
func (e *expectation) madeBy(made []*v1.Pod, taken map[types.UID]framework.Workload) types.UID {
	for _, pod := range made {
		if _, is := taken[pod.UID]; !is && !pod.CreationTimestamp.Time.Before(e.at.Truncate(time.Second)) {
			return pod.UID
		}
	}
	return ""
}
