package evictors

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	v1 "k8s.io/api/core/v1"
	policy "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"
	ktesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/framework"
)

var start = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// handle is the part of a Handle that evict plugins use.
type handle struct {
	framework.Handle
	client  *fake.Clientset
	factory informers.SharedInformerFactory
	clock   *clocktesting.FakeClock

	installation string
}

func (h *handle) ClientSet() kubernetes.Interface                        { return h.client }
func (h *handle) SharedInformerFactory() informers.SharedInformerFactory { return h.factory }
func (h *handle) Clock() clock.WithTicker                                { return h.clock }
func (h *handle) ProfileName() string                                    { return "main" }
func (h *handle) Installation() string                                   { return h.installation }

func newHandle(objects ...runtime.Object) *handle {
	client := fake.NewClientset(objects...)
	return &handle{client: client, factory: informers.NewSharedInformerFactory(client, 0), clock: clocktesting.NewFakeClock(start)}
}

// build makes a plugin with the arguments of a policy.
func build(t *testing.T, h *handle, name, args string) framework.EvictPlugin {
	t.Helper()
	var r framework.Registry
	assert.NilError(t, r.Register(Register()...))
	d, ok := r.Find(name)
	assert.Assert(t, ok)
	var typed any
	if d.Args != nil {
		typed = d.Args()
		assert.NilError(t, json.Unmarshal([]byte(args), typed))
		if d.Validate != nil {
			assert.NilError(t, d.Validate(typed))
		}
	}
	p, err := d.New(t.Context(), typed, h)
	assert.NilError(t, err)
	assert.Equal(t, p.Name(), name)
	return p.(framework.EvictPlugin)
}

func newPod(name string) *v1.Pod {
	return &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: name, UID: types.UID("uid-" + name), Annotations: map[string]string{}}}
}

var options = framework.EvictOptions{ProfileName: "main", PluginName: "PodLifeTime", Reason: "too old"}

// answer has the API server answer requests of a verb with an error, and returns what was
// asked.
func (h *handle) answer(verb string, err error) *[]ktesting.Action {
	var asked []ktesting.Action
	h.client.PrependReactor(verb, "pods", func(a ktesting.Action) (bool, runtime.Object, error) {
		asked = append(asked, a)
		return true, nil, err
	})
	return &asked
}

// TestEvictionSays: reason, requester, grace period, and the very pod.
func TestEvictionSays(t *testing.T) {
	h := newHandle()
	asked := h.answer("create", nil)
	grace, version := int64(30), "7"
	o := options
	o.DeleteOptions = &metav1.DeleteOptions{GracePeriodSeconds: &grace, Preconditions: &metav1.Preconditions{ResourceVersion: &version}}
	assert.NilError(t, build(t, h, EvictionName, `{}`).EvictPod(t.Context(), newPod("p"), o))
	create := (*asked)[0].(ktesting.CreateAction)
	assert.Equal(t, create.GetSubresource(), "eviction")
	uid := types.UID("uid-p")
	assert.DeepEqual(t, create.GetObject(), &policy.Eviction{
		ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "p", Annotations: map[string]string{
			"requester": "sigs.k8s.io/descheduler", "reason": "triggered by main/PodLifeTime: too old",
		}},
		DeleteOptions: &metav1.DeleteOptions{GracePeriodSeconds: &grace, Preconditions: &metav1.Preconditions{UID: &uid}},
	})
	assert.Equal(t, *o.DeleteOptions.Preconditions.ResourceVersion, "7") // the plugin's own options are not changed
}

// TestAnswers: what the API server says, in words of the framework.
func TestAnswers(t *testing.T) {
	pods := schema.GroupResource{Resource: "pods"}
	away := errors.New("connection refused")
	budget := apierrors.NewTooManyRequests("Cannot evict pod as it would violate the pod's disruption budget.", 10)
	for _, c := range []struct {
		plugin, verb, args string
		answer             error
		refused, gone      bool
	}{
		{EvictionName, "create", `{}`, budget, true, false},
		{EvictionName, "create", `{"background": true}`, budget, true, false},
		{EvictionName, "create", `{}`, apierrors.NewNotFound(pods, "p"), false, true},
		{EvictionName, "create", `{}`, apierrors.NewConflict(pods, "p", errors.New("the UID in the precondition is another")), false, true},
		{EvictionName, "create", `{}`, apierrors.NewTimeoutError("conflicts of a budget", 10), false, false},
		{EvictionName, "create", `{}`, away, false, false},
		{DeleteName, "delete", ``, apierrors.NewNotFound(pods, "p"), false, true},
		{DeleteName, "delete", ``, away, false, false},
		{SoftName, "patch", `{}`, apierrors.NewNotFound(pods, "p"), false, true},
		{SoftName, "patch", `{}`, apierrors.NewConflict(pods, "p", errors.New("uid")), false, true},
		{SoftName, "patch", `{}`, away, false, false},
	} {
		h := newHandle()
		asked := h.answer(c.verb, c.answer)
		err := build(t, h, c.plugin, c.args).EvictPod(t.Context(), newPod("p"), options)
		var refused *framework.RefusedError
		assert.Equal(t, errors.As(err, &refused), c.refused, "%s: %v", c.plugin, err)
		assert.Equal(t, errors.Is(err, framework.ErrGone), c.gone, "%s: %v", c.plugin, err)
		assert.ErrorIs(t, err, c.answer)
		assert.Equal(t, len(*asked), 1)
		if c.refused {
			assert.Equal(t, refused.By, "disruption budget")
		}
	}
}

