package descheduler

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"
	"gotest.tools/v3/assert"
	v1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/events"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/framework"
)

// An asking evict plugin asks others to end pods, and refuses those of node b. It counts how often it is
// asked what is in flight, for which it may look at all pods.
type asking struct {
	instance
	looks *int
}

var (
	_ framework.Requester        = asking{}
	_ framework.EvictChecker     = asking{}
	_ framework.InFlightReporter = asking{}
)

func (a asking) InFlight() []*v1.Pod {
	*a.looks++
	return nil
}

func (asking) OnlyRequests() bool { return true }

func (asking) CheckEviction(pod *v1.Pod, _ framework.EvictOptions) error {
	if pod.Spec.NodeName == "b" {
		return &framework.RefusedError{By: "Asking", Reason: "not from b"}
	}
	return nil
}

func (a asking) EvictPod(_ context.Context, pod *v1.Pod, o framework.EvictOptions) error {
	return a.CheckEviction(pod, o)
}

// withAsking has the evict plugin be one of these.
func (w *world) withAsking(looks *int) *Descheduler {
	w.policy.Profiles[0].Plugins[framework.Evict] = []string{"Asking"}
	r := w.registry()
	assert.NilError(w.t, r.Register(framework.Definition{
		Name: "Asking", Points: framework.Points(),
		New: func(context.Context, any, framework.Handle) (framework.Plugin, error) {
			return asking{instance{scripted: &scripted{name: "Asking"}}, looks}, nil
		},
	}))
	d, err := New(w.t.Context(), w.policy, r, w.options)
	assert.NilError(w.t, err)
	return d
}

// TestRequestedEvictions: an evict plugin that only asks for evictions has evicted nothing yet, and
// all that is told says so. What was asked for is not asked for again.
func TestRequestedEvictions(t *testing.T) {
	recorder := events.NewFakeRecorder(10)
	core, logs := observer.New(zap.InfoLevel)
	w := newWorld(t, newPod("team", "web-0", "a", "web"), newPod("team", "web-1", "b", "web"))
	w.options.Recorder, w.options.Log = recorder, zap.New(core)
	looks := 0
	d := w.withAsking(&looks)
	report, err := d.Cycle(t.Context())
	assert.NilError(t, err)
	assert.Equal(t, looks, 1, "once in a cycle, and not for each eviction")
	assert.Assert(t, report.Evictions[0].Requested)
	assert.Equal(t, heading(t, report), "cycle 1, 3 nodes: 0 pods evicted, 1 eviction requested")
	assert.DeepEqual(t, texts(recorder), []string{"Normal All the descheduler requested its eviction from node a: all go"})
	assert.Equal(t, logs.FilterMessage("eviction of a pod requested").Len(), 1)
	assert.Equal(t, logs.FilterMessage("pod evicted").Len(), 0)
	report, err = d.Cycle(t.Context())
	assert.NilError(t, err)
	assert.Equal(t, len(report.Evictions), 0)
}

// TestDryRunAsksTheEvictPlugin: what the evict plugin would refuse is refused in a dry run too.
func TestDryRunAsksTheEvictPlugin(t *testing.T) {
	w := newWorld(t, newPod("team", "web-0", "a", "web"), newPod("team", "web-1", "b", "web"))
	w.options.DryRun = true
	report, err := w.withAsking(new(int)).Cycle(t.Context())
	assert.NilError(t, err)
	assert.Equal(t, heading(t, report), "cycle 1, 3 nodes: 1 pod would be evicted")
	assert.DeepEqual(t, report.Reasons, []Reason{{Refused, "Asking: not from b", 1}})
}

// heading is the first line of a report.
func heading(t *testing.T, r *Report) string {
	t.Helper()
	var b strings.Builder
	assert.NilError(t, r.Table(&b))
	line, _, _ := strings.Cut(b.String(), "\n")
	return line
}

// TestLogSaysWhyPodsStay: each decision that keeps a pod is in the log where that has what is for debugging.
func TestLogSaysWhyPodsStay(t *testing.T) {
	for level, want := range map[zapcore.Level]int{zap.DebugLevel: 2, zap.InfoLevel: 0} {
		core, logs := observer.New(level)
		w := newWorld(t, newPod("team", "web-0", "a", "web"), newPod("team", "web-1", "a", "web"), newPod("team", "web-2", "a", "web"))
		one := 1
		w.policy.Limits.Total = &one
		w.options.Log = zap.New(core)
		w.plugin("All").filter = func(pod *v1.Pod) error {
			if pod.Name == "web-0" {
				return errors.New("it stays\nfor ever")
			}
			return nil
		}
		w.policy.Profiles[0].Plugins[framework.Filter] = []string{"All"}
		w.build()
		_, err := w.d.Cycle(t.Context())
		assert.NilError(t, err)
		stays := logs.FilterMessage("pod stays").All()
		assert.Equal(t, len(stays), want, "%v", stays)
		if want > 0 {
			assert.DeepEqual(t, stays[0].ContextMap(), map[string]any{
				"profile": "p", "plugin": "", "pod": "team/web-0", "outcome": "filtered", "reason": "All: it stays; for ever",
			})
		}
	}
}

// TestReasonsOfAReportAreBounded has ten times as many reasons as a report names, and says how many others
// there are. The most frequent are first.
func TestReasonsOfAReportAreBounded(t *testing.T) {
	counted := map[Reason]int{{Outcome: Refused, Reason: "with all"}: 7, {Outcome: Filtered, Reason: "once"}: 1}
	for i := range 10*reasonsOfReport - 1 {
		counted[Reason{Outcome: Refused, Reason: fmt.Sprintf("pod %02d", i)}] = 2
	}
	got := frequent(counted)
	assert.Equal(t, len(got), 1+reasonsOfReport+1)
	assert.DeepEqual(t, got[:3], []Reason{{Filtered, "once", 1}, {Refused, "with all", 7}, {Refused, "pod 00", 2}})
	assert.DeepEqual(t, got[len(got)-1], Reason{Refused, "90 other reasons", 180})
}
