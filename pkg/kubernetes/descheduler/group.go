package descheduler

import (
	"context"
	"maps"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/framework"
)

var (
	_ framework.GroupEvictor     = evictor{}
	_ framework.Withdrawer       = evictor{}
	_ framework.ProgressReporter = evictor{}
)

// A permitted pod of a group may go: it is counted, and the place of its replacement is held.
type permitted struct {
	request request
	to      destination
}

// EvictTogether implements framework.GroupEvictor. An evict plugin that only requests evictions, and knows no groups, has each pod
// go when its own time has come.
func (e evictor) EvictTogether(ctx context.Context, all []*v1.Pod, options framework.EvictOptions) map[types.UID]error {
	options, v := e.fill(options), e.view()
	kept := make(map[types.UID]error, len(all))
	for _, pod := range all {
		kept[pod.UID] = nil
	}
	together, can := e.profile.evict.(framework.GroupEvictPlugin)
	if e.profile.onlyRequests() && !can {
		return kept
	}
	group, keeps, err := e.permitAll(v, all, options)
	if err != nil {
		kept[keeps.UID] = e.settle(v, e.request(keeps, e.plugin), options, asked{err: err})
		return kept
	}
	if can && !e.d.options.DryRun {
		return e.requestAll(ctx, v, together, group, options)
	}
	for i, p := range group {
		var result string
		err := contain(func() (err error) {
			result, err = e.carryOut(ctx, v, p.request, options)
			return err
		})
		if err := e.settle(v, p.request, options, asked{p.to, result, err}); err != nil {
			kept[p.request.pod.UID] = err
			if len(kept) == len(all) { // none has gone yet
				e.releaseAll(group[i+1:])
				return kept
			}
			continue
		}
		delete(kept, p.request.pod.UID)
	}
	return kept
}

// requestAll has the evict plugin evict a group together, or not.
func (e evictor) requestAll(ctx context.Context, v *view, by framework.GroupEvictPlugin, of []permitted, options framework.EvictOptions) map[types.UID]error {
	all := make([]*v1.Pod, len(of))
	kept := make(map[types.UID]error, len(of))
	for i, p := range of {
		all[i], kept[p.request.pod.UID] = p.request.pod, nil
	}
	var keeps *v1.Pod
	err := contain(func() error {
		return e.call(ctx, func(ctx context.Context) (err error) {
			keeps, err = by.EvictTogether(ctx, all, options)
			return err
		})
	})
	if err != nil {
		if keeps == nil { // it has panicked
			keeps = all[0]
		}
		e.releaseAll(of)
		kept[keeps.UID] = e.settle(v, e.request(keeps, e.plugin), options, asked{err: err})
		return kept
	}
	for _, p := range of {
		_ = e.settle(v, p.request, options, asked{p.to, e.begun(v, p.request), nil}) // without an error there is none
		delete(kept, p.request.pod.UID)
	}
	return kept
}

// permitAll asks all that may keep one of the pods, disruption budgets included. After an error, which is of a pod, nothing is counted.
func (e evictor) permitAll(v *view, all []*v1.Pod, options framework.EvictOptions) (group []permitted, keeps *v1.Pod, err error) {
	budgets := v.budgets.copied()
	requests := make([]request, len(all))
	for i, pod := range all {
		requests[i] = e.request(pod, e.plugin)
	}
	of := newGroup(requests)
	for i, pod := range all {
		p := permitted{request: requests[i]}
		p.request.group = of
		err := contain(func() (err error) {
			if !e.profile.ignoresBudgets() {
				if err := budgets.check(pod); err != nil { // the API server was not asked
					return &framework.RefusedError{By: byBudget, Reason: err.Error()}
				}
				budgets.evicted(pod)
			}
			p.to, err = e.permit(v, p.request, options)
			return err
		})
		if err != nil {
			e.releaseAll(group)
			return nil, pod, err
		}
		group = append(group, p)
	}
	return group, nil, nil
}

func (e evictor) releaseAll(group []permitted) {
	for _, p := range group {
		e.release(p.request)
	}
}

// copied are the same budgets, for a question.
func (b *budgets) copied() *budgets {
	b.mu.Lock()
	defer b.mu.Unlock()
	c := newBudgets(b.snapshot)
	c.used = maps.Clone(b.used)
	return c
}

// Withdraw implements framework.Withdrawer, by the evict plugin.
func (e evictor) Withdraw(ctx context.Context, pod *v1.Pod, options framework.EvictOptions) error {
	w, ok := e.profile.evict.(framework.Withdrawer)
	if !ok {
		return nil
	}
	return e.d.watched(e.profile.name, e.Name(), func() error { return w.Withdraw(ctx, pod, e.fill(options)) })
}

// Progress implements framework.ProgressReporter, by the evict plugin.
func (e evictor) Progress(pod *v1.Pod) (text string) {
	if r, ok := e.profile.evict.(framework.ProgressReporter); ok {
		_ = e.d.guarded(e.profile.name, e.Name(), func() error { // one that panics says nothing
			text = r.Progress(pod)
			return nil
		})
	}
	return text
}

// Failure implements framework.ProgressReporter, by the evict plugin.
func (e evictor) Failure(pod *v1.Pod) (text string) {
	if r, ok := e.profile.evict.(framework.ProgressReporter); ok {
		_ = e.d.guarded(e.profile.name, e.Name(), func() error {
			text = r.Failure(pod)
			return nil
		})
	}
	return text
}
