package recording_test

import (
	"fmt"
	"io/fs"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/recording"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// A day is 24 hours of a cluster of 5,000 nodes on which 50,000 pods run: one comes and one ends each second. A segment is as old
// as that of a recorder at most, and begins with an image, which in real time is made beside.
const (
	dayNodes  = 5000
	dayPods   = 50000
	dayLength = 24 * time.Hour
	dayAge    = 10 * time.Minute
)

// recordDay records a day, in virtual time.
func recordDay(b *testing.B, directory string, began time.Time) {
	b.Helper()
	kinds := new(resources.Kinds)
	r, err := recording.New(recording.Config{Directory: directory, SizeMax: 1 << 40, StepsMax: 1 << 30, SegmentMax: 1 << 40, SegmentAge: 2 * dayLength})
	assert.NilError(b, err)
	defer r.Close()
	queues := make([]api.QueueConfig, 20)
	for i := range queues {
		queues[i].Name = fmt.Sprintf("team-%02d", i)
	}
	p, steps := r.Begin(began, api.Options{Partition: partition, Kinds: kinds}, api.Config{Root: api.QueueConfig{Name: "root", Queues: queues}})
	defer steps.End()
	capacity, err := kinds.Amounts(map[string]int64{"vcore": 64000, "memory": 256 << 30})
	assert.NilError(b, err)
	small, err := kinds.Amounts(map[string]int64{"vcore": 4000, "memory": 16 << 30})
	assert.NilError(b, err)
	for i := range dayNodes {
		steps.Apply(began, api.AddNode{ID: api.NodeID(fmt.Sprintf("node-%05d", i)), Capacity: capacity})
	}
	for i := range queues {
		steps.Apply(began, api.AddApplication{ID: api.ApplicationID(fmt.Sprintf("app-%02d", i)), Queue: api.QueuePath("root." + queues[i].Name), User: "user"})
	}
	key := func(i int) api.AllocationKey {
		return api.AllocationKey(fmt.Sprintf("11111111-2222-3333-4444-%012d", i))
	}
	comes := func(at time.Time, i int) {
		steps.Apply(at, api.AddAllocation{Allocation: &api.Allocation{
			Key: key(i), Application: api.ApplicationID(fmt.Sprintf("app-%02d", i%len(queues))), Amounts: small, Created: at,
			Tags: map[string]string{"kubernetes.io/meta/podName": fmt.Sprintf("pod-%06d", i), "kubernetes.io/meta/namespace": "default"},
		}})
		steps.Schedule(at)
	}
	for i := range dayPods {
		comes(began, i)
	}
	renewed := began
	for second := range int(dayLength / time.Second) {
		at := began.Add(time.Duration(second) * time.Second)
		if at.Sub(renewed) >= dayAge {
			recording.RenewAfresh(steps)
			renewed = at
		}
		steps.Apply(at, api.ReleaseAllocation{Application: api.ApplicationID(fmt.Sprintf("app-%02d", second%len(queues))), Key: key(second)})
		comes(at, dayPods+second)
		if due, is := p.Due(); is && !due.After(at) {
			steps.Schedule(at)
		}
	}
}

// BenchmarkDay reaches moments of a day that were drawn by chance, up to the view of them, and says how much a day takes on the disk.
//
//	go test ./pkg/recording -run '^$' -bench Day -benchtime 20x -timeout 30m
func BenchmarkDay(b *testing.B) {
	directory, began := b.TempDir(), time.Date(2026, 1, 2, 0, 0, 0, 0, time.UTC)
	recordDay(b, directory, began)
	d, err := recording.Read(directory)
	assert.NilError(b, err)
	var bytes int64
	assert.NilError(b, filepath.WalkDir(directory, func(_ string, e fs.DirEntry, err error) error {
		if info, infoErr := e.Info(); err == nil && infoErr == nil && !e.IsDir() {
			bytes += info.Size()
		}
		return err
	}))
	random := rand.New(rand.NewPCG(1, 2))
	var took []time.Duration
	b.ResetTimer()
	for range b.N {
		at := began.Add(time.Duration(random.Int64N(int64(dayLength))))
		begin := time.Now()
		s, is := d.Before(partition, at)
		assert.Assert(b, is)
		p, err := recording.Open(s.Path)
		assert.NilError(b, err)
		assert.NilError(b, p.PlayTo(at, nil))
		assert.Assert(b, len(p.Partition.View().Nodes) == dayNodes)
		took = append(took, time.Since(begin))
		p.Close()
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Milliseconds()), "ms/median")
	b.ReportMetric(float64(took[len(took)-1].Milliseconds()), "ms/most")
	b.ReportMetric(float64(bytes>>20), "MiB")
	b.ReportMetric(float64(len(d.Segments[partition])), "segments")
	b.ReportMetric(0, "ns/op")
}
