package schedulertest

import (
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"

	"github.com/narwhal-scheduler/narwhal/pkg/scheduler"
)

// A Call is one callback.
type Call struct {
	At time.Time
	// Message is the argument of the callback: *si.AllocationResponse,
	// *si.ApplicationResponse, *si.NodeResponse, *si.PredicatesArgs,
	// *si.PreemptionPredicatesArgs, []*si.EventRecord,
	// *si.UpdateContainerSchedulingStateRequest, Nominated, BudgetsOf,
	// *scheduler.PredicatesWithArgs or *scheduler.SelectVictimsArgs.
	Message any
}

// A recorder is a resource manager that keeps every callback, in order, and
// behaves like a shim: it confirms the releases that the scheduler starts.
type recorder struct {
	scheduler *scheduler.Scheduler
	options   Options

	mu      sync.Mutex
	calls   []Call
	read    int // calls that since has returned
	running int // callbacks that have not returned
	placed  map[string]string

	nominated map[string]string
	told      map[string]*si.AllocationRelease // the last release of each that the scheduler started
	changed   chan struct{}                    // closed and replaced with every change of placed
}

func newRecorder(s *scheduler.Scheduler, options Options) *recorder {
	return &recorder{
		scheduler: s, options: options, placed: map[string]string{}, nominated: map[string]string{}, told: map[string]*si.AllocationRelease{},
		changed: make(chan struct{}),
	}
}

// UpdateAllocation implements api.ResourceManagerCallback.
func (r *recorder) UpdateAllocation(response *si.AllocationResponse) error {
	r.mu.Lock()
	for _, a := range response.New {
		r.placed[a.AllocationKey] = a.NodeID
		delete(r.nominated, a.AllocationKey)
	}
	for _, release := range response.Released {
		if wish := release.TerminationType != si.TerminationType_STOPPED_BY_RM; wish {
			r.told[release.AllocationKey] = release
			if r.options.KeepReleased {
				continue // it runs until it is confirmed
			}
		}
		delete(r.placed, release.AllocationKey)
	}
	close(r.changed)
	r.changed = make(chan struct{})
	r.mu.Unlock()
	if err := r.record(response); err != nil {
		return err
	}
	for _, release := range response.Released {
		if release.TerminationType == si.TerminationType_STOPPED_BY_RM || r.options.KeepReleased {
			continue
		}
		if err := r.scheduler.UpdateAllocation(releaseOf(r.options, release)); err != nil {
			return fmt.Errorf("confirming the release of %s: %w", release.AllocationKey, err)
		}
	}
	return nil
}

// UpdateApplication implements api.ResourceManagerCallback.
func (r *recorder) UpdateApplication(response *si.ApplicationResponse) error {
	return r.record(response)
}

// UpdateNode implements api.ResourceManagerCallback.
func (r *recorder) UpdateNode(response *si.NodeResponse) error { return r.record(response) }

// Predicates implements api.ResourceManagerCallback. A conflict keeps an ask from
// running and not from reserving.
func (r *recorder) Predicates(args *si.PredicatesArgs) error {
	var then []func() error
	if args.Allocate {
		then = append(then, func() error { return r.conflict(args.AllocationKey, args.NodeID, nil, nil) })
	}
	if r.options.Predicates != nil {
		then = append(then, func() error { return r.options.Predicates(args) })
	}
	return r.record(args, then...)
}

// SendEvent implements api.ResourceManagerCallback.
func (r *recorder) SendEvent(events []*si.EventRecord) { _ = r.record(events) }

// UpdateContainerSchedulingState implements api.ResourceManagerCallback.
func (r *recorder) UpdateContainerSchedulingState(request *si.UpdateContainerSchedulingStateRequest) {
	_ = r.record(request)
}

// record keeps a call and does what the test wants done during it.
func (r *recorder) record(message any, then ...func() error) error {
	call := Call{time.Now(), message}
	r.mu.Lock()
	r.calls = append(r.calls, call)
	r.running++
	r.mu.Unlock()
	defer func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.running--
	}()
	if r.options.During != nil {
		if err := r.options.During(call); err != nil {
			return err
		}
	}
	for _, f := range then {
		if err := f(); err != nil {
			return err
		}
	}
	return nil
}

func (r *recorder) busy() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.running > 0
}

func (r *recorder) all() []Call {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.calls)
}

// since is the calls since it was last called.
func (r *recorder) since() []Call {
	r.mu.Lock()
	defer r.mu.Unlock()
	calls := slices.Clone(r.calls[r.read:])
	r.read = len(r.calls)
	return calls
}

func (r *recorder) nodeOf(key string) (node string, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	node, ok = r.placed[key]
	return node, ok
}

// toldOf is the last release of an allocation that the scheduler started, or nil.
func (r *recorder) toldOf(key string) *si.AllocationRelease {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.told[key]
}

// unplace forgets a placement that came to nothing.
func (r *recorder) unplace(key string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.placed, key)
}

// awaitPlaced waits for a placement.
func (r *recorder) awaitPlaced(key string, patience time.Duration) (node string, ok bool) {
	deadline := time.NewTimer(patience)
	defer deadline.Stop()
	for {
		r.mu.Lock()
		node, ok = r.placed[key]
		changed := r.changed
		r.mu.Unlock()
		if ok {
			return node, true
		}
		select {
		case <-changed:
		case <-deadline.C:
			return "", false
		}
	}
}

// Lines are the texts of what a callback tells, in the order in which a reader of
// the message takes them.
func (c Call) Lines() []string {
	var told []string
	say := func(format string, args ...any) { told = append(told, fmt.Sprintf(format, args...)) }
	switch m := c.Message.(type) {
	case *si.AllocationResponse:
		for _, a := range m.New {
			say("allocation %s placed on %s", a.AllocationKey, a.NodeID)
		}
		for _, a := range m.RejectedAllocations {
			say("allocation %s rejected: %s", a.AllocationKey, a.Reason)
		}
		for _, a := range m.Released {
			say("allocation %s released: %v", a.AllocationKey, a.TerminationType)
		}
	case *si.ApplicationResponse:
		for _, a := range m.Accepted {
			say("application %s accepted", a.ApplicationID)
		}
		for _, a := range m.Rejected {
			say("application %s rejected: %s", a.ApplicationID, a.Reason)
		}
		for _, a := range m.Updated {
			say("application %s is %s", a.ApplicationID, a.State)
		}
	case *si.NodeResponse:
		for _, n := range m.Accepted {
			say("node %s accepted", n.NodeID)
		}
		for _, n := range m.Rejected {
			say("node %s rejected: %s", n.NodeID, n.Reason)
		}
	case *si.UpdateContainerSchedulingStateRequest:
		say("allocation %s is %v: %s", m.AllocationKey, m.State, m.Reason)
	case *si.PredicatesArgs:
		say("may %s run on %s?", m.AllocationKey, m.NodeID)
	case []*si.EventRecord:
		for _, e := range m {
			say("event %v %s %v %v %s", e.Type, e.ObjectID, e.EventChangeType, e.EventChangeDetail, e.Message)
		}
	default:
		return lines(m)
	}
	return told
}