func TestDelete(t *testing.T) {
	h := newHandle()
	asked := h.answer("delete", nil)
	p := build(t, h, DeleteName, ``)
	o := options
	o.DeleteOptions = &metav1.DeleteOptions{GracePeriodSeconds: new(int64(30))}
	assert.NilError(t, p.EvictPod(t.Context(), newPod("p"), o))
	said := (*asked)[0].(ktesting.DeleteAction).GetDeleteOptions()
	assert.Equal(t, *said.Preconditions.UID, types.UID("uid-p"))
	assert.Equal(t, *said.GracePeriodSeconds, int64(30))
	assert.Assert(t, p.(framework.BudgetIgnorer).IgnoresBudgets())
}

// TestSoftEviction: the pod is marked once and runs on.
func TestSoftEviction(t *testing.T) {
	pod := newPod("p")
	h := newHandle(pod)
	p := build(t, h, SoftName, `{}`)
	assert.NilError(t, p.EvictPod(t.Context(), pod, options))
	marked, err := h.client.CoreV1().Pods("team").Get(t.Context(), "p", metav1.GetOptions{})
	assert.NilError(t, err)
	assert.Equal(t, marked.Annotations[SoftAnnotation], `{"requester":"sigs.k8s.io/descheduler","profile":"main",`+
		`"plugin":"PodLifeTime","reason":"too old","requestedAt":"2026-03-01T12:00:00Z"}`)
	assert.Error(t, p.EvictPod(t.Context(), marked, options), "SoftEviction: its owner has been asked to move it and has not")
	assert.Assert(t, p.(framework.BudgetIgnorer).IgnoresBudgets())

	own := build(t, h, SoftName, `{"annotation": "example.com/move"}`)
	assert.NilError(t, own.EvictPod(t.Context(), pod, options))
	marked, err = h.client.CoreV1().Pods("team").Get(t.Context(), "p", metav1.GetOptions{})
	assert.NilError(t, err)
	assert.Assert(t, marked.Annotations["example.com/move"] != "" && marked.Annotations[SoftAnnotation] != "")
	assert.ErrorContains(t, validateSoft(&SoftArgs{Annotation: "not a key"}), "annotation: ")
}

// TestSoftEvictionOutlivesTheProcess: a pod that was asked for by whichever process counts as one that
// goes, until it has ended or its owner takes the annotation away. A dry run says what is refused.
func TestSoftEvictionOutlivesTheProcess(t *testing.T) {
	h := newHandle()
	store := h.factory.Core().V1().Pods().Informer().GetStore()
	p := build(t, h, SoftName, `{}`)
	pods := map[string]*v1.Pod{}
	for _, name := range []string{"asked", "ended", "failed", "other"} {
		pods[name] = newPod(name)
		pods[name].Annotations[SoftAnnotation] = "{}"
		assert.NilError(t, store.Add(pods[name]))
	}
	edited(t, store, pods["ended"], func(p *v1.Pod) { p.Status.Phase = v1.PodSucceeded })
	edited(t, store, pods["failed"], func(p *v1.Pod) { p.Status.Phase = v1.PodFailed })
	edited(t, store, pods["other"], func(p *v1.Pod) { p.Annotations = map[string]string{"example.com/move": ""} })
	assert.DeepEqual(t, p.(framework.InFlightReporter).InFlight(), []*v1.Pod{pods["asked"]})
	assert.Error(t, p.(framework.EvictChecker).CheckEviction(pods["asked"], options), "SoftEviction: its owner has been asked to move it and has not")
	assert.NilError(t, p.(framework.EvictChecker).CheckEviction(newPod("new"), options))
	assert.Assert(t, p.(framework.Requester).OnlyRequests())
}

