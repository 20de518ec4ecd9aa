package metrics_test

import (
	"compress/gzip"
	"context"
	"errors"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"gotest.tools/v3/assert"
	"gotest.tools/v3/golden"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/core/preemptor"
	"github.com/narwhal-scheduler/narwhal/pkg/metrics"
	"github.com/narwhal-scheduler/narwhal/pkg/metrics/stage"
	"github.com/narwhal-scheduler/narwhal/pkg/outcomes"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// fixedViews are views that do not change by themselves; nil is a partition that is
// gone.
type fixedViews map[string]*api.View

var errGone = errors.New("gone")

func (p fixedViews) Partitions() []string { return sortedKeys(p) }

func (p fixedViews) View(_ context.Context, partition string) (*api.View, error) {
	if p[partition] == nil {
		return nil, errGone
	}
	return p[partition], nil
}

func kindsOf(t testing.TB, names ...string) *resources.Kinds {
	t.Helper()
	kinds := new(resources.Kinds)
	for _, name := range names {
		_, err := kinds.Intern(name)
		assert.NilError(t, err)
	}
	return kinds
}

// usual is the kinds of all fixedViews, by number.
func usual(t testing.TB) *resources.Kinds {
	t.Helper()
	return kindsOf(t, resources.VCore, resources.Memory, "nvidia.com/gpu")
}

// smallView is a small partition with one of everything.
func smallView() *api.View {
	unlimited := int64(resources.Unlimited)
	batch := &api.QueueView{
		Path: "root.team.batch", Leaf: true, Max: resources.Limits{8000, unlimited},
		Guaranteed: resources.Amounts{4000, 0}, Used: resources.Amounts{6000, 6 << 30}, Pending: resources.Amounts{3000, 1 << 30},
		Nominated: resources.Amounts{1000}, Releasing: resources.Amounts{1500},
	}
	idle := &api.QueueView{Path: "root.idle", Leaf: true, Max: resources.Limits{unlimited, unlimited, 0}}
	team := &api.QueueView{
		Path: "root.team", Max: resources.Limits{9000, 7 << 30}, Guaranteed: resources.Amounts{0, 0, 2}, Used: batch.Used, Pending: batch.Pending,
		Nominated: batch.Nominated, Releasing: batch.Releasing, Queues: []*api.QueueView{batch},
	}
	root := &api.QueueView{
		Path: "root", Used: batch.Used, Pending: batch.Pending, Nominated: batch.Nominated, Releasing: batch.Releasing,
		Queues: []*api.QueueView{idle, team},
	}
	return &api.View{
		Name: "default", Partition: "[rm]default", Root: root,
		Capacity: resources.Amounts{20_000, 20 << 30}, Used: batch.Used, Occupied: resources.Amounts{1000},
		ForeignUnknownNode: []*api.Allocation{{Key: "lost-1", Origin: api.Foreign}, {Key: "lost-2", Origin: api.Static}},
		Nodes:              smallNodes(), Applications: smallApplications(),
		Preempted: api.Preempted{
			Plans: 9, Nominations: 4, Cleared: 1, Loops: 2, Reservations: 6,
			Victims: api.VictimCount{{1, 2, 3, 4}, {5, 6, 7, 8}, {9, 10, 11, 12}, {13, 14, 15, 16}},
			Overdue: api.VictimCount{{0, 0, 0, 1}, {2}},
		},
		Work: api.Work{Nodes: 100, Queues: 200, Applications: 300, Asks: 400, Placements: 50, Attempts: 60, NodeCosts: 70},
	}
}

func smallNodes() []*api.NodeView {
	return []*api.NodeView{
		{
			ID: "n1", Schedulable: true, Capacity: resources.Amounts{10_000, 10 << 30},
			Allocated: resources.Amounts{3000, 4 << 30}, Occupied: resources.Amounts{1000},
			Allocations: []*api.Allocation{
				{Key: "driver", Originator: true}, {Key: "quiet", Preemptable: api.Preemptable{Stated: true}}, {Key: "worker"},
			},
			ForeignAllocations: []*api.Allocation{{Key: "system", Origin: api.Foreign}},
			Evictions: []api.Eviction{
				{Key: "driver", Trigger: preemptor.Quota, Class: preemptor.Owner},
				{Key: "leaving", Reported: true}, // and no victim
				{Key: "quiet", Trigger: preemptor.RequiredNode, Class: preemptor.OptedOut, Overdue: true},
				{Key: "system", Trigger: preemptor.RequiredNode, Class: preemptor.Foreign},
				{Key: "worker", Trigger: preemptor.Priority},
			},
			Reservations: []api.Reservation{{Required: true}, {Required: true}},
		},
		{ID: "n2", Schedulable: true, Capacity: resources.Amounts{5000, 10 << 30}, Allocated: resources.Amounts{3000, 2 << 30}, Reservations: []api.Reservation{{}}},
		{ID: "n3", Capacity: resources.Amounts{5000, 0}, Allocated: resources.Amounts{5001, 0}},
	}
}

func smallApplications() []*api.ApplicationView {
	ask := func(reason api.Reason) api.AskView {
		return api.AskView{Allocation: &api.Allocation{Created: time.Unix(1000, 0)}, Waiting: &api.Waiting{Reason: reason}}
	}
	nominated := ask(api.RoomIsMade)
	nominated.Nominated, nominated.Trigger = "n1", preemptor.Guarantee
	return []*api.ApplicationView{
		{ID: "a", Queue: "root.team.batch", User: "ada", Groups: []string{"dev", "ops"}, State: api.Running, Allocations: make([]*api.Allocation, 3), Asks: []api.AskView{ask(api.NoNodeFits), ask(api.NoNodeFits), nominated}},
		{ID: "b", Queue: "root.team.batch", User: "bob", Groups: []string{"dev"}, State: api.Accepted, Asks: []api.AskView{ask(api.QuotaExceeded)}},
		{ID: "c", Queue: "root.team.batch", State: api.Running, Allocations: make([]*api.Allocation, 1)},
	}
}

// populated is metrics of which every family has a series.
func populated(t testing.TB) *metrics.Metrics {
	t.Helper()
	m := metrics.New()
	m.Watch(fixedViews{"[rm]default": smallView(), "[rm]lost": nil}, usual(t))
	m.Count("[rm]default", api.Effects{
		&api.NodeAdded{}, &api.NodeAdded{}, &api.NodeRejected{}, &api.ApplicationAccepted{}, &api.ApplicationRejected{},
		&api.ApplicationChanged{State: api.Accepted}, &api.ApplicationChanged{State: api.Running}, &api.ApplicationChanged{State: api.Running},
		api.AskAdded{},
		api.Placed{},
		api.Placed{},
		api.Adopted{},
		&api.AllocationRejected{},
		&api.EvictionRequested{Allocation: &api.Allocation{}},
		&api.EvictionRequested{Allocation: &api.Allocation{Origin: api.Static}},
		&api.Ended{Cause: api.CauseReleased}, &api.Ended{Cause: api.CausePreempted},
		&api.Claimed{Plan: new(preemptor.Decision)}, &api.Claimed{Plan: new(preemptor.Decision)}, &api.ClaimEnded{Nominated: true, End: api.EndOfRoom}, &api.ClaimEnded{Nominated: true},
		&outcomes.VictimsWasted{Trigger: preemptor.RequiredNode, Cause: outcomes.AskRemoved, Victims: make([]api.AllocationKey, 1)},
		&outcomes.VictimsWasted{Trigger: preemptor.RequiredNode, Cause: outcomes.RanElsewhere, Victims: make([]api.AllocationKey, 2)},
		&outcomes.VictimsWasted{Trigger: preemptor.Priority, Cause: outcomes.AskChanged, Victims: make([]api.AllocationKey, 3)},
		&outcomes.VictimsWasted{Trigger: preemptor.Guarantee, Cause: outcomes.AskRemoved, Victims: make([]api.AllocationKey, 4)},
		&api.Unschedulable{}, &api.NodeRemoved{}, &api.Reconfigured{}, nil,
	})
	m.CountUnanswered("[rm]default")
	m.Observe(stage.Decision, 3_000)
	m.Observe(stage.Decision, 40_000_000)
	m.Observe(stage.Callback, -5)
	return m
}

func scrape(t testing.TB, m *metrics.Metrics) string {
	t.Helper()
	w := httptest.NewRecorder()
	m.Handler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	assert.Equal(t, w.Code, http.StatusOK)
	return w.Body.String()
}

// ours are the lines of a scrape that this package makes itself.
func ours(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		if strings.Contains(line, "narwhal_") || strings.Contains(line, "yunikorn_") {
			b.WriteString(line)
		}
	}
	return b.String()
}

