package outoftree_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"
	"gotest.tools/v3/assert"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/apis/config"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	frameworkruntime "k8s.io/kubernetes/pkg/scheduler/framework/runtime"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/outoftree"
)

// plain is a plugin of no kind.
type plain struct{ name string }

func (p plain) Name() string { return p.name }

// filtering is a filter.
type filtering struct {
	plain
	filter func() *fwk.Status
}

func (f filtering) Filter(context.Context, fwk.CycleState, *v1.Pod, fwk.NodeInfo) *fwk.Status {
	return f.filter()
}

// gating is a filter that also holds pods back before they are scheduled, chooses victims, and binds.
type gating struct{ filtering }

func (gating) PreEnqueue(context.Context, *v1.Pod) *fwk.Status { return nil }
func (gating) PostFilter(context.Context, fwk.CycleState, *v1.Pod, fwk.NodeToStatusReader) (*fwk.PostFilterResult, *fwk.Status) {
	return nil, nil
}
func (gating) Bind(context.Context, fwk.CycleState, *v1.Pod, string) *fwk.Status { return nil }

// registering fails to say which events it wants.
type registering struct{ filtering }

func (registering) EventsToRegister(context.Context) ([]fwk.ClusterEventWithHint, error) {
	return nil, errors.New("not today")
}

func as(p fwk.Plugin) outoftree.Plugin {
	return outoftree.Plugin{Name: p.Name(), New: func(context.Context, runtime.Object, fwk.Handle) (fwk.Plugin, error) { return p, nil }}
}

func enabling(names ...string) (list []config.Plugin) {
	for _, name := range names {
		list = append(list, config.Plugin{Name: name})
	}
	return list
}

// build makes the plugins of a profile, as the framework does.
func build(t *testing.T, of *config.Plugins, plugins ...outoftree.Plugin) (*outoftree.Set, map[string]fwk.Plugin, *observer.ObservedLogs, error) {
	t.Helper()
	core, logged := observer.New(zap.InfoLevel)
	set, err := outoftree.New(outoftree.Options{Plugins: plugins, Log: zap.New(core)}, of)
	if err != nil {
		return nil, nil, logged, err
	}
	registry, made := frameworkruntime.Registry{}, map[string]fwk.Plugin{}
	set.AddTo(registry, of.DeepCopy())
	for name, factory := range registry {
		var errMade error
		made[name], errMade = factory(t.Context(), nil, nil)
		err = errors.Join(err, errMade)
	}
	return set, made, logged, err
}

// What cannot be is an error that names the plugin, and says what is to be done.
func TestPluginsThatCannotBe(t *testing.T) {
	filter := filtering{plain: plain{"A"}}
	everywhere := &config.Plugins{MultiPoint: config.PluginSet{Enabled: enabling("A")}}
	for _, c := range []struct {
		of      *config.Plugins
		plugins []outoftree.Plugin
		problem string
	}{
		{everywhere, []outoftree.Plugin{{Name: "A"}}, `plugin "A": name or factory is missing`},
		{everywhere, []outoftree.Plugin{as(plain{"NodeName"})}, "plugin NodeName: kube-scheduler has one of that name"},
		{everywhere, []outoftree.Plugin{as(filter), as(filter)}, "plugin A: there are two of that name"},
		{&config.Plugins{Permit: config.PluginSet{Enabled: enabling("A")}}, []outoftree.Plugin{as(filter)}, "plugins: permit: A is no such plugin"},
		{everywhere, []outoftree.Plugin{as(gating{filter})}, "plugins: preEnqueue: A is not asked, since nothing but scheduling gates holds pods back before a node is looked for; where it is not needed say preEnqueue: {disabled: [{name: A}]}"},
		{everywhere, []outoftree.Plugin{as(gating{filter})}, "plugins: bind: A is not asked, since pods are bound by the scheduler itself"},
		{everywhere, []outoftree.Plugin{as(registering{filter})}, "EventsToRegister: not today"},
		{everywhere, []outoftree.Plugin{{Name: "A", New: as(plain{"B"}).New}}, `it calls itself "B"`},
		{everywhere, []outoftree.Plugin{{Name: "A", New: func(context.Context, runtime.Object, fwk.Handle) (fwk.Plugin, error) { return nil, nil }}}, "the factory made no plugin"},
		{everywhere, []outoftree.Plugin{{Name: "A", New: func(context.Context, runtime.Object, fwk.Handle) (fwk.Plugin, error) { panic("oh") }}}, "panic: oh"},
	} {
		_, _, _, err := build(t, c.of, c.plugins...)
		assert.ErrorContains(t, err, c.problem)
	}
}

// A plugin that is compiled in does nothing, and is told, unless the profile enables it. What it is beside, and that has no meaning
// here, is told, and where pods would run without its agreement the profile has to say that.
func TestPluginsOfAProfile(t *testing.T) {
	filter := filtering{plain: plain{"A"}}
	set, _, logged, err := build(t, &config.Plugins{}, as(filter))
	assert.Assert(t, set == nil && err == nil)
	assert.Equal(t, logged.All()[0].Message, "plugin is compiled in, and the profile does not enable it")

	of := &config.Plugins{MultiPoint: config.PluginSet{Enabled: enabling("A")}}
	of.PreEnqueue.Disabled, of.Bind.Disabled = enabling("A"), enabling("*")
	set, _, logged, err = build(t, of, as(gating{filter}))
	assert.NilError(t, err)
	assert.Assert(t, set.Decide() && !set.Score() && !set.Permit())
	assert.Equal(t, logged.Len(), 1)
	assert.Equal(t, logged.All()[0].Message, "plugins: postFilter: A is not asked: the queue configuration says what is preempted")

	of = &config.Plugins{MultiPoint: config.PluginSet{Enabled: enabling("A")}}
	of.Filter.Disabled = enabling("A")
	set, _, _, err = build(t, of, as(filter))
	assert.NilError(t, err)
	assert.Assert(t, !set.Decide())
}

