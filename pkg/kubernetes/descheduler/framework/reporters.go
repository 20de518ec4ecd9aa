package framework

import (
	"errors"

	v1 "k8s.io/api/core/v1"
)

// ErrGone is what an EvictPlugin returns where the pod is not there any more. That
// is a success which no limit counts.
var ErrGone = errors.New("the pod is gone")

// InFlightReporter is an EvictPlugin whose evictions take longer than EvictPod. They
// count against limits in flight as long as they are reported. It is safe for
// concurrent use.
type InFlightReporter interface {
	EvictPlugin
	// InFlight returns the pods whose eviction has begun and not ended, in any order.
	InFlight() []*v1.Pod
}

// BackgroundReporter is an EvictPlugin that leaves some evictions to the owner of the
// pod. They count against limits in flight, and against those of every cycle, as long
// as they are reported. It is safe for concurrent use.
type BackgroundReporter interface {
	EvictPlugin
	// Background returns the pods whose owner is to end them, in any order.
	Background() []*v1.Pod
}

// BudgetIgnorer is an EvictPlugin that may go past disruption budgets. For all others
// a dry run refuses what a budget would refuse.
type BudgetIgnorer interface {
	EvictPlugin
	// IgnoresBudgets says whether it does.
	IgnoresBudgets() bool
}

// Requester is an EvictPlugin that ends no pod itself. EvictPod only asks for it: by a job, or the
// owner of the pod. Reports and events then say that the eviction was requested.
type Requester interface {
	EvictPlugin
	// OnlyRequests says whether it does.
	OnlyRequests() bool
}

// EvictChecker is an EvictPlugin that refuses some pods itself. EvictPod refuses them too; a dry run
// calls this in its place, so that it says what would happen. It writes nothing, and is safe for
// concurrent use.
type EvictChecker interface {
	EvictPlugin
	// CheckEviction returns why EvictPod would refuse a pod, or nil.
	CheckEviction(pod *v1.Pod, options EvictOptions) error
}
