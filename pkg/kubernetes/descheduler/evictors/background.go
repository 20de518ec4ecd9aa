package evictors

import (
	"cmp"
	"slices"
	"strings"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	listers "k8s.io/client-go/listers/core/v1"
	"k8s.io/utils/clock"
)

// Annotations of evictions that the owner of a pod carries out, such as the live migration
// of a virtual machine.
const (
	// RequestOnly is set by the owner: an eviction of the pod is only a request.
	RequestOnly = "descheduler.alpha.kubernetes.io/request-evict-only"
	// InProgress is set by the owner as long as it moves the pod.
	InProgress = "descheduler.alpha.kubernetes.io/eviction-in-progress"
)

// evacuation is in the answer of the API server where the owner takes the request.
const evacuation = "Eviction triggered evacuation"

// confirmMax is how long an owner may take to set InProgress.
const confirmMax = 10 * time.Minute

// background remembers the evictions that owners carry out: until InProgress goes away or
// the pod has ended, and where it never came, for confirmMax. It is safe for concurrent
// use; nil remembers nothing.
type background struct {
	lister listers.PodLister
	clock  clock.PassiveClock

	mu      sync.Mutex
	entries map[types.UID]*assumed
}

// assumed is an eviction that an owner has taken.
type assumed struct {
	pod       *v1.Pod
	since     time.Time
	confirmed bool // InProgress was seen
}

func newBackground(lister listers.PodLister, clock clock.PassiveClock) *background {
	return &background{lister: lister, clock: clock, entries: map[types.UID]*assumed{}}
}

// begun says whether an owner moves a pod, whether or not this process asked for it.
func (b *background) begun(pod *v1.Pod) bool {
	if b == nil || !requestOnly(pod) {
		return false
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if e := b.entries[pod.UID]; e != nil {
		return true
	}
	if !inProgress(pod) {
		return false
	}
	b.entries[pod.UID] = &assumed{pod: pod, since: b.clock.Now(), confirmed: true}
	return true
}

// takes says whether an answer of the API server means that the owner moves the pod, and
// remembers that.
func (b *background) takes(pod *v1.Pod, err error) bool {
	if b == nil || !requestOnly(pod) || !apierrors.IsTooManyRequests(err) || !strings.Contains(err.Error(), evacuation) {
		return false
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.entries[pod.UID] = &assumed{pod: pod, since: b.clock.Now()}
	return true
}

// pods returns the pods that owners move, by namespace and name, and forgets the others.
func (b *background) pods() []*v1.Pod {
	if b == nil {
		return nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	var moved []*v1.Pod
	for uid, e := range b.entries {
		if b.over(e) {
			delete(b.entries, uid)
			continue
		}
		moved = append(moved, e.pod)
	}
	slices.SortFunc(moved, func(x, y *v1.Pod) int {
		return cmp.Or(cmp.Compare(x.Namespace, y.Namespace), cmp.Compare(x.Name, y.Name), cmp.Compare(x.UID, y.UID))
	})
	return moved
}

// over looks at the pod as it is now.
func (b *background) over(e *assumed) bool {
	pod, err := b.lister.Pods(e.pod.Namespace).Get(e.pod.Name)
	if err != nil || pod.UID != e.pod.UID || pod.Status.Phase == v1.PodSucceeded || pod.Status.Phase == v1.PodFailed {
		return true
	}
	if inProgress(pod) {
		e.confirmed = true
		return false
	}
	return e.confirmed || b.clock.Since(e.since) >= confirmMax
}

func requestOnly(pod *v1.Pod) bool {
	_, ok := pod.Annotations[RequestOnly]
	return ok
}

func inProgress(pod *v1.Pod) bool {
	_, ok := pod.Annotations[InProgress]
	return ok
}
