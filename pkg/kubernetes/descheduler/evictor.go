package descheduler

import (
	"context"
	"errors"
	"fmt"

	"go.opentelemetry.io/otel/attribute"
	"go.uber.org/zap"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/framework"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/pods"
)

// An evictor is the PodEvictor of one plugin of one profile.
type evictor struct{ *handle }

var (
	_ framework.PodEvictor = evictor{}
	_ framework.Placer     = evictor{}
)

// Name implements framework.Plugin: the evict plugin of the profile.
func (e evictor) Name() string {
	if e.profile.evict == nil {
		return ""
	}
	return e.profile.evict.Name()
}

// Filter implements framework.Evictor.
func (e evictor) Filter(pod *v1.Pod) bool { return e.Why(pod) == nil }

// Why implements framework.PodEvictor. All filters are asked, so that the reasons are
// complete.
func (e evictor) Why(pod *v1.Pod) error {
	if pod == nil {
		return errNoPod
	}
	err := e.filter(pod)
	outcome := Considered
	if err != nil {
		outcome = Filtered
	}
	e.note(pod, "", outcome, err)
	return err
}

func (e evictor) filter(pod *v1.Pod) error {
	var reasons []error
	for _, f := range e.profile.filter {
		if err := f.Filter(pod); err != nil {
			reasons = append(reasons, refusedBy(f, err))
		}
	}
	return errors.Join(reasons...)
}

// PreEvictionFilter implements framework.PodEvictor.
func (e evictor) PreEvictionFilter(pod *v1.Pod) bool { return e.preFilter(pod) == nil }

func (e evictor) preFilter(pod *v1.Pod) error {
	var reasons []error
	for _, f := range e.profile.preEvict {
		if err := f.PreEvictionFilter(pod); err != nil {
			if errors.Is(err, framework.ErrNowhere) {
				e.missed.note(pod.UID, int(e.view().evictions.Load()))
			}
			reasons = append(reasons, refusedBy(f, err))
		}
	}
	return errors.Join(reasons...)
}

// refusedBy is the error of a filter with its name.
func refusedBy(f framework.Plugin, err error) error {
	if _, ok := errors.AsType[*framework.RefusedError](err); ok {
		return err
	}
	return &framework.RefusedError{By: f.Name(), Reason: err.Error()}
}

// Full implements framework.PodEvictor.
func (e evictor) Full(pod *v1.Pod) *framework.LimitError {
	return e.d.limits.full(e.d.options.Clock.Now(), e.request(pod, e.plugin))
}

// Evict implements framework.Evictor.
func (e evictor) Evict(ctx context.Context, pod *v1.Pod, options framework.EvictOptions) bool {
	return e.EvictPod(ctx, pod, options) == nil
}

// errNoPod is what a plugin is told that asks about no pod.
var errNoPod = errors.New("the pod is nil")

// EvictPod implements framework.PodEvictor.
func (e evictor) EvictPod(ctx context.Context, pod *v1.Pod, options framework.EvictOptions) error {
	if pod == nil {
		return errNoPod
	}
	options = e.fill(options)
	ctx, span := e.d.span(ctx, "EvictPod",
		attribute.String("profile", options.ProfileName), attribute.String("plugin", options.PluginName),
		attribute.String("namespace", pod.Namespace), attribute.String("pod", pod.Name),
		attribute.String("node", pod.Spec.NodeName))
	err := e.evict(ctx, pod, options)
	endSpan(span, err)
	return err
}

// fill writes in what a plugin left out.
func (e evictor) fill(o framework.EvictOptions) framework.EvictOptions {
	o.ProfileName = e.profile.name
	if o.PluginName == "" {
		o.PluginName = e.plugin
	}
	if grace := e.set.policy.GracePeriodSeconds; o.DeleteOptions == nil && grace != nil {
		o.DeleteOptions = &metav1.DeleteOptions{GracePeriodSeconds: grace}
	}
	return o
}

// Declined keeps why the plugin left a pod where it is, although it would have moved it.
func (e evictor) Declined(pod *v1.Pod, _ framework.EvictOptions, why error) {
	e.missed.note(pod.UID, int(e.view().evictions.Load()))
	e.note(pod, e.plugin, Declined, why)
}

func (e evictor) request(pod *v1.Pod, plugin string) request {
	return request{pod: pod, profile: e.profile.name, plugin: plugin, controller: e.controller}
}

