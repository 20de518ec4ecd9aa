package descheduler

import (
	"context"
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/framework"
)

// carryOut calls the evict plugin, or in a dry run nothing, books the result, and returns
// how metrics call it.
func (e evictor) carryOut(ctx context.Context, v *view, r request, options framework.EvictOptions) (string, error) {
	done := false
	defer func() { // also where the evict plugin panics
		if !done {
			e.release(r)
		}
	}()
	if err := e.ask(ctx, v, r.pod, options); err != nil {
		return "", err
	}
	done = true
	return e.begun(v, r), nil
}

// begun counts an eviction that was carried out or asked for, and says which of these it is.
func (e evictor) begun(v *view, r request) (result string) {
	var mates []*v1.Pod
	if w, ok := framework.WorkloadOf(r.pod); ok && r.pod.Spec.NodeName != "" {
		// A node has few pods, and a workload may have all that there are.
		for _, mate := range v.snapshot.PodsOn(r.pod.Spec.NodeName) {
			if of, owned := framework.WorkloadOf(mate); owned && of == w {
				mates = append(mates, mate)
			}
		}
	}
	var reported, requested bool
	_ = e.d.guarded(e.profile.name, e.Name(), func() error { // the pod is evicted, whatever the plugin does now
		requested = e.profile.onlyRequests()
		reported = !requested && e.profile.underWay(r.pod) // a request may not be heard of yet
		return nil
	})
	e.d.limits.commit(e.d.options.Clock.Now(), r, mates, reported)
	v.snapshot.Evicted(r.pod.UID)
	if reported || requested {
		return resultBackground
	}
	return resultSuccess
}

// evictMax is how long an evict plugin may take for one pod. One that waits for ever would end
// all cycles.
const evictMax = time.Minute

// ask calls the evict plugin. In a dry run it asks only whether that, or the API server, would refuse
// the pod.
func (e evictor) ask(ctx context.Context, v *view, pod *v1.Pod, options framework.EvictOptions) error {
	if e.d.options.DryRun {
		if !e.profile.ignoresBudgets() {
			if err := v.budgets.check(pod); err != nil {
				return err
			}
		}
		checker, ok := e.profile.evict.(framework.EvictChecker)
		if !ok {
			return nil
		}
		return e.d.watched(e.profile.name, e.Name(), func() error { return checker.CheckEviction(pod, options) })
	}
	return e.call(ctx, func(ctx context.Context) error { return e.profile.evict.EvictPod(ctx, pod, options) })
}

// call calls the evict plugin, which is not to take for ever.
func (e evictor) call(ctx context.Context, f func(context.Context) error) error {
	bounded, cancel := context.WithTimeout(ctx, evictMax)
	defer cancel()
	err := e.d.watched(e.profile.name, e.Name(), func() error { return f(bounded) })
	if err != nil && bounded.Err() != nil && ctx.Err() == nil {
		return fmt.Errorf("evict plugin %s did not end in %s: %w", e.Name(), evictMax, err)
	}
	return err
}
