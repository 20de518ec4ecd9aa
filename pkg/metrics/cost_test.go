package metrics_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/core/preemptor"
	"github.com/narwhal-scheduler/narwhal/pkg/metrics"
	"github.com/narwhal-scheduler/narwhal/pkg/metrics/stage"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// largeView is a large partition: so many leaf queues, in teams of ten with limits and
// guarantees, each with two applications of five asks and ten allocations, and so
// many nodes with four allocations.
func largeView(queues, nodes int) *api.View {
	root := &api.QueueView{Path: "root", Used: resources.Amounts{1, 1}}
	v := &api.View{Root: root, Capacity: resources.Amounts{1, 1}}
	limits, amounts := resources.Limits{100_000, 100 << 30}, resources.Amounts{2000, 4 << 30}
	for i := range queues {
		if i%10 == 0 {
			root.Queues = append(root.Queues, &api.QueueView{
				Path: api.QueuePath(fmt.Sprintf("root.team-%04d", i/10)), Max: limits, Guaranteed: amounts, Used: amounts, Pending: amounts,
			})
		}
		team := root.Queues[i/10]
		q := &api.QueueView{
			Path: team.Path + api.QueuePath(fmt.Sprintf(".q%d", i%10)), Leaf: true, Max: limits, Guaranteed: amounts, Used: amounts, Pending: amounts,
		}
		team.Queues = append(team.Queues, q)
		for range 2 {
			app := &api.ApplicationView{Queue: q.Path, State: api.Running, Allocations: make([]*api.Allocation, 10)}
			for k := range 5 {
				app.Asks = append(app.Asks, api.AskView{Allocation: new(api.Allocation), Waiting: &api.Waiting{Reason: []api.Reason{api.NoNodeFits, api.QuotaExceeded}[k%2]}})
			}
			v.Applications = append(v.Applications, app)
		}
	}
	for i := range nodes {
		n := &api.NodeView{
			ID: api.NodeID(fmt.Sprintf("node-%05d", i)), Schedulable: true,
			Capacity: resources.Amounts{64_000, 256 << 30}, Allocated: resources.Amounts{int64(i*977) % 64_000, int64(i) << 24},
		}
		for k := range 4 {
			n.Allocations = append(n.Allocations, &api.Allocation{Key: api.AllocationKey(fmt.Sprintf("%d-%d", i, k))})
		}
		if i%10 == 0 {
			n.Evictions = []api.Eviction{{Key: n.Allocations[1].Key}}
		}
		v.Nodes = append(v.Nodes, n)
	}
	return v
}

func withLargeView(t testing.TB, queues, nodes int) *metrics.Metrics {
	m := metrics.New()
	m.Watch(fixedViews{"[rm]default": largeView(queues, nodes)}, usual(t))
	return m
}

// TestSeriesOfQueues pins how many series a queue costs, which is what a
// monitoring system pays for, and that nodes, applications and asks cost none.
func TestSeriesOfQueues(t *testing.T) {
	count := func(queues, nodes int) int {
		n := 0
		for name := range seriesOf(t, withLargeView(t, queues, nodes)) {
			if name[0] == 'n' || name[0] == 'y' {
				n++
			}
		}
		return n
	}
	small := count(10, 10)
	assert.Equal(t, count(20, 10)-small, 10*25+16, "ten leaves of 25 series and their parent of 16")
	assert.Equal(t, count(10, 1000), small)
}

// TestGatherMakesLittleGarbage pins the cost of a series without timing it. The
// parts of a series share one allocation with 255 others.
func TestGatherMakesLittleGarbage(t *testing.T) {
	allocations := func(queues int) float64 {
		m := withLargeView(t, queues, 100)
		return testing.AllocsPerRun(5, func() {
			_, err := m.Gather()
			assert.NilError(t, err)
		})
	}
	perQueue := (allocations(1000) - allocations(100)) / 900
	assert.Assert(t, perQueue < 8, "%.1f allocations for each queue of 23 series", perQueue)
}

// BenchmarkGather is what a scrape of 1,000 queues and 5,000 nodes costs before
// it is written, BenchmarkScrape with that.
func BenchmarkGather(b *testing.B) {
	m := withLargeView(b, 1000, 5000)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := m.Gather(); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkScrape(b *testing.B) {
	handler := withLargeView(b, 1000, 5000).Handler()
	for _, encoding := range []string{"identity", "gzip"} {
		b.Run(encoding, func(b *testing.B) {
			request := httptest.NewRequest(http.MethodGet, "/metrics", nil)
			request.Header.Set("Accept-Encoding", encoding)
			b.ReportAllocs()
			for b.Loop() {
				w := httptest.NewRecorder()
				handler.ServeHTTP(w, request)
				n, _ := io.Copy(io.Discard, w.Body)
				b.ReportMetric(float64(n), "bytes")
			}
		})
	}
}

// batch is a step with events of every sort that is counted.
func batch() api.Effects {
	return api.Effects{
		api.Placed{},
		&api.Ended{}, &api.AllocationRejected{}, &api.ApplicationAccepted{}, &api.ApplicationRejected{},
		&api.ApplicationChanged{State: api.Completed}, &api.NodeAdded{}, &api.NodeRejected{}, &api.Unschedulable{},
		&api.EvictionRequested{Allocation: new(api.Allocation)}, &api.Claimed{Plan: new(preemptor.Decision)}, &api.ClaimEnded{Nominated: true, End: api.EndOfRoom},
		&api.Reconfigured{},
	}
}

// TestCountMakesNoGarbage pins the hot path: it is on the way of every decision.
func TestCountMakesNoGarbage(t *testing.T) {
	m, effects := metrics.New(), batch()
	assert.Equal(t, testing.AllocsPerRun(100, func() { m.Count("[rm]default", effects) }), 0.0)
	assert.Equal(t, testing.AllocsPerRun(100, func() { m.Observe(stage.Apply, time.Microsecond) }), 0.0)
}

func BenchmarkCount(b *testing.B) {
	m := metrics.New()
	one, many := api.Effects{api.Placed{}}, api.Effects{}
	for len(many) < 256 {
		many = append(many, api.Placed{})
	}
	for name, effects := range map[string]api.Effects{"1": one, "256": many} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				m.Count("[rm]default", effects)
			}
		})
	}
}

func BenchmarkObserve(b *testing.B) {
	m := metrics.New()
	for b.Loop() {
		m.Observe(stage.Decision, 12*time.Microsecond)
	}
}
