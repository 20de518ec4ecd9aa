package webservice_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"
	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/archive"
	"github.com/narwhal-scheduler/narwhal/pkg/events"
	"github.com/narwhal-scheduler/narwhal/pkg/metrics"
	"github.com/narwhal-scheduler/narwhal/pkg/scheduler"
	"github.com/narwhal-scheduler/narwhal/pkg/webservice"
)

// The scheduler is what a service needs, and holds readers back for what their answers
// cost.
var (
	_ webservice.Views            = (*scheduler.Scheduler)(nil)
	_ webservice.ReadCostReporter = (*scheduler.Scheduler)(nil)
)

// A tenant is a resource manager that counts what is placed.
type tenant struct {
	placed, goal atomic.Int64
	full         chan struct{}
}

func (m *tenant) UpdateAllocation(response *si.AllocationResponse) error {
	if n := int64(len(response.New)); n > 0 && m.placed.Add(n) == m.goal.Load() {
		m.full <- struct{}{}
	}
	return nil
}

func (m *tenant) UpdateApplication(*si.ApplicationResponse) error { return nil }
func (m *tenant) UpdateNode(*si.NodeResponse) error               { return nil }
func (m *tenant) Predicates(*si.PredicatesArgs) error             { return nil }
func (m *tenant) SendEvent([]*si.EventRecord)                     {}
func (m *tenant) PreemptionPredicates(*si.PreemptionPredicatesArgs) *si.PreemptionPredicatesResponse {
	return nil
}
func (m *tenant) UpdateContainerSchedulingState(*si.UpdateContainerSchedulingStateRequest) {}

// A site is a cluster behind REST that is filled in waves: an application comes
// with all its pods, and goes when they are placed.
type site struct {
	testing.TB
	scheduler *scheduler.Scheduler
	tenant    *tenant
	handler   http.Handler
	pods      int // of a wave
}

// openSite starts a scheduler with everything that can be seen of it.
func openSite(tb testing.TB, nodes, pods int) *site {
	tb.Helper()
	s := &site{TB: tb, pods: pods, tenant: &tenant{full: make(chan struct{}, 1)}}
	history, err := events.NewHistory("load", events.Config{})
	assert.NilError(tb, err)
	past, err := archive.New(archive.Config{})
	assert.NilError(tb, err)
	counts := metrics.New()
	s.scheduler, err = scheduler.New(scheduler.Config{SkipPredicates: true, Events: history, Archive: past, Metrics: counts})
	assert.NilError(tb, err)
	tb.Cleanup(s.scheduler.Stop)
	counts.Watch(s.scheduler, s.scheduler.Kinds())
	service, err := webservice.New(webservice.Config{
		Views: s.scheduler, Kinds: s.scheduler.Kinds(), Events: history, Archive: past, Metrics: counts.Handler(),
	})
	assert.NilError(tb, err)
	s.handler = service.Handler()

	_, err = s.scheduler.RegisterResourceManager(&si.RegisterResourceManagerRequest{RmID: "rm"}, s.tenant)
	assert.NilError(tb, err)
	request := &si.NodeRequest{RmID: "rm"}
	for i := range nodes {
		request.Nodes = append(request.Nodes, &si.NodeInfo{
			NodeID: fmt.Sprintf("node-%04d", i), Action: si.NodeInfo_CREATE, SchedulableResource: amounts(int64(2 * pods / nodes * 1000)),
		})
	}
	assert.NilError(tb, s.scheduler.UpdateNode(request))
	return s
}

func amounts(vcore int64) *si.Resource {
	return &si.Resource{Resources: map[string]*si.Quantity{"vcore": {Value: vcore}, "memory": {Value: vcore << 20}}}
}

// wave places all pods of an application, says how long that took, and removes it.
func (s *site) wave(number int) time.Duration {
	s.Helper()
	app := fmt.Sprintf("app-%d", number)
	assert.NilError(s, s.scheduler.UpdateApplication(&si.ApplicationRequest{RmID: "rm", New: []*si.AddApplicationRequest{{
		ApplicationID: app, QueueName: "root.default", Ugi: &si.UserGroupInformation{User: "anna"},
	}}}))
	var requests []*si.AllocationRequest
	for first := 0; first < s.pods; first += 1000 {
		request := &si.AllocationRequest{RmID: "rm"}
		for i := first; i < min(first+1000, s.pods); i++ {
			request.Allocations = append(request.Allocations, &si.Allocation{
				AllocationKey: fmt.Sprintf("%s/%d", app, i), ApplicationID: app, ResourcePerAlloc: amounts(1000),
			})
		}
		requests = append(requests, request)
	}
	s.tenant.placed.Store(0)
	s.tenant.goal.Store(int64(s.pods))
	began := time.Now()
	for _, r := range requests {
		assert.NilError(s, s.scheduler.UpdateAllocation(r))
	}
	<-s.tenant.full
	took := time.Since(began)
	assert.NilError(s, s.scheduler.UpdateApplication(&si.ApplicationRequest{RmID: "rm", Remove: []*si.RemoveApplicationRequest{{ApplicationID: app}}}))
	_, err := s.scheduler.View(s.Context(), "[rm]default")
	assert.NilError(s, err)
	return took
}

// everything is the paths that a client reads in turn.
var everything = []string{
	"/clusters", "/partitions", "/metrics", "/scheduler/healthcheck", "/scheduler/node-utilizations", "/events/batch?count=100",
	"/partition/default/queues", "/partition/default/queue/root.default", "/partition/default/nodes",
	"/partition/default/nodes?limit=100&fields=nodeID,available", "/partition/default/node/node-0001",
	"/partition/default/applications/active", "/partition/default/applications/completed", "/partition/default/usage/users",
	"/partition/default/applications/rejected", "/partition/default/asks?limit=100", "/partition/default/preemptions", "/history/containers",
}

