package descheduler

import (
	"maps"
	"slices"
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
// count them, so that no view gives a place again that another one gave. A place is held from when the
// eviction is decided, so that no other one counts on it while the evict plugin is asked. One is
// forgotten
//
//   - when its workload has a pod that was made since, or a reservation keeps the place,
//   - when its pod is still there and its eviction is not in flight any more,
//   - when the pod has been gone for expectedMax.
//
// It is safe for concurrent use.
type expected struct {
	mu        sync.Mutex
	made      int // how many there were, over all
	evictions int // of how many the pod was evicted
	open      int // of how many that is not known yet
	list      []*expectation
	seen      map[types.UID]framework.Workload // pods that were taken for replacements
}

// An expectation is one replacement.
type expectation struct {
	number   int
	of       types.UID // of the pod that was evicted
	workload framework.Workload
	eviction int       // its number, or 0 while it is not known whether the pod is evicted
	at       time.Time // of the eviction
	there    time.Time // when the pod was there last
	standIn  *v1.Pod
}

// hold notes that the replacement of a pod is to run on a node, if the pod is evicted. It refuses
// that where more places were noted than were counted for the answer: then it is to be asked again.
func (x *expected) hold(now time.Time, pod *v1.Pod, node string, counted int) bool {
	w, ok := framework.WorkloadOf(pod)
	if !ok || node == "" {
		return true
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.made != counted {
		return false
	}
	x.made++
	x.open++
	x.list = append(x.list, &expectation{
		number: x.made, of: pod.UID, workload: w, at: now, there: now, standIn: framework.StandIn(pod, node),
	})
	return true
}

// keep notes that a pod was evicted. Without a node for its replacement there is nothing to expect.
func (x *expected) keep(now time.Time, pod *v1.Pod, node string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	i := x.held(pod)
	if i < 0 || node == "" {
		return
	}
	x.open--
	x.evictions++
	e := x.list[i]
	e.eviction, e.at, e.there = x.evictions, now, now
}

// drop notes that a pod was not evicted.
func (x *expected) drop(pod *v1.Pod) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if i := x.held(pod); i >= 0 {
		x.open--
		x.list = slices.Delete(x.list, i, i+1)
	}
}

// held is the position of the place that is held for the replacement of a pod, or less than zero. Those
// of which it is not known whether the pod is evicted are the last ones, or almost, so few are looked at.
func (x *expected) held(pod *v1.Pod) int {
	open := x.open
	for i := len(x.list) - 1; i >= 0 && open > 0; i-- {
		if x.list[i].eviction > 0 {
			continue
		}
		if x.list[i].of == pod.UID {
			return i
		}
		open--
	}
	return -1
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
	x.list, x.seen, x.open = nil, nil, 0
}

// known is how many evictions are known to have come about. It is asked before the cluster is read.
func (x *expected) known() int {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.evictions
}

// observe forgets what is not expected any more, of those that were known before pods and evictions in
// flight were listed. It looks at each pod once. A pod is one replacement only: of an eviction that is
// not younger than it.
func (x *expected) observe(now time.Time, known int, all []*v1.Pod, inFlight []types.UID) {
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
		if e.eviction == 0 || e.eviction > known {
			kept = append(kept, e)
			continue
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
	maps.Copy(seen, x.seen)
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
