// Package eviction is how the built-in plugins have pods evicted: one Run for each
// call of a plugin. A Run asks where a pod would go before it is evicted, knows
// where the replacements stand, and stops asking as far as a limit says.
//
//	run.go       Run: Evict, Move, Repeat
//	template.go  pods that would go to the same place
package eviction

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/framework"
)

// errorsMax is how many errors a Status names.
const errorsMax = 10

// A Run is one call of a plugin. It sees the cluster as it will be: pods that were
// evicted in this cycle are gone, and their replacements are where the scheduler
// would place them. It belongs to one goroutine.
type Run struct {
	ctx      context.Context
	handle   framework.Handle
	snapshot *framework.Snapshot
	plugin   string

	stopped    bool
	nodes      map[string]bool // of these no other pod is evicted
	namespaces map[string]bool
	workloads  map[framework.Workload]bool
	failed     map[types.UID]bool // asking again is of no use

	// Alike is that of framework.Choice.
	Alike func(a, b *v1.Pod) bool

	standIns map[string][]*v1.Pod // replacements by node
	isStand  map[types.UID]bool
	bookings []framework.Booking
	places   map[string]placement // by template
	evicted  int
	errs     []error
	unnamed  int // errors beyond errorsMax
}

// Start begins a run of a plugin.
func Start(ctx context.Context, handle framework.Handle, plugin string) *Run {
	r := &Run{
		ctx: ctx, handle: handle, snapshot: handle.Snapshot(), plugin: plugin,
		nodes:      map[string]bool{},
		namespaces: map[string]bool{},
		workloads:  map[framework.Workload]bool{},
		failed:     map[types.UID]bool{},
		standIns:   map[string][]*v1.Pod{},
		isStand:    map[types.UID]bool{},
		places:     map[string]placement{},
	}
	if lister, ok := handle.Landing().(framework.BookingLister); ok {
		r.bookings = lister.Bookings()
		for _, b := range r.bookings {
			r.stand(b.Pod, b.Node)
		}
	}
	return r
}

// Snapshot is the one picture of this run.
func (r *Run) Snapshot() *framework.Snapshot { return r.snapshot }

// Bookings are the replacements of this cycle: those of plugins before, and those of this
// run that were moved.
func (r *Run) Bookings() []framework.Booking { return r.bookings }

// Pods returns all pods, replacements included, those last.
func (r *Run) Pods() []*v1.Pod {
	pods := r.snapshot.Pods()
	for _, node := range r.snapshot.Nodes() {
		pods = append(pods, r.standIns[node.Name]...)
	}
	return pods
}

// PodsOn returns the pods of a node, replacements included.
func (r *Run) PodsOn(node string) []*v1.Pod {
	return append(r.snapshot.PodsOn(node), r.standIns[node]...)
}

// Removable says whether a pod may be asked for: it really runs, no limit is known
// to keep it, and the filters of the profile let it go.
func (r *Run) Removable(pod *v1.Pod) bool {
	return r.may(pod) && r.handle.Evictor().Filter(pod)
}

// Stopped says that nothing more may be evicted in this run.
func (r *Run) Stopped() bool { return r.stopped || r.ctx.Err() != nil }

// Evicted counts the evictions of this run.
func (r *Run) Evicted() int { return r.evicted }

// Repeat calls a pass over the cluster until one evicts nothing. The evictions of one
// pass can make others possible, so without it the next cycle would go on.
func (r *Run) Repeat(pass func()) {
	for {
		before := r.evicted
		pass()
		if r.evicted == before || r.Stopped() {
			return
		}
	}
}

// Evict has a pod evicted wherever its replacement goes.
func (r *Run) Evict(pod *v1.Pod, reason string) bool {
	return r.may(pod) && r.ask(pod, reason, framework.Place{})
}

// Move has a pod evicted if its replacement has a place on another node with which accept agrees.
// The error of accept goes on after the name of the node, such as "would be loaded". A pod that
// nothing makes anew goes without that question.
func (r *Run) Move(pod *v1.Pod, reason string, accept func(node string) error) bool {
	moved, _ := r.move(pod, reason, accept, false)
	return moved
}

// MoveSurely is Move where the scheduler prefers one node to all others. Open says that it prefers several, and takes any of
// them: then nothing was asked for, and Move may do it.
func (r *Run) MoveSurely(pod *v1.Pod, reason string, accept func(node string) error) (moved, open bool) {
	return r.move(pod, reason, accept, true)
}

func (r *Run) move(pod *v1.Pod, reason string, accept func(node string) error, surely bool) (moved, open bool) {
	if !r.may(pod) {
		return false, false
	}
	if !Returns(pod) {
		return r.ask(pod, reason, framework.Place{}), false
	}
	to, err := r.place(pod, func(node string) error {
		if node == pod.Spec.NodeName {
			return errOwn
		}
		return accept(node)
	})
	switch {
	case err != nil:
		r.Decline(pod, reason, err)
		return false, false
	case surely && len(to.Equals) > 0:
		return false, true
	}
	return r.ask(pod, reason, to), false
}

var (
	// errOwn refuses the node where a pod runs.
	errOwn = errors.New("is where it runs now")
	// errOther refuses a node to hear of the others.
	errOther = errors.New("may not be the best")
)

