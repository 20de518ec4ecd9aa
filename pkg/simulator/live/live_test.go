package live_test

import (
	"context"
	"math"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/events"
	"github.com/narwhal-scheduler/narwhal/pkg/scheduler"
	"github.com/narwhal-scheduler/narwhal/pkg/simulator"
	"github.com/narwhal-scheduler/narwhal/pkg/simulator/live"
)

func parse(t testing.TB, text string) *simulator.Scenario {
	t.Helper()
	s, err := simulator.Parse(text)
	assert.NilError(t, err)
	return s
}

func example(t testing.TB, name string) *simulator.Scenario {
	t.Helper()
	text, err := simulator.ExampleText(name)
	assert.NilError(t, err)
	return parse(t, text)
}

const livePartition = "[" + live.ID + "]default"

// A liveRun is a live cluster with its scheduler, under virtual time.
type liveRun struct {
	*scheduler.Scheduler
	over     chan struct{} // one entry each time the scenario is over
	finished chan error    // what Run returned
	cancel   context.CancelFunc
}

// started plays a scenario until stop is called. A breach of the scheduler fails
// the test.
func started(t *testing.T, s *simulator.Scenario, options live.Options, history *events.History) *liveRun {
	t.Helper()
	l := &liveRun{over: make(chan struct{}, 100), finished: make(chan error, 1)}
	options.Breach = func(err error) { t.Errorf("breach: %v", err) }
	options.Over = func() { l.over <- struct{}{} }
	cluster, err := live.New(s, options)
	assert.NilError(t, err)
	l.Scheduler, err = scheduler.New(scheduler.Config{
		Events:          history,
		SkipPredicates:  !cluster.Constrained(),
		CompletingDelay: cluster.Real(30 * time.Second),
		RetryDelay:      cluster.Real(time.Second),
		ReserveDelay:    cluster.Real(2 * time.Second),
		SettleDelay:     cluster.Real(5 * time.Second),
	})
	assert.NilError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	l.cancel = cancel
	go func() { l.finished <- cluster.Run(ctx, l.Scheduler) }()
	return l
}

func (l *liveRun) stop(t *testing.T) {
	t.Helper()
	assert.NilError(t, l.Verify(t.Context(), livePartition))
	l.cancel()
	assert.NilError(t, <-l.finished)
	l.Stop()
}

// TestLiveComesToTheSameEnd plays the small example both ways: in the end the same
// pods are there, and no pod waits that does not wait in virtual time.
func TestLiveComesToTheSameEnd(t *testing.T) {
	result, err := simulator.Run(example(t, "small"), simulator.Options{})
	assert.NilError(t, err)
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		l := started(t, example(t, "small"), live.Options{Speed: 60}, nil)
		<-l.over
		took := time.Since(began)
		view, err := l.View(t.Context(), livePartition)
		assert.NilError(t, err)
		l.stop(t)
		assert.Equal(t, len(view.Nodes), result.Nodes.AtEnd)
		assert.Assert(t, took > 5*time.Second && took < 12*time.Second, "%v", took)
		allocations, asks := 0, 0
		for _, a := range view.Applications {
			allocations, asks = allocations+len(a.Allocations), asks+len(a.Asks)
		}
		assert.Equal(t, allocations, len(view.Nodes), "the pods of the daemonset are there still")
		assert.Equal(t, asks, 0)
	})
}

// TestLiveExamples: whatever happens in the examples, the scheduler makes no breach.
func TestLiveExamples(t *testing.T) {
	if testing.Short() {
		t.Skip("long, so make test-long plays it")
	}
	for _, c := range []struct {
		name   string
		speed  float64
		evicts bool // some pods have to make room
	}{{"small", 1, false}, {"small", live.SpeedMax, false}, {"daemonsets", 60, true}, {"fairness", 60, true}, {"fairness", 600, true}, {"teams", 60, false}} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				history, err := events.NewHistory("test", events.Config{})
				assert.NilError(t, err)
				scenario := example(t, c.name)
				if c.name == "teams" {
					scenario.Until = 20 * time.Minute // of four hours, which take minutes here
				}
				l := started(t, scenario, live.Options{Speed: c.speed}, history)
				<-l.over
				l.stop(t)
				preempted := false
				for _, e := range history.Latest(events.CapacityMax).Entries {
					preempted = preempted || strings.Contains(e.Record.EventChangeDetail.String(), "PREEMPT")
				}
				assert.Equal(t, preempted, c.evicts)
			})
		})
	}
}

// TestLiveBeginsAnew: the second time the cluster is there again, from nothing.
func TestLiveBeginsAnew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := started(t, example(t, "small"), live.Options{Speed: 60, Loop: true}, nil)
		<-l.over
		<-l.over
		<-l.over
		synctest.Wait() // while it registers again there is no partition
		l.stop(t)
	})
}

// TestLiveStopsAtOnce, in the middle of things.
func TestLiveStopsAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := started(t, example(t, "teams"), live.Options{Speed: 60}, nil)
		synctest.Wait()
		began := time.Now()
		l.stop(t)
		assert.Equal(t, time.Since(began), time.Duration(0))
	})
}

// TestLiveChangesLimits: the new limits are in effect, and delays are as much
// shorter as time is faster.
func TestLiveChangesLimits(t *testing.T) {
	s := parse(t, `
name: x
until: 10m
queues: [{name: root, queues: [{name: a, resources: {max: {vcore: 4}}, properties: {preemption.delay: 2m}}, {name: b}]}]
nodes: [{name: n, capacity: {vcore: 8}}]
workloads: [{name: w, queue: root.a, pods: 8, resources: {vcore: 1}, runs: forever}]
changes: [{at: 2m, queue: root.a, max: {vcore: 6}}, {at: 4m, queue: root.a, max: {vcore: 7}}]
`)
	synctest.Test(t, func(t *testing.T) {
		l := started(t, s, live.Options{Speed: 60}, nil)
		<-l.over
		view, err := l.View(t.Context(), livePartition)
		assert.NilError(t, err)
		l.stop(t)
		a, b := queueNamed(view.Root, "root.a"), queueNamed(view.Root, "root.b")
		assert.Equal(t, l.Kinds().Format(a.Used), "vcore=7000")
		assert.Equal(t, a.Properties.PreemptionDelay, 2*time.Second)
		assert.Equal(t, b.Properties.PreemptionDelay, 500*time.Millisecond)
	})
}

func queueNamed(q *api.QueueView, path api.QueuePath) *api.QueueView {
	for _, child := range q.Queues {
		if child.Path == path {
			return child
		}
	}
	return nil
}

func TestLiveRefuses(t *testing.T) {
	for _, speed := range []float64{0, -1, math.NaN(), math.Inf(1), 1e5} {
		_, err := live.New(example(t, "small"), live.Options{Speed: speed})
		assert.ErrorContains(t, err, "is not from 0.01 to 10000")
	}
	s := example(t, "small")
	assert.NilError(t, s.UseQueues("partitions: [{queues: [{name: root, queues: [{name: other}]}]}]"))
	_, err := live.New(s, live.Options{Speed: 1})
	assert.ErrorContains(t, err, "is no leaf queue")
	cluster, err := live.New(example(t, "small"), live.Options{Speed: 1})
	assert.NilError(t, err)
	stopped, err := scheduler.New(scheduler.Config{})
	assert.NilError(t, err)
	stopped.Stop()
	assert.ErrorIs(t, cluster.Run(t.Context(), stopped), scheduler.ErrStopped)
}