// evict decides about an eviction, has it carried out, and tells of the result.
func (e evictor) evict(ctx context.Context, pod *v1.Pod, options framework.EvictOptions) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if pod.UID == "" {
		return fmt.Errorf("pod %s/%s has no UID", pod.Namespace, pod.Name)
	}
	v := e.view()
	if begun, done := e.d.limits.state(pod.UID); done || !begun && v.snapshot.WasEvicted(pod.UID) {
		return nil // a second call costs nothing
	}
	if pod.DeletionTimestamp != nil {
		return &framework.RefusedError{By: "eviction", Reason: "the pod is ending already"}
	}
	// Limits count for the plugin that runs, whatever name it gives.
	r := e.request(pod, e.plugin)
	var to destination
	var result string
	err := contain(func() (err error) { // a filter or an evict plugin that panics keeps this pod only
		if to, err = e.permit(v, r, options); err == nil {
			result, err = e.carryOut(ctx, v, r, options)
		}
		return err
	})
	return e.settle(v, r, options, asked{to, result, err})
}

// asked is what became of an eviction that a plugin asked for.
type asked struct {
	to     destination
	result string
	err    error
}

// settle tells of the end of an eviction, and returns what the plugin is told.
func (e evictor) settle(v *view, r request, options framework.EvictOptions, a asked) error {
	switch {
	case a.err == nil:
		e.d.options.Metrics.asked(r, a.result)
		e.tell(v, r, options, a.to, a.result == resultBackground)
		return nil
	case errors.Is(a.err, framework.ErrGone):
		v.snapshot.Evicted(r.pod.UID)
		e.note(r.pod, e.plugin, Gone, a.err)
		return nil
	default:
		if panicked := new(panicError); errors.As(a.err, &panicked) {
			e.d.options.Log.Error("eviction failed", append(field(e.profile, e.plugin, a.err),
				zap.String("pod", r.pod.Namespace+"/"+r.pod.Name))...)
		}
		e.kept(r, a.err)
		return a.err
	}
}

// release takes back what was counted for an eviction that did not come about.
func (e evictor) release(r request) {
	e.d.limits.release(r)
	e.d.expected.drop(r.pod)
}

// A destination is where the replacement of a pod would run.
type destination struct {
	node      string // empty: nothing takes the place of the pod, or nowhere
	open      bool   // the scheduler may take another one
	checkedBy string // what found it; empty: it was not asked
	nowhere   string // why there is no place
}

// permit asks all that may keep a pod, counts it, and returns where its replacement would
// run. After an error nothing is counted.
func (e evictor) permit(v *view, r request, options framework.EvictOptions) (to destination, err error) {
	if err := errors.Join(e.filter(r.pod), e.preFilter(r.pod)); err != nil {
		return to, err
	}
	if err := e.d.limits.reserve(e.d.options.Clock.Now(), r); err != nil {
		return to, err
	}
	kept := true
	defer func() { // also where a plugin of the landing panics
		if kept {
			e.release(r)
		}
	}()
	if to, err = e.place(v, r.pod, options); err != nil {
		e.missed.note(r.pod.UID, int(v.evictions.Load()))
		return to, err
	}
	kept = false
	return to, nil
}

// place returns where the replacement of a pod would run. A pod that has ended or runs
// nowhere, or that nothing makes anew, needs no place. What balances nodes gains nothing from a pod that
// comes back, and neither does a controller that acts on what happens to a node; a pod that is too old, or
// has failed, can be made anew on the same node. No place is reserved there.
func (e evictor) place(v *view, pod *v1.Pod, options framework.EvictOptions) (destination, error) {
	if _, ok := framework.WorkloadOf(pod); !ok || pods.IsTerminal(pod) || pod.Spec.NodeName == "" {
		return destination{}, nil
	}
	reserved := e.Reserves(pod)
	choice := options.Choice(func(node string) error {
		if (e.balances || e.controller || reserved) && node == pod.Spec.NodeName {
			return errOwnNode
		}
		return e.Refuses(pod, node)
	}, reserved)
	var to framework.Place
	err := e.d.watched(e.profile.name, landingCalled, func() (err error) {
		to, err = v.place(&e.d.expected, e.d.options.Clock.Now(), pod, choice)
		return err
	})
	unsuited := new(framework.UnsuitedError)
	switch {
	case errors.As(err, &unsuited):
		return destination{}, &framework.RefusedError{By: "landing", Reason: err.Error()}
	case err != nil && !e.d.options.EvictWithoutLanding:
		return destination{}, &framework.RefusedError{By: "landing", Reason: "its replacement would run nowhere: " + err.Error()}
	case err != nil:
		return destination{checkedBy: v.checkedBy(), nowhere: err.Error()}, nil
	}
	return destination{node: to.Node, open: to.Open, checkedBy: v.checkedBy()}, nil
}