func aPod(name string) *v1.Pod {
	return &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, UID: types.UID(name)}}
}

// Calls that do not return cost a second each, of which there are four at most. After that the plugin is asked nothing until one
// of them has returned, and nothing about the pods of these calls for ten seconds, then twenty, and so on.
func TestCallsThatDoNotReturn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		slow := true
		_, made, logged, err := build(t, &config.Plugins{Filter: config.PluginSet{Enabled: enabling("A")}}, as(filtering{plain{"A"}, func() *fwk.Status {
			if slow {
				<-release
			}
			return nil
		}}))
		assert.NilError(t, err)
		filter := made["A"].(fwk.FilterPlugin)
		ask := func(pod string) (took time.Duration, says string) {
			began := time.Now()
			status := filter.Filter(t.Context(), nil, aPod(pod), nil)
			synctest.Wait()
			return time.Since(began), status.Message()
		}
		for i := range 4 {
			took, says := ask(fmt.Sprint("pod-", i))
			assert.Equal(t, took, time.Second)
			assert.Equal(t, says, "plugin A failed: no answer within 1s; it is asked about the pod again after a while")
		}
		took, says := ask("pod-4")
		assert.Equal(t, took, time.Duration(0))
		assert.Equal(t, says, "plugin A failed: it is not asked while earlier calls do not return")
		assert.Equal(t, logged.Len(), 1, "one of a kind in ten seconds")

		slow = false
		close(release)
		synctest.Wait()
		_, says = ask("pod-4")
		assert.Equal(t, says, "")
		took, says = ask("pod-3")
		assert.Equal(t, took, time.Duration(0))
		assert.Equal(t, says, "plugin A failed: no answer within 1s; it is asked about the pod again after a while")
		time.Sleep(10 * time.Second)
		_, says = ask("pod-3")
		assert.Equal(t, says, "")

		slow, release = true, make(chan struct{})
		ask("pod-3")
		assert.Equal(t, logged.Len(), 2, "it is ten seconds later")
		slow = false
		close(release)
		time.Sleep(19 * time.Second)
		_, says = ask("pod-3")
		assert.Assert(t, says != "", "the pause has doubled")
		time.Sleep(time.Second)
		_, says = ask("pod-3")
		assert.Equal(t, says, "")
	})
}

// A pod that a plugin has refused is tried again with events that the plugin wants, by its hint, and once: not with its own end, and
// not after it was forgotten.
func TestEventsThatHelp(t *testing.T) {
	set, _, _, err := build(t, &config.Plugins{Filter: config.PluginSet{Enabled: enabling("A", "B")}},
		as(wanting{filtering{plain: plain{"A"}}}), as(filtering{plain: plain{"B"}}))
	assert.NilError(t, err)
	var woken []string
	set.Notify(func(name string) { woken = append(woken, name) })
	happened := func(event fwk.ClusterEvent, before, now any) []string {
		woken = nil
		set.Happened(event, before, now)
		return woken
	}
	helpful, other := aPod("helpful"), aPod("other")
	set.Refused(aPod("web"), "NodeName")
	assert.Equal(t, len(happened(framework.EventAssignedPodDelete, helpful, nil)), 0, "no plugin of the set has refused it")
	set.Refused(aPod("web"), "A")
	assert.Equal(t, len(happened(framework.EventAssignedPodAdd, nil, helpful)), 0)
	assert.Equal(t, len(happened(framework.EventAssignedPodDelete, other, nil)), 0)
	assert.DeepEqual(t, happened(framework.EventAssignedPodDelete, helpful, nil), []string{"pod web"})
	assert.Equal(t, len(happened(framework.EventAssignedPodDelete, helpful, nil)), 0, "it is tried already")

	set.Refused(aPod("web"), "B") // which registers nothing
	assert.DeepEqual(t, happened(framework.EventAssignedPodAdd, nil, other), []string{"pod web"})
	set.Refused(helpful, "B")
	assert.Equal(t, len(happened(framework.EventAssignedPodDelete, helpful, nil)), 0, "its own end")
	set.Forget(helpful.UID)
	assert.Equal(t, len(happened(framework.EventAssignedPodAdd, nil, other)), 0)
}

// wanting wants to hear of the ends of pods, and believes that those called helpful help.
type wanting struct{ filtering }

func (wanting) EventsToRegister(context.Context) ([]fwk.ClusterEventWithHint, error) {
	return []fwk.ClusterEventWithHint{{
		Event: fwk.ClusterEvent{Resource: fwk.Pod, ActionType: fwk.Delete},
		QueueingHintFn: func(_ klog.Logger, _ *v1.Pod, before, _ any) (fwk.QueueingHint, error) {
			if before.(*v1.Pod).Name == "helpful" {
				return fwk.Queue, nil
			}
			return fwk.QueueSkip, nil
		},
	}}, nil
}

// Where there are no plugins, what is asked about them takes no memory.
func TestNoneTakeNoMemory(t *testing.T) {
	none, err := outoftree.New(outoftree.Options{}, &config.Plugins{})
	assert.NilError(t, err)
	pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "web", UID: "uid-web"}}
	var now any = pod
	assert.Equal(t, testing.AllocsPerRun(100, func() {
		none.Cycle()()
		none.Sign(pod)
		none.Refused(pod, "Never")
		none.Forget(pod.UID)
		none.Happened(framework.EventAssignedPodDelete, nil, now)
		if none.Decide() || none.Permit() || none.Score() || none.Has("Never") {
			t.Error("there are plugins")
		}
	}), 0.0)
}