// TestSoftEvictionSays: which pod is meant, and how it would have been evicted.
func TestSoftEvictionSays(t *testing.T) {
	h := newHandle()
	asked := h.answer("patch", nil)
	grace := int64(30)
	o := options
	o.DeleteOptions = &metav1.DeleteOptions{GracePeriodSeconds: &grace}
	assert.NilError(t, build(t, h, SoftName, `{}`).EvictPod(t.Context(), newPod("p"), o))
	var patch v1.Pod
	assert.NilError(t, json.Unmarshal((*asked)[0].(ktesting.PatchAction).GetPatch(), &patch))
	assert.Equal(t, patch.UID, types.UID("uid-p"))
	var said softEviction
	assert.NilError(t, json.Unmarshal([]byte(patch.Annotations[SoftAnnotation]), &said))
	assert.DeepEqual(t, said.DeleteOptions, o.DeleteOptions)
}

// TestSoftEvictionIsTakenBack: the annotation goes from a pod for which this plugin has asked, and from no other.
func TestSoftEvictionIsTakenBack(t *testing.T) {
	h := newHandle()
	asked := h.answer("patch", nil)
	p := build(t, h, SoftName, `{}`).(framework.Withdrawer)
	for value, want := range map[string]bool{
		`{"requester":"sigs.k8s.io/descheduler","profile":"p","plugin":"NodeProblem"}`: true,
		`{"requester":"sigs.k8s.io/descheduler","profile":"p","plugin":"PodLifeTime"}`: false,
		`{"requester":"sigs.k8s.io/descheduler","profile":"q","plugin":"NodeProblem"}`: false,
		`{"requester":"another","profile":"p","plugin":"NodeProblem"}`:                 false,
		`yes`: false,
	} {
		*asked = nil
		pod := newPod("p")
		pod.Annotations[SoftAnnotation] = value
		assert.NilError(t, p.Withdraw(t.Context(), pod, framework.EvictOptions{ProfileName: "p", PluginName: "NodeProblem"}))
		assert.Equal(t, len(*asked) > 0, want, value)
		if want {
			assert.Equal(t, string((*asked)[0].(ktesting.PatchAction).GetPatch()),
				`{"metadata":{"annotations":{"descheduler.narwhal-scheduler.io/soft-eviction":null},"uid":"uid-p"}}`)
		}
	}
}

// TestSoftEvictionEnds: what the owner has not followed for an hour is taken back, as far as this profile has asked for it.
func TestSoftEvictionEnds(t *testing.T) {
	of := func(name, profile, at string) *v1.Pod {
		pod := newPod(name)
		pod.Annotations[SoftAnnotation] = fmt.Sprintf(`{"requester":"sigs.k8s.io/descheduler","profile":"%s","plugin":"P","requestedAt":"%s"}`, profile, at)
		return pod
	}
	h := newHandle(of("a", "main", "2026-03-01T11:00:00Z"), of("b", "main", "2026-03-01T11:00:01Z"), of("c", "other", "2026-03-01T09:00:00Z"),
		of("d", "main", "2026-04-01T00:00:00Z"), of("e", "main", "yesterday"))
	h.factory.Core().V1().Pods().Informer()
	h.factory.Start(t.Context().Done())
	h.factory.WaitForCacheSync(t.Context().Done())
	t.Cleanup(h.factory.Shutdown)
	asked := h.answer("patch", nil)
	expire := func(args string) (names []string) {
		*asked = nil
		assert.NilError(t, build(t, h, SoftName, args).(framework.Expirer).Expire(t.Context()))
		for _, a := range *asked {
			names = append(names, a.(ktesting.PatchAction).GetName())
		}
		slices.Sort(names)
		return names
	}
	assert.DeepEqual(t, expire(`{}`), []string{"a", "e"})
	assert.DeepEqual(t, expire(`{"ttl": "1m"}`), []string{"a", "b", "e"})
	assert.Equal(t, len(expire(`{"ttl": "0s"}`)), 0)
	assert.Error(t, validateSoft(&SoftArgs{Annotation: SoftAnnotation, TTL: metav1.Duration{Duration: -1}}), "ttl: must be at least 0s, not -1ns")
}

