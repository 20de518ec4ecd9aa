package metrics_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"
	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/core"
	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/core/preemptor"
	"github.com/narwhal-scheduler/narwhal/pkg/metrics"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// A fixture is a real partition whose events are counted and whose view is
// watched.
type fixture struct {
	t         *testing.T
	partition *core.Partition
	metrics   *metrics.Metrics
	now       time.Time
}

func (w *fixture) Partitions() []string { return []string{"p"} }

func (w *fixture) View(context.Context, string) (*api.View, error) { return w.partition.View(), nil }

func newFixture(t *testing.T, root api.QueueConfig) *fixture {
	kinds := usual(t)
	config := api.Config{Name: "p", Root: root}
	config.Preemption.RequiredNode = preemptor.DefaultConfig()
	w := &fixture{
		t: t, now: time.Unix(1000, 0), metrics: metrics.New(),
		partition: core.NewPartition(api.Options{Kinds: kinds}, config),
	}
	w.metrics.Watch(w, kinds)
	return w
}

// does carries out commands and schedules until there is nothing more to do.
func (w *fixture) does(commands ...api.Command) {
	for _, c := range commands {
		w.metrics.Count("p", w.partition.Apply(w.now, c))
	}
	for more := true; more; {
		var effects api.Effects
		effects, more = w.partition.Schedule(w.now)
		w.metrics.Count("p", effects)
	}
	assert.NilError(w.t, w.partition.Verify())
}

func (w *fixture) series() map[string]float64 { return seriesOf(w.t, w.metrics) }

func flatRoot(leaves ...api.QueueConfig) api.QueueConfig {
	return api.QueueConfig{Name: "root", Parent: true, Queues: leaves}
}

func vcores(n int64) resources.Amounts { return resources.Amounts{n} }

// TestVictimsByClass has one allocation of each class evicted for a daemonset. The
// victims are counted by the class by which they were chosen, and by what comes of
// it.
func TestVictimsByClass(t *testing.T) {
	w := newFixture(t, flatRoot(api.QueueConfig{Name: "q"}))
	node := api.NodeID("n1")
	add := func(a api.Allocation) api.Command {
		a.Node, a.Amounts, a.Created = node, vcores(1000), w.now
		if a.Origin == api.Own {
			a.Application = "app"
		}
		return api.AddAllocation{Allocation: &a}
	}
	w.does(
		api.AddNode{ID: node, Capacity: vcores(8000)}, api.AddApplication{ID: "app", Queue: "root.q"},
		add(api.Allocation{Key: "plain"}),
		add(api.Allocation{Key: "driver", Originator: true}),
		add(api.Allocation{Key: "tagged", Tags: map[string]string{api.TagOwner: "true"}}),
		add(api.Allocation{Key: "system", Origin: api.Foreign}),
		add(api.Allocation{Key: "policy", Preemptable: api.Preemptable{Stated: true, AllowOthers: true}}),
		add(api.Allocation{Key: "label", Tags: map[string]string{"kubernetes.io/label/" + api.TagAllowPreemption: "false"}}),
		add(api.Allocation{Key: "annotation", Tags: map[string]string{api.TagAllowPreemption: "false"}, Originator: true}),
		add(api.Allocation{Key: "willing", Preemptable: api.Preemptable{Stated: true, AllowSelf: true}}),
		api.AddAllocation{Allocation: &api.Allocation{
			Key: "daemon", Application: "app", Amounts: vcores(8000), Priority: 9, Required: node, Created: w.now,
		}},
	)
	w.now = w.now.Add(time.Minute)
	w.does()

	want := map[string]float64{}
	for _, v := range w.partition.View().Applications[0].Asks[0].Plan.Victims {
		class := strings.ReplaceAll(v.Class.String(), " ", "_")
		want[fmt.Sprintf(`narwhal_victims{class=%q,partition="p",state="releasing",trigger="required_node"}`, class)]++
	}
	assert.Equal(t, len(want), preemptor.Classes, "every class is there")
	got := w.series()
	for series, n := range want {
		assert.Equal(t, got[series], n, series)
	}
	victims := func(outcome string) float64 {
		return got[fmt.Sprintf(`narwhal_preemption_victims_total{class="regular",outcome=%q,partition="p",trigger="required_node"}`, outcome)]
	}
	assert.Equal(t, victims("requested"), 2.0)
	assert.Equal(t, victims("overdue"), 0.0)
	assert.Equal(t, got[`narwhal_releases_total{origin="own",partition="p",termination="preempted"}`], 7.0)
	assert.Equal(t, got[`narwhal_releases_total{origin="foreign",partition="p",termination="preempted"}`], 1.0)

	w.now = w.now.Add(time.Hour)
	w.does()
	got = w.series()
	assert.Equal(t, got[`narwhal_victims{class="regular",partition="p",state="overdue",trigger="required_node"}`], 2.0)
	assert.Equal(t, victims("overdue"), 2.0)
	assert.Equal(t, victims("ended"), 0.0)

	w.does(api.ReleaseAllocation{Application: "app", Key: "plain"})
	got = w.series()
	assert.Equal(t, victims("requested"), 2.0)
	assert.Equal(t, victims("ended"), 1.0)
}