// A reader asks for everything in turn until it is told to stop, with a pause
// after each answer.
type reader struct {
	pause time.Duration
	nodes []time.Duration // how long the list of all nodes took
}

func (r *reader) read(h http.Handler, from int, stop <-chan struct{}) {
	for i := from; ; i++ {
		path := everything[i%len(everything)]
		began := time.Now()
		w := &discard{header: http.Header{}}
		h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/ws/v1"+path, nil))
		if path == "/partition/default/nodes" {
			r.nodes = append(r.nodes, time.Since(began))
		}
		select {
		case <-stop:
			return
		case <-time.After(r.pause):
		}
	}
}

// TestReadingWhilePodsArePlaced has 64 clients read everything over real
// connections. Whatever they see is of one moment: it adds up.
func TestReadingWhilePodsArePlaced(t *testing.T) {
	s := openSite(t, 100, 2_000)
	server := httptest.NewServer(s.handler)
	defer server.Close()
	stop := make(chan struct{})
	var reading sync.WaitGroup
	for i := range 64 {
		reading.Go(func() {
			for n := i; ; n++ {
				if !look(t, server, everything[n%len(everything)]) {
					return
				}
				select {
				case <-stop:
					return
				default:
				}
			}
		})
	}
	for number := range 2 {
		s.wave(number)
	}
	close(stop)
	reading.Wait()
	assert.NilError(t, s.scheduler.Verify(t.Context(), "[rm]default"))
}

// look reads one path, and reports whether the answer is as it should be.
func look(t *testing.T, server *httptest.Server, path string) bool {
	response, err := server.Client().Get(server.URL + "/ws/v1" + path)
	if !assert.Check(t, err) {
		return false
	}
	defer response.Body.Close()
	content, err := io.ReadAll(response.Body)
	if path == "/metrics" { // few at once
		return assert.Check(t, err) && assert.Check(t, response.StatusCode == http.StatusOK || response.StatusCode == http.StatusServiceUnavailable)
	}
	if path == "/scheduler/healthcheck" && response.StatusCode == http.StatusServiceUnavailable { // on a machine that is busy with other tests
		return assert.Check(t, !bytes.Contains(bytes.Replace(content, []byte(`"Name":"Responsiveness","Succeeded":false`), nil, 1), []byte(`"Succeeded":false`)), "%s", content)
	}
	if !assert.Check(t, err) || !assert.Check(t, response.StatusCode == http.StatusOK, "%s: %s", path, content) {
		return false
	}
	if path != "/partition/default/nodes" {
		return assert.Check(t, json.Valid(content), path)
	}
	var nodes []struct {
		Capacity, Allocated, Available map[string]int64
		Allocations                    []struct{ Resource map[string]int64 }
	}
	if !assert.Check(t, json.Unmarshal(content, &nodes)) {
		return false
	}
	for _, n := range nodes {
		var sum int64
		for _, a := range n.Allocations {
			sum += a.Resource["vcore"]
		}
		if !assert.Check(t, sum == n.Allocated["vcore"] && sum+n.Available["vcore"] == n.Capacity["vcore"], "%+v", n) {
			return false
		}
	}
	return assert.Check(t, len(nodes) == 100)
}

// discard is a client that reads and forgets.
type discard struct{ header http.Header }

func (d *discard) Header() http.Header         { return d.header }
func (d *discard) WriteHeader(int)             {}
func (d *discard) Write(p []byte) (int, error) { return len(p), nil }

// BenchmarkPlaceWhileRead places 50,000 pods on 5,000 nodes while nothing reads and
// while 64 clients read everything, one answer a second each or without a pause. They
// are placed again and again, once every two seconds or without a pause.
func BenchmarkPlaceWhileRead(b *testing.B) {
	for _, c := range []struct {
		name    string
		readers int
		pause   time.Duration // of a reader
		every   time.Duration // pods come
	}{
		{"no-readers", 0, 0, 0},
		{"paced", 64, time.Second, 0},
		{"greedy", 64, 0, 0},
		{"no-readers/seldom", 0, 0, 2 * time.Second},
		{"paced/seldom", 64, time.Second, 2 * time.Second},
		{"greedy/seldom", 64, 0, 2 * time.Second},
	} {
		b.Run(c.name, func(b *testing.B) {
			s := openSite(b, 5_000, 50_000)
			readers := make([]reader, c.readers)
			stop := make(chan struct{})
			var reading sync.WaitGroup
			for i := range readers {
				readers[i].pause = c.pause
				reading.Go(func() { readers[i].read(s.handler, i, stop) })
			}
			var placing time.Duration
			number := 0
			for b.Loop() {
				next := time.After(c.every)
				placing += s.wave(number)
				number++
				<-next
			}
			close(stop)
			reading.Wait()
			b.ReportMetric(float64(number*s.pods)/placing.Seconds(), "placements/s")
			var nodes []time.Duration
			for _, r := range readers {
				nodes = append(nodes, r.nodes...)
			}
			if slices.Sort(nodes); len(nodes) > 0 {
				b.ReportMetric(float64(len(nodes)), "node-lists")
				b.ReportMetric(float64(nodes[len(nodes)/2].Milliseconds()), "nodes-p50-ms")
				b.ReportMetric(float64(nodes[len(nodes)*99/100].Milliseconds()), "nodes-p99-ms")
			}
		})
	}
}
