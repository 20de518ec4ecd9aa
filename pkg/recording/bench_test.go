package recording_test

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"
	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/core"
	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/recording"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
	"github.com/narwhal-scheduler/narwhal/pkg/scheduler"
)

// A listener counts placements.
type listener struct {
	placed, goal int
	reached      chan struct{}
}

func (l *listener) UpdateAllocation(response *si.AllocationResponse) error {
	if l.placed += len(response.New); l.placed == l.goal {
		close(l.reached)
	}
	return nil
}

func (l *listener) UpdateApplication(*si.ApplicationResponse) error { return nil }
func (l *listener) UpdateNode(*si.NodeResponse) error               { return nil }
func (l *listener) Predicates(*si.PredicatesArgs) error             { return nil }
func (l *listener) SendEvent([]*si.EventRecord)                     {}
func (l *listener) PreemptionPredicates(*si.PreemptionPredicatesArgs) *si.PreemptionPredicatesResponse {
	return nil
}
func (l *listener) UpdateContainerSchedulingState(*si.UpdateContainerSchedulingStateRequest) {}

// place has a scheduler place so many pods, and returns how long that took.
func place(b *testing.B, config scheduler.Config, nodes, pods int) time.Duration {
	b.Helper()
	s, err := scheduler.New(config)
	assert.NilError(b, err)
	defer s.Stop()
	heard := &listener{goal: pods, reached: make(chan struct{})}
	_, err = s.RegisterResourceManager(&si.RegisterResourceManagerRequest{RmID: "rm"}, heard)
	assert.NilError(b, err)
	capacity := &si.Resource{Resources: map[string]*si.Quantity{"vcore": {Value: 64000}, "memory": {Value: 256 << 30}}}
	infos := make([]*si.NodeInfo, nodes)
	for i := range infos {
		infos[i] = &si.NodeInfo{NodeID: fmt.Sprintf("node-%05d", i), Action: si.NodeInfo_CREATE, SchedulableResource: capacity, Attributes: map[string]string{"zone": fmt.Sprint(i % 3)}}
	}
	assert.NilError(b, s.UpdateNode(&si.NodeRequest{RmID: "rm", Nodes: infos}))
	assert.NilError(b, s.UpdateApplication(&si.ApplicationRequest{RmID: "rm", New: []*si.AddApplicationRequest{{ApplicationID: "app", QueueName: "root.default", Ugi: &si.UserGroupInformation{User: "user"}}}}))
	_, err = s.View(context.Background(), "[rm]default")
	assert.NilError(b, err)
	var requests []*si.AllocationRequest
	for i := 0; i < pods; i += 100 {
		asks := make([]*si.Allocation, 100)
		for k := range asks {
			asks[k] = &si.Allocation{
				AllocationKey: fmt.Sprintf("11111111-2222-3333-4444-%012d", i+k), ApplicationID: "app", ResourcePerAlloc: &si.Resource{Resources: map[string]*si.Quantity{"vcore": {Value: int64(1000 + (i+k)%7*100)}, "memory": {Value: 1 << 30}}},
				AllocationTags: map[string]string{"kubernetes.io/meta/podName": fmt.Sprintf("pod-%06d", i+k), "kubernetes.io/meta/namespace": "default", "creationTime": "1700000000"},
			}
		}
		requests = append(requests, &si.AllocationRequest{RmID: "rm", Allocations: asks})
	}
	begin := time.Now()
	for _, r := range requests {
		assert.NilError(b, s.UpdateAllocation(r))
	}
	<-heard.reached
	return time.Since(begin)
}

// BenchmarkPlacements places pods with questions about each, plain and recorded in turn.
func BenchmarkPlacements(b *testing.B) {
	const nodes, pods = 1000, 30000
	var plain, recorded time.Duration
	for range b.N {
		plain += place(b, scheduler.Config{}, nodes, pods)
		r, err := recording.New(recording.Config{Directory: b.TempDir()})
		assert.NilError(b, err)
		recorded += place(b, scheduler.Config{Recorder: r}, nodes, pods)
		r.Close()
		assert.Equal(b, r.Lost(), uint64(0))
	}
	n := float64(b.N) * pods
	b.ReportMetric(n/plain.Seconds(), "plain/s")
	b.ReportMetric(n/recorded.Seconds(), "recorded/s")
	b.ReportMetric(100*(recorded.Seconds()/plain.Seconds()-1), "%slower")
	b.ReportMetric(0, "ns/op")
}

// BenchmarkOwner measures the processor time of the goroutine to which a partition belongs, for one pod that comes and is placed, plain
// and recorded in turn: the rest is done by another.
func BenchmarkOwner(b *testing.B) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	const pods = 30000
	var plain, recorded time.Duration
	for range b.N {
		plain += pod(b, nil, pods)
		r, err := recording.New(recording.Config{Directory: b.TempDir(), StepsMax: 1 << 30})
		assert.NilError(b, err)
		recorded += pod(b, r, pods)
		r.Close()
	}
	b.ReportMetric(float64(plain.Nanoseconds())/float64(b.N)/pods, "plain-ns/pod")
	b.ReportMetric(float64(recorded.Nanoseconds())/float64(b.N)/pods, "recorded-ns/pod")
	b.ReportMetric(0, "ns/op")
}