// TestManyThatCannotBeTakenBack: without the right to patch pods fifty are tried, and few named.
func TestManyThatCannotBeTakenBack(t *testing.T) {
	h := newHandle()
	h.factory.Core().V1().Pods().Informer()
	for i := range 50 {
		pod := newPod(fmt.Sprint("p", i))
		pod.Annotations[SoftAnnotation] = `{"requester":"sigs.k8s.io/descheduler","profile":"p","plugin":"Old"}`
		assert.NilError(t, h.factory.Core().V1().Pods().Informer().GetStore().Add(pod))
	}
	asked := h.answer("patch", apierrors.NewForbidden(v1.Resource("pods"), "p", errors.New("no role")))
	err := takeBackSoft(t.Context(), h, func(framework.Asker) bool { return false })
	assert.Equal(t, len(*asked), 50)
	assert.Equal(t, strings.Count(err.Error(), "\n"), 5)
	assert.Assert(t, strings.HasSuffix(err.Error(), "\nand 45 more"), err)
}

// TestSoftEvictionOfAnotherPolicy: the annotations go that were written for what the policy does not have any more, whatever their key is.
func TestSoftEvictionOfAnotherPolicy(t *testing.T) {
	const by = `{"requester":"sigs.k8s.io/descheduler","profile":"p","plugin":"%s","reason":"r"}`
	stays, goes, other := newPod("stays"), newPod("goes"), newPod("other")
	stays.Annotations[SoftAnnotation] = fmt.Sprintf(by, "PodLifeTime")
	goes.Annotations["example.org/leave"] = fmt.Sprintf(by, "NodeProblem")
	other.Annotations[SoftAnnotation] = `{"job":"j","reason":"r"}`
	h := newHandle(stays, goes, other)
	h.factory.Core().V1().Pods().Informer()
	h.factory.Start(t.Context().Done())
	h.factory.WaitForCacheSync(t.Context().Done())
	t.Cleanup(h.factory.Shutdown)
	asked := h.answer("patch", apierrors.NewForbidden(v1.Resource("pods"), "goes", errors.New("no role")))
	var r framework.Registry
	assert.NilError(t, r.Register(Register()...))
	d, _ := r.Find(SoftName)
	err := d.TakeBack(t.Context(), h, func(by framework.Asker) bool { return by == framework.Asker{Profile: "p", Plugin: "PodLifeTime"} })
	assert.ErrorContains(t, err, "annotation of pod team/goes: ")
	assert.Equal(t, len(*asked), 1)
	assert.Equal(t, string((*asked)[0].(ktesting.PatchAction).GetPatch()), `{"metadata":{"annotations":{"example.org/leave":null},"uid":"uid-goes"}}`)
}

// TestSoftEvictionOfAnotherInstallation: what one has asked for stays, whatever the policy of another is.
func TestSoftEvictionOfAnotherInstallation(t *testing.T) {
	pod := newPod("asked")
	h := newHandle(pod)
	h.installation = "a/descheduler"
	assert.NilError(t, build(t, h, SoftName, `{}`).EvictPod(t.Context(), pod, options))
	pod, err := h.client.CoreV1().Pods("team").Get(t.Context(), "asked", metav1.GetOptions{})
	assert.NilError(t, err)
	h.factory.Core().V1().Pods().Informer()
	h.factory.Start(t.Context().Done())
	h.factory.WaitForCacheSync(t.Context().Done())
	t.Cleanup(h.factory.Shutdown)
	asked := h.answer("patch", nil)
	for i, installation := range []string{"", "b/descheduler", "a/descheduler"} {
		h.installation = installation
		p := build(t, h, SoftName, `{}`)
		assert.NilError(t, takeBackSoft(t.Context(), h, func(framework.Asker) bool { return false }))
		assert.NilError(t, p.(framework.Withdrawer).Withdraw(t.Context(), pod, options))
		assert.Equal(t, len(*asked), []int{0, 0, 2}[i], installation)
	}
}

// taken is the answer of the API server where an owner takes an eviction.
var taken = apierrors.NewTooManyRequests("Eviction triggered evacuation of VMI default/vm", 0)

// evacuate is a plugin of which the API server takes an eviction in the background.
func evacuate(t *testing.T) (h *handle, store cache.Store, p framework.BackgroundReporter, pod *v1.Pod, asked *[]ktesting.Action) {
	h = newHandle()
	store = h.factory.Core().V1().Pods().Informer().GetStore()
	asked = h.answer("create", taken)
	p = build(t, h, EvictionName, `{"background": true}`).(framework.BackgroundReporter)
	pod = newPod("vm")
	pod.Annotations[RequestOnly] = ""
	assert.NilError(t, store.Add(pod))
	assert.NilError(t, p.EvictPod(t.Context(), pod, options)) // D-BG-1
	assert.NilError(t, p.EvictPod(t.Context(), pod, options))
	assert.Equal(t, len(*asked), 1, "the owner was asked already")
	assert.Equal(t, len(p.Background()), 1)
	return h, store, p, pod, asked
}