// Best is the highest score of the nodes where a replacement of a pod may run.
func (r *Run) Best(pod *v1.Pod, score func(node string) int64) int64 {
	best := int64(math.MinInt64)
	_, err := r.place(pod, func(string) error { return errOther })
	if unsuited, is := errors.AsType[*framework.UnsuitedError](err); is {
		for _, node := range unsuited.Nodes {
			if node != pod.Spec.NodeName {
				best = max(best, score(node))
			}
		}
	}
	return best
}

// Returns says whether a pod that is evicted is made anew.
func Returns(pod *v1.Pod) bool {
	_, owned := framework.WorkloadOf(pod)
	return owned && !Ended(pod)
}

// Ended says whether a pod has succeeded or failed: it uses nothing any more.
func Ended(pod *v1.Pod) bool {
	return pod.Status.Phase == v1.PodSucceeded || pod.Status.Phase == v1.PodFailed
}

// Status is the end of the run: what went wrong, without limits and refusals.
func (r *Run) Status() *framework.Status {
	errs := slices.Clone(r.errs)
	if r.unnamed > 0 {
		errs = append(errs, fmt.Errorf("%d pods more have errors", r.unnamed))
	}
	if err := r.ctx.Err(); err != nil {
		errs = append(errs, err)
	}
	if len(errs) == 0 {
		return nil
	}
	return &framework.Status{Err: errors.Join(errs...)}
}

// may says whether nothing that is known keeps a pod from being evicted.
func (r *Run) may(pod *v1.Pod) bool {
	if r.Stopped() || r.isStand[pod.UID] || r.failed[pod.UID] || r.snapshot.WasEvicted(pod.UID) ||
		r.nodes[pod.Spec.NodeName] || r.namespaces[pod.Namespace] {
		return false
	}
	w, owned := framework.WorkloadOf(pod)
	return !owned || !r.workloads[w]
}

// ask asks the evictor, and remembers what its answer means for other pods.
func (r *Run) ask(pod *v1.Pod, reason string, to framework.Place) bool {
	options := r.options(reason)
	if to.Node != "" {
		options.Nodes = append([]string{to.Node}, to.Equals...)
	}
	err := r.handle.Evictor().EvictPod(r.ctx, pod, options)
	if err == nil {
		r.evicted++
		if to.Node != "" {
			r.stand(pod, to.Node)
			r.bookings = append(r.bookings, framework.Booking{Pod: pod, Node: to.Node})
		}
		return true
	}
	switch framework.StopAfter(err) {
	case framework.StopPlugin:
		r.stopped = true
	case framework.StopNode:
		r.nodes[pod.Spec.NodeName] = true
	case framework.StopNamespace:
		r.namespaces[pod.Namespace] = true
	case framework.StopWorkload:
		if w, owned := framework.WorkloadOf(pod); owned {
			r.workloads[w] = true
		}
	default:
		r.refused(pod, err)
	}
	return false
}

// refused keeps a pod out of the rest of the run, unless the refusal depends on the
// cluster alone and may be another one when other pods are gone.
func (r *Run) refused(pod *v1.Pod, err error) {
	if refusal, ok := errors.AsType[*framework.RefusedError](err); ok {
		r.failed[pod.UID] = refusal.Err != nil
		return
	}
	r.failed[pod.UID] = true
	if len(r.errs) == errorsMax {
		r.unnamed++
		return
	}
	r.errs = append(r.errs, fmt.Errorf("pod %s/%s: %w", pod.Namespace, pod.Name, err))
}

// Decline tells why a pod stays, which would be moved otherwise.
func (r *Run) Decline(pod *v1.Pod, reason string, why error) {
	if d, ok := r.handle.Evictor().(framework.Decliner); ok {
		d.Declined(pod, r.options(reason), &framework.RefusedError{By: r.plugin, Reason: why.Error()})
	}
}

// Warn tells operators what keeps the plugin from its work.
func (r *Run) Warn(text string) {
	if w, ok := r.handle.(framework.Warner); ok {
		w.Warn(text)
	}
}

func (r *Run) options(reason string) framework.EvictOptions {
	return framework.EvictOptions{PluginName: r.plugin, ProfileName: r.handle.ProfileName(), Reason: reason}
}

// stand adds the replacement of a pod to a node.
func (r *Run) stand(pod *v1.Pod, node string) {
	s := Replacement(pod, node, metav1.NewTime(r.snapshot.Now()))
	r.standIns[node] = append(r.standIns[node], s)
	r.isStand[s.UID] = true
}

// Replacement is the pod that is made in place of another and runs on a node since
// then. It shares all that is not changed.
func Replacement(pod *v1.Pod, node string, since metav1.Time) *v1.Pod {
	s := *pod
	s.Name += "-new"
	s.UID += "-new"
	s.CreationTimestamp = since
	s.DeletionTimestamp = nil
	s.Spec.NodeName = node
	s.Status = v1.PodStatus{Phase: v1.PodRunning, StartTime: &since, QOSClass: pod.Status.QOSClass}
	return &s
}

// Sorted orders pods as the sort plugin of the profile says, in place.
func Sorted(handle framework.Handle, pods []*v1.Pod) []*v1.Pod {
	slices.SortFunc(pods, func(a, b *v1.Pod) int {
		switch {
		case a == b:
			return 0
		case handle.Less(a, b):
			return -1
		default:
			return 1
		}
	})
	return pods
}
