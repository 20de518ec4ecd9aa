package descheduler

import (
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/pods"
)

// flightMax is how long an eviction counts as in flight while its pod does not terminate
// and no evict plugin reports it.
const flightMax = 10 * time.Minute

// evictedByAPI is the reason of the condition DisruptionTarget of pods that were
// evicted through the API server.
const evictedByAPI = "EvictionByEvictionAPI"

// flight holds the evictions whose pod has not ended: those of this process, those that
// evict plugins report, and pods which the API server is ending after an eviction by
// whatever client. So a restart and a drain of a node are seen too.
type flight struct {
	entries map[types.UID]*flying
	counts  tally
}

// flying is an eviction in flight.
type flying struct {
	keys     []key
	since    time.Time
	done     bool // the evict plugin was successful
	reported bool // the evict plugin said that it was not over
	cycle    int  // in which it was counted
}

func newFlight() flight {
	return flight{entries: map[types.UID]*flying{}, counts: newTally()}
}

func (f *flight) begin(now time.Time, pod *v1.Pod, keys []key) *flying {
	e := &flying{keys: keys, since: now}
	f.entries[pod.UID] = e
	f.counts.add(keys)
	return e
}

func (f *flight) done(now time.Time, uid types.UID, reported bool) {
	if e := f.entries[uid]; e != nil {
		e.since, e.done, e.reported = now, true, reported
	}
}

func (f *flight) end(uid types.UID) {
	if e := f.entries[uid]; e != nil {
		f.counts.remove(e.keys)
		delete(f.entries, uid)
	}
}

func (f *flight) pods() []types.UID {
	uids := make([]types.UID, 0, len(f.entries))
	for uid, e := range f.entries {
		if e.done {
			uids = append(uids, uid)
		}
	}
	return uids
}

// observe ends what is over and adds what others evict. It looks at each pod once.
func (f *flight) observe(now time.Time, all, reported []*v1.Pod) {
	alive := make(map[types.UID]*v1.Pod, len(f.entries))
	for _, pod := range all {
		if _, ok := f.entries[pod.UID]; ok {
			alive[pod.UID] = pod
		} else if !pods.IsTerminal(pod) && pod.DeletionTimestamp != nil && wasEvicted(pod) {
			f.add(now, pod)
			alive[pod.UID] = pod
		}
	}
	told := make(map[types.UID]bool, len(reported))
	for _, pod := range reported {
		told[pod.UID] = true
		if _, ok := f.entries[pod.UID]; !ok {
			f.add(now, pod)
		}
	}
	for uid, e := range f.entries {
		if e.done && !told[uid] && f.over(now, e, alive[uid]) {
			f.end(uid)
			continue
		}
		e.reported = e.reported || told[uid]
	}
}

// over says whether an eviction that is not reported has ended. Pod is nil where there
// is none any more.
func (f *flight) over(now time.Time, e *flying, pod *v1.Pod) bool {
	if pod == nil || pods.IsTerminal(pod) || e.reported && pod.DeletionTimestamp == nil {
		return true
	}
	return pod.DeletionTimestamp == nil && now.Sub(e.since) >= flightMax
}

func (f *flight) add(now time.Time, pod *v1.Pod) {
	f.begin(now, pod, request{pod: pod}.keys())
	f.done(now, pod.UID, false)
}

// ended says that a pod uses nothing any more.
func wasEvicted(pod *v1.Pod) bool {
	for _, c := range pod.Status.Conditions {
		if c.Type == v1.DisruptionTarget && c.Status == v1.ConditionTrue && c.Reason == evictedByAPI {
			return true
		}
	}
	return false
}