// pod has a partition place pods in batches, and returns the processor time of the thread.
func pod(b *testing.B, r *recording.Recorder, pods int) time.Duration {
	b.Helper()
	kinds := new(resources.Kinds)
	o, c := api.Options{Partition: partition, Kinds: kinds}, api.Config{Root: api.QueueConfig{Name: "root", Queues: []api.QueueConfig{{Name: "default"}}}}
	o.Feasible = func(api.AllocationKey, api.NodeID, bool) error { return nil }
	now := time.Now()
	apply, schedule := (*core.Partition).Apply, (*core.Partition).Schedule
	p := core.NewPartition(o, c)
	if r != nil {
		var steps scheduler.Steps
		p, steps = r.Begin(now, o, c)
		defer steps.End()
		apply = func(_ *core.Partition, now time.Time, c api.Command) api.Effects { return steps.Apply(now, c) }
		schedule = func(_ *core.Partition, now time.Time) (api.Effects, bool) { return steps.Schedule(now) }
	}
	capacity, _ := kinds.Amounts(map[string]int64{"vcore": 64000, "memory": 256 << 30})
	small, _ := kinds.Amounts(map[string]int64{"vcore": 1000, "memory": 1 << 30})
	for i := range 1000 {
		apply(p, now, api.AddNode{ID: api.NodeID(fmt.Sprintf("node-%05d", i)), Capacity: capacity})
	}
	apply(p, now, api.AddApplication{ID: "app", Queue: "root.default"})
	asks := make([]api.Command, pods)
	for i := range asks {
		asks[i] = api.AddAllocation{Allocation: &api.Allocation{
			Key: api.AllocationKey(fmt.Sprintf("11111111-2222-3333-4444-%012d", i)), Application: "app", Amounts: small, Created: now,
			Tags: map[string]string{"kubernetes.io/meta/podName": fmt.Sprintf("pod-%06d", i), "kubernetes.io/meta/namespace": "default"},
		}}
	}
	runtime.GC()
	begin := threadTime(b)
	for i, ask := range asks {
		apply(p, now, ask)
		if i%100 == 99 {
			for more := true; more; {
				_, more = schedule(p, now)
			}
		}
	}
	return threadTime(b) - begin
}

func threadTime(b *testing.B) time.Duration {
	b.Helper()
	var used syscall.Rusage
	assert.NilError(b, syscall.Getrusage(1, &used)) // of the thread
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

// BenchmarkMoment reaches the end of a segment of a large cluster: it reads the image, and plays the steps.
func BenchmarkMoment(b *testing.B) {
	const nodes, pods = 5000, 100000
	directory := b.TempDir()
	kinds := new(resources.Kinds)
	r, err := recording.New(recording.Config{Directory: directory, StepsMax: 1 << 30, SegmentMax: 1 << 40, SegmentAge: time.Hour})
	assert.NilError(b, err)
	began := time.Now()
	_, steps := r.Begin(began, api.Options{Partition: partition, Kinds: kinds}, api.Config{Root: api.QueueConfig{Name: "root", Queues: []api.QueueConfig{{Name: "default"}}}})
	capacity, err := kinds.Amounts(map[string]int64{"vcore": 64000, "memory": 256 << 30})
	assert.NilError(b, err)
	small, err := kinds.Amounts(map[string]int64{"vcore": 1000, "memory": 1 << 30})
	assert.NilError(b, err)
	for i := range nodes {
		steps.Apply(began, api.AddNode{ID: api.NodeID(fmt.Sprintf("node-%05d", i)), Capacity: capacity})
	}
	steps.Apply(began, api.AddApplication{ID: "app", Queue: "root.default"})
	ask := func(i int) {
		at := began.Add(time.Duration(i) * time.Millisecond)
		steps.Apply(at, api.AddAllocation{Allocation: &api.Allocation{
			Key: api.AllocationKey(fmt.Sprintf("11111111-2222-3333-4444-%012d", i)), Application: "app", Amounts: small,
			Tags: map[string]string{"kubernetes.io/meta/podName": fmt.Sprintf("pod-%06d", i), "kubernetes.io/meta/namespace": "default"},
		}})
		steps.Schedule(at)
	}
	for i := range pods {
		ask(i)
	}
	steps.(interface{ Renew() }).Renew()
	renewing := time.Now()
	ask(pods)
	renewed := time.Since(renewing)
	for i := range 30000 {
		ask(pods + 1 + i)
	}
	steps.End()
	r.Close()
	d, err := recording.Read(directory)
	assert.NilError(b, err)
	list := d.Segments[partition]
	if err := os.Remove(strings.TrimSuffix(list[len(list)-1].Path, ".recording") + ".image"); err != nil {
		assert.ErrorIs(b, err, os.ErrNotExist)
	}
	imaging := time.Now()
	assert.NilError(b, recording.MakeImage(list[len(list)-1].Path))
	took := time.Since(imaging)
	b.ResetTimer()
	b.ReportMetric(float64(renewed.Milliseconds()), "ms/renewal") // for which scheduling waits
	b.ReportMetric(float64(took.Milliseconds()), "ms/image")      // made beside it
	for range b.N {
		begin := time.Now()
		p, err := recording.Open(list[len(list)-1].Path)
		assert.NilError(b, err)
		b.ReportMetric(float64(time.Since(begin).Milliseconds()), "ms/restore")
		assert.NilError(b, p.PlayTo(began.Add(time.Hour), nil))
		b.ReportMetric(float64(p.Steps), "steps")
		p.Close()
	}
}