// errOwnNode refuses the node from which a pod is to go.
var errOwnNode = errors.New("is where it runs now")

// Refuses implements framework.Placer: what balances nodes brings no pod to a node from which one of its
// workload was moved lately.
func (e evictor) Refuses(pod *v1.Pod, node string) error {
	if w, ok := framework.WorkloadOf(pod); e.balances && ok && e.d.limits.left(place{w, node}) {
		return errLeft
	}
	return nil
}

var errLeft = errors.New("is from where its workload was moved lately")

// Reserves implements framework.Placer.
func (e evictor) Reserves(pod *v1.Pod) (reserves bool) {
	r, ok := e.profile.evict.(framework.Reserver)
	_ = e.d.guarded(e.profile.name, e.Name(), func() error { // one that panics reserves nothing
		reserves = ok && r.Reserves(pod)
		return nil
	})
	return reserves
}

// book has the landing count that a pod went, and its replacement where it is expected. An error is of a
// pod that a landing for several controllers does not have any more, since its eviction was in flight when
// another one looked: the place is held all the same.
func (e evictor) book(v *view, pod *v1.Pod, to string) {
	defer e.d.expected.keep(e.d.options.Clock.Now(), pod, to) // also where the landing panics
	if !pods.IsTerminal(pod) && pod.Spec.NodeName != "" {
		_ = v.landing.Book(pod, to)
	}
}

// tell books where the replacement goes, and says everywhere that a pod was evicted, or that this was
// only requested.
func (e evictor) tell(v *view, r request, options framework.EvictOptions, to destination, requested bool) {
	v.evictions.Add(1)
	if e.balances {
		e.d.limits.leave(e.d.options.Clock.Now(), r.pod)
	}
	e.missed.evicted(r.pod.UID)
	before := v.budgets.left(r.pod)
	v.budgets.evicted(r.pod)
	e.book(v, r.pod, to.node)
	made := e.d.decisions.evicted(Eviction{
		At: e.d.options.Clock.Now(), Pod: r.pod.Namespace + "/" + r.pod.Name, UID: r.pod.UID,
		Profile: options.ProfileName, Plugin: options.PluginName, Reason: options.Reason,
		From: r.pod.Spec.NodeName, To: to.node, Open: to.open, CheckedBy: to.checkedBy, Nowhere: to.nowhere, BudgetBefore: before, BudgetLeft: v.budgets.left(r.pod),
		Controller: e.controller, Requested: requested,
	})
	e.d.pending.add(made)
	e.note(r.pod, e.plugin, Evicted, errorText(options.Reason))
	e.d.events.evicted(r, options.Reason, requested)
	message := "pod evicted"
	switch {
	case e.d.options.DryRun:
		message = "pod would be evicted"
	case requested:
		message = "eviction of a pod requested"
	}
	e.d.options.Log.Info(message, append(field(e.profile, options.PluginName, nil),
		zap.String("pod", made.Pod), zap.String("node", made.From), zap.String("to", to.node), zap.String("checkedBy", to.checkedBy),
		zap.String("reason", options.Reason))...)
}

// kept says everywhere that a pod was not evicted.
func (e evictor) kept(r request, err error) {
	var limit *framework.LimitError
	var refused *framework.RefusedError
	outcome := Failed
	switch {
	case errors.As(err, &limit):
		outcome = Limited
	case errors.As(err, &refused):
		outcome = Refused
	}
	e.note(r.pod, e.plugin, outcome, err)
	e.d.options.Metrics.kept(r, err)
	if e.set.policy.FailureEvents {
		e.d.events.kept(r, err)
	}
}

// note remembers a decision. The log has those that keep a pod, if so much is logged.
func (e evictor) note(pod *v1.Pod, plugin string, outcome Outcome, reason error) {
	if outcome != Evicted && reason != nil {
		if entry := e.d.options.Log.Check(zap.DebugLevel, "pod stays"); entry != nil {
			entry.Write(append(field(e.profile, plugin, nil), zap.String("pod", pod.Namespace+"/"+pod.Name),
				zap.String("outcome", string(outcome)), zap.String("reason", oneLine(reason)))...)
		}
	}
	e.d.decisions.note(pod, decided{
		at: e.d.options.Clock.Now(), profile: e.profile.name, plugin: plugin, outcome: outcome, reason: reason,
	})
}

// errorText is a reason in words, as decisions keep it.
type errorText string

func (e errorText) Error() string { return string(e) }