// TestScrape is the table of docs/metrics.md as Prometheus reads it.
func TestScrape(t *testing.T) {
	golden.Assert(t, ours(scrape(t, populated(t))), "scrape.golden")
}

// TestNothingWatched is what there is before a scheduler is: the process itself.
func TestNothingWatched(t *testing.T) {
	text := scrape(t, metrics.New())
	assert.Assert(t, strings.Contains(text, "\ngo_goroutines "))
	assert.Assert(t, !strings.Contains(text, "narwhal_partition_up"))
}

// TestConsistent has the checks of a registry made: no series twice, no family
// with mixed types, only valid names and text.
func TestConsistent(t *testing.T) {
	_, err := prometheus.Gatherers{populated(t)}.Gather()
	assert.NilError(t, err)
}

// TestCompressedOnce would have found answers that Prometheus cannot read,
// because they are compressed twice.
func TestCompressedOnce(t *testing.T) {
	request := httptest.NewRequest(http.MethodGet, "/metrics", nil)
	request.Header.Set("Accept-Encoding", "gzip")
	w := httptest.NewRecorder()
	populated(t).Handler().ServeHTTP(w, request)
	assert.Equal(t, w.Header().Get("Content-Encoding"), "gzip")
	reader, err := gzip.NewReader(w.Body)
	assert.NilError(t, err)
	text, err := io.ReadAll(reader)
	assert.NilError(t, err)
	assert.Assert(t, strings.Contains(string(text), "\nnarwhal_partition_up{"))
}