// edited stores a copy of a pod with a change.
func edited(t *testing.T, store cache.Store, pod *v1.Pod, edit func(*v1.Pod)) *v1.Pod {
	next := pod.DeepCopy()
	edit(next)
	assert.NilError(t, store.Update(next))
	return next
}

// TestBackgroundEnds is D-BG-2 and D-BG-3.
func TestBackgroundEnds(t *testing.T) {
	moving := func(p *v1.Pod) { p.Annotations[InProgress] = "" }
	for name, end := range map[string]func(*testing.T, *handle, cache.Store, *v1.Pod, framework.BackgroundReporter){
		"not confirmed": func(_ *testing.T, h *handle, _ cache.Store, _ *v1.Pod, _ framework.BackgroundReporter) {
			h.clock.Step(10 * time.Minute)
		},
		"no longer in progress": func(t *testing.T, _ *handle, s cache.Store, pod *v1.Pod, p framework.BackgroundReporter) {
			edited(t, s, pod, moving)
			assert.Equal(t, len(p.Background()), 1)
			edited(t, s, pod, func(*v1.Pod) {})
		},
		"deleted": func(t *testing.T, _ *handle, s cache.Store, pod *v1.Pod, _ framework.BackgroundReporter) {
			assert.NilError(t, s.Delete(pod))
		},
		"ended": func(t *testing.T, _ *handle, s cache.Store, pod *v1.Pod, _ framework.BackgroundReporter) {
			edited(t, s, pod, func(p *v1.Pod) { p.Status.Phase = v1.PodSucceeded })
		},
		"failed": func(t *testing.T, _ *handle, s cache.Store, pod *v1.Pod, _ framework.BackgroundReporter) {
			edited(t, s, pod, func(p *v1.Pod) { p.Status.Phase = v1.PodFailed })
		},
		"another of its name": func(t *testing.T, _ *handle, s cache.Store, pod *v1.Pod, _ framework.BackgroundReporter) {
			edited(t, s, pod, func(p *v1.Pod) { p.UID = "other" })
		},
	} {
		t.Run(name, func(t *testing.T) {
			h, store, p, pod, _ := evacuate(t)
			end(t, h, store, pod, p)
			assert.Equal(t, len(p.Background()), 0)
		})
	}
	h, store, p, pod, asked := evacuate(t)
	h.clock.Step(10*time.Minute - 1)
	assert.Equal(t, len(p.Background()), 1)
	pod = edited(t, store, pod, moving)
	assert.Equal(t, len(p.Background()), 1)
	h.clock.Step(24 * time.Hour)
	assert.Equal(t, len(p.Background()), 1) // it was confirmed
	assert.NilError(t, p.EvictPod(t.Context(), pod, options))
	assert.Equal(t, len(*asked), 1) // it is not asked again
	edited(t, store, pod, func(p *v1.Pod) { delete(p.Annotations, InProgress) })
	assert.Equal(t, len(p.Background()), 0)
}

// TestBackgroundAfterRestart: what an owner moves is known by its annotation.
func TestBackgroundAfterRestart(t *testing.T) {
	h := newHandle()
	asked := h.answer("create", errors.New("is not asked"))
	p := build(t, h, EvictionName, `{"background": true}`).(framework.BackgroundReporter)
	pod := newPod("vm")
	pod.Annotations[RequestOnly], pod.Annotations[InProgress] = "", ""
	assert.NilError(t, h.factory.Core().V1().Pods().Informer().GetStore().Add(pod))
	assert.NilError(t, p.EvictPod(t.Context(), pod, options))
	assert.Equal(t, len(*asked), 0)
	assert.Equal(t, len(p.Background()), 1)
}

// TestNotBackground: without the switch, without the annotation of the pod, or with
// another answer, a refusal is a refusal.
func TestNotBackground(t *testing.T) {
	for _, c := range []struct {
		args   string
		marked bool
		answer error
	}{
		{`{}`, true, taken},
		{`{"background": true}`, false, taken},
		{`{"background": true}`, true, apierrors.NewTooManyRequests("budget", 0)},
	} {
		h := newHandle()
		h.answer("create", c.answer)
		p := build(t, h, EvictionName, c.args).(framework.BackgroundReporter)
		pod := newPod("vm")
		if c.marked {
			pod.Annotations[RequestOnly] = ""
		}
		var refused *framework.RefusedError
		assert.Assert(t, errors.As(p.EvictPod(t.Context(), pod, options), &refused))
		assert.Equal(t, len(p.Background()), 0)
	}
}