// TestEventsAndViewAgree lets a queue fill, preempt by priority and empty. What is
// counted of events is what the partition counts.
func TestEventsAndViewAgree(t *testing.T) {
	w := newFixture(t, flatRoot(api.QueueConfig{Name: "q", Max: resources.Limits{20_000}}))
	ask := func(key string, priority int32) api.Command {
		return api.AddAllocation{Allocation: &api.Allocation{
			Key: api.AllocationKey(key), Application: "app", Amounts: vcores(1000), Priority: priority, Created: w.now,
		}}
	}
	w.does(api.AddNode{ID: "n1", Capacity: vcores(2000)}, api.AddApplication{ID: "app", Queue: "root.q"}, api.AddApplication{ID: "lost", Queue: "root.none"})
	w.does(ask("a", 0), ask("b", 0), ask("c", 0))
	w.now = w.now.Add(time.Minute)
	w.does(ask("urgent", 5))

	got := w.series()
	for series, want := range map[string]float64{
		`yunikorn_scheduler_container_allocation_attempt_total{partition="p",state="allocated"}`:                 2,
		`narwhal_placements_total{partition="p"}`:                                                                2,
		`yunikorn_scheduler_application_submission_total{partition="p",result="new"}`:                            1,
		`yunikorn_scheduler_application_submission_total{partition="p",result="accepted"}`:                       1,
		`yunikorn_scheduler_application_submission_total{partition="p",result="rejected"}`:                       1,
		`narwhal_node_changes_total{change="accepted",partition="p"}`:                                            1,
		`narwhal_nominations_told_total{change="made",partition="p"}`:                                            1,
		`narwhal_preemption_outcomes_total{outcome="nominations",partition="p"}`:                                 1,
		`narwhal_nominated_asks{partition="p",trigger="priority"}`:                                               1,
		`narwhal_preemption_victims_total{class="regular",outcome="requested",partition="p",trigger="priority"}`: 1,
		`narwhal_releases_total{origin="own",partition="p",termination="preempted"}`:                             1,
		`narwhal_victims{class="regular",partition="p",state="releasing",trigger="priority"}`:                    1,
		`narwhal_pending_asks{partition="p",reason="no_node_fits"}`:                                              1,
		`narwhal_pending_asks{partition="p",reason="nominated"}`:                                                 1,
		`narwhal_queue_pending_asks{partition="p",queue="root.q",reason="nominated"}`:                            1,
		`yunikorn_queue_app{partition="p",queue="root.q",state="running"}`:                                       1,
		`yunikorn_queue_resource{partition="p",queue="root.q",resource="vcore",state="nominated"}`:               1000,
		`yunikorn_queue_resource{partition="p",queue="root",resource="vcore",state="preempting"}`:                1000,
		`narwhal_nodes_by_usage{partition="p",range="(90%,100%]",resource="vcore"}`:                              1,
	} {
		value, there := got[series]
		assert.Assert(t, there, series)
		assert.Equal(t, value, want, series)
	}

	w.does(api.RemoveApplication{ID: "app"}, api.RemoveNode{ID: "n1"})
	got = w.series()
	assert.Equal(t, got[`narwhal_releases_total{origin="own",partition="p",termination="stopped"}`], 2.0)
	assert.Equal(t, got[`narwhal_node_changes_total{change="removed",partition="p"}`], 1.0)
	assert.Equal(t, got[`yunikorn_scheduler_node{partition="p",state="active"}`], 0.0)
}

// TestTransitions follows an application to its end, state by state.
func TestTransitions(t *testing.T) {
	w := newFixture(t, flatRoot(api.QueueConfig{Name: "q"}))
	w.does(
		api.AddNode{ID: "n1", Capacity: vcores(2000)}, api.AddApplication{ID: "app", Queue: "root.q"},
		api.AddAllocation{Allocation: &api.Allocation{Key: "a", Application: "app", Amounts: vcores(1), Created: w.now}},
	)
	w.does(api.ReleaseAllocation{Application: "app", Key: "a", Termination: si.TerminationType_STOPPED_BY_RM})
	assert.Equal(t, w.series()[`yunikorn_queue_app{partition="p",queue="root.q",state="completing"}`], 1.0)
	w.now = w.now.Add(time.Hour)
	w.does()
	got := w.series()
	for _, state := range []string{"new", "accepted", "running", "completing", "completed"} {
		assert.Equal(t, got[fmt.Sprintf(`narwhal_application_transitions_total{partition="p",state=%q}`, state)], 1.0, state)
	}
}

// TestHeadroomIsThatOfTheView compares every queue with what the view says.
func TestHeadroomIsThatOfTheView(t *testing.T) {
	view := smallView()
	got := seriesOf(t, populated(t))
	kinds := usual(t)
	seen := 0
	for _, path := range []api.QueuePath{"root", "root.idle", "root.team", "root.team.batch"} {
		left, ok := view.Headroom(path)
		assert.Assert(t, ok)
		for kind := range resources.Kind(kinds.Len()) {
			value, there := got[fmt.Sprintf(`narwhal_queue_headroom{partition="[rm]default",queue=%q,resource=%q}`, path, kinds.Name(kind))]
			assert.Equal(t, there, left.Of(kind) != resources.Unlimited)
			if there {
				assert.Equal(t, value, float64(left.Of(kind)))
				seen++
			}
		}
	}
	assert.Equal(t, seen, 5)
}