// TestRemoved watches a queue, an application, a node and a partition go, and all
// their series with them. Counters stay.
func TestRemoved(t *testing.T) {
	m := populated(t)
	before := seriesOf(t, m)
	bare := &api.View{Name: "default", Root: &api.QueueView{Path: "root", Queues: []*api.QueueView{{Path: "root.idle", Leaf: true}}}}
	m.Watch(fixedViews{"[rm]default": bare}, usual(t))
	after := seriesOf(t, m)

	const gone = `yunikorn_queue_resource{partition="[rm]default",queue="root.team.batch",resource="vcore",state="allocated"}`
	assert.Equal(t, before[gone], 6000.0)
	for name := range after {
		assert.Assert(t, !strings.Contains(name, "root.team"), name)
		assert.Assert(t, !strings.Contains(name, "lost"), name)
		assert.Assert(t, !strings.Contains(name, `range=`), name)
	}
	assert.Equal(t, after[`yunikorn_scheduler_node{partition="[rm]default",state="active"}`], 0.0)
	assert.Equal(t, after[`yunikorn_scheduler_container_allocation_attempt_total{partition="[rm]default",state="allocated"}`], 3.0)
}

// TestOddNames has names that would spoil the format if they were written as they
// are. All stay apart, those that are no UTF-8 too.
func TestOddNames(t *testing.T) {
	names := []string{"", "größe", `say "no"`, "back\\slash", "two\nlines", "\xff", "\xfe", "a\xffb\xc3", strings.Repeat("long", resources.NameMax/4), "{}"}
	kinds := new(resources.Kinds)
	for _, name := range names[1:] {
		_, err := kinds.Intern(name)
		assert.NilError(t, err)
	}
	views := fixedViews{}
	for _, partition := range names {
		root := &api.QueueView{Path: "root", Used: make(resources.Amounts, kinds.Len())}
		for i := range root.Used {
			root.Used[i] = int64(i + 1)
		}
		for _, name := range names {
			root.Queues = append(root.Queues, &api.QueueView{Path: api.QueuePath(name), Leaf: true})
		}
		views[partition] = &api.View{Root: root}
	}
	m := metrics.New()
	m.Watch(views, kinds)
	for _, partition := range names {
		m.Count(partition, api.Effects{api.Placed{}})
	}

	_, err := prometheus.Gatherers{m}.Gather()
	assert.NilError(t, err)
	text := scrape(t, m)
	for _, want := range []string{
		`narwhal_queue_allocations{partition="",queue="größe"} 0`,
		`narwhal_queue_allocations{partition="say \"no\"",queue="back\\slash"} 0`,
		`narwhal_queue_allocations{partition="two\nlines",queue="{}"} 0`,
		`narwhal_queue_allocations{partition="\\xff",queue="a\\xffb\\xc3"} 0`,
		`yunikorn_queue_resource{partition="",queue="root",resource="\\xfe",state="allocated"} 6`,
		`yunikorn_scheduler_container_allocation_attempt_total{partition="\\xfe",state="allocated"} 1`,
	} {
		assert.Assert(t, strings.Contains(text, want+"\n"), want)
	}
}

// TestBigNumbers is about amounts at the end of what can be counted, and below
// zero.
func TestBigNumbers(t *testing.T) {
	const most = math.MaxInt64
	root := &api.QueueView{
		Path: "root", Leaf: true, Max: resources.Limits{most - 1, 10, most}, Used: resources.Amounts{1, 25, most}, Guaranteed: resources.Amounts{most},
	}
	node := func(capacity, allocated, occupied int64) *api.NodeView {
		return &api.NodeView{Capacity: resources.Amounts{capacity}, Allocated: resources.Amounts{allocated}, Occupied: resources.Amounts{occupied}}
	}
	m := metrics.New()
	m.Watch(fixedViews{"p": {Root: root, Capacity: resources.Amounts{most}, Nodes: []*api.NodeView{
		node(most, most, 0), node(most, most-1, most-1), node(most-1, most, most), node(most, most/2, 0), node(most, 1, 0),
	}}}, usual(t))
	got := seriesOf(t, m)
	for series, want := range map[string]float64{
		`yunikorn_queue_resource{partition="p",queue="root",resource="nvidia.com/gpu",state="allocated"}`: 9.223372036854775807e18,
		`yunikorn_queue_resource{partition="p",queue="root",resource="vcore",state="guaranteed"}`:         9.223372036854775807e18,
		`narwhal_queue_headroom{partition="p",queue="root",resource="vcore"}`:                             9.223372036854775806e18,
		`narwhal_queue_headroom{partition="p",queue="root",resource="memory"}`:                            -15,
		`narwhal_nodes_by_usage{partition="p",range="[0,10%]",resource="vcore"}`:                          1,
		`narwhal_nodes_by_usage{partition="p",range="(40%,50%]",resource="vcore"}`:                        1,
		`narwhal_nodes_by_usage{partition="p",range="(90%,100%]",resource="vcore"}`:                       2,
		`narwhal_nodes_by_usage{partition="p",range=">100%",resource="vcore"}`:                            1,
	} {
		value, ok := got[series]
		assert.Assert(t, ok, series)
		assert.Equal(t, value, want, series)
	}
	_, limited := got[`narwhal_queue_headroom{partition="p",queue="root",resource="nvidia.com/gpu"}`]
	assert.Assert(t, !limited, "there is no headroom of what is unlimited")
}

// seriesOf is the value of every gauge and counter, by its name and labels.
func seriesOf(t testing.TB, m *metrics.Metrics) map[string]float64 {
	t.Helper()
	families, err := m.Gather()
	assert.NilError(t, err)
	values := map[string]float64{}
	for _, f := range families {
		for _, s := range f.Metric {
			switch f.GetType() {
			case dto.MetricType_GAUGE:
				values[nameOf(f, s)] = s.GetGauge().GetValue()
			case dto.MetricType_COUNTER:
				values[nameOf(f, s)] = s.GetCounter().GetValue()
			}
		}
	}
	return values
}

func nameOf(f *dto.MetricFamily, s *dto.Metric) string {
	var b strings.Builder
	for i, l := range s.Label {
		b.WriteString([]string{"{", ","}[min(i, 1)] + l.GetName() + `="` + l.GetValue() + `"`)
	}
	if len(s.Label) > 0 {
		b.WriteString("}")
	}
	return f.GetName() + b.String()
}
