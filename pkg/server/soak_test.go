package server_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"
	"go.uber.org/zap"
	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/internal/seeds"
	"github.com/narwhal-scheduler/narwhal/pkg/recording"
	"github.com/narwhal-scheduler/narwhal/pkg/scheduler"
	"github.com/narwhal-scheduler/narwhal/pkg/server"
)

// A lasting is a cluster that is in use for months: each hour every team starts an application with pods of a few hours, which want
// more than there is, so that some are evicted. A node goes each day and comes back, and each week the configuration changes.
type lasting struct {
	silent
	t      *testing.T
	s      *server.Server
	mu     sync.Mutex
	ends   []*si.AllocationRelease
	placed int
}

const (
	teams, podsPerHour, nodesOfTeams = 4, 110, 100
	hoursOfPods                      = 3
)

func (l *lasting) UpdateNode(*si.NodeResponse) error               { return nil }
func (l *lasting) UpdateApplication(*si.ApplicationResponse) error { return nil }
func (l *lasting) Predicates(*si.PredicatesArgs) error             { return nil }
func (l *lasting) SendEvent([]*si.EventRecord)                     {}
func (l *lasting) PreemptionPredicates(*si.PreemptionPredicatesArgs) *si.PreemptionPredicatesResponse {
	return nil
}
func (l *lasting) UpdateContainerSchedulingState(*si.UpdateContainerSchedulingStateRequest) {}

// UpdateAllocation notes what runs, and what is to end.
func (l *lasting) UpdateAllocation(response *si.AllocationResponse) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.placed += len(response.New)
	for _, released := range response.Released {
		if released.TerminationType == si.TerminationType_PREEMPTED_BY_SCHEDULER {
			l.ends = append(l.ends, released)
		}
	}
	return nil
}

// released releases some pods of an application.
func (l *lasting) release(releases []*si.AllocationRelease) {
	assert.NilError(l.t, l.s.UpdateAllocation(&si.AllocationRequest{RmID: "rm", Releases: &si.AllocationReleasesRequest{AllocationsToRelease: releases}}))
	synctest.Wait()
}

func (l *lasting) node(i int, action si.NodeInfo_ActionFromRM) {
	n := &si.NodeInfo{NodeID: fmt.Sprintf("node-%d", i), Action: action}
	if action == si.NodeInfo_CREATE {
		n.SchedulableResource = &si.Resource{Resources: map[string]*si.Quantity{"vcore": {Value: 16_000}}}
	}
	assert.NilError(l.t, l.s.UpdateNode(&si.NodeRequest{RmID: "rm", Nodes: []*si.NodeInfo{n}}))
	synctest.Wait()
}

// hour plays one.
func (l *lasting) hour(h int) {
	for team := range teams {
		app := fmt.Sprintf("app-%d-%d", team, h)
		l.send(&si.ApplicationRequest{RmID: "rm", New: []*si.AddApplicationRequest{{ApplicationID: app, QueueName: fmt.Sprint("root.team-", team), PartitionName: "default", Ugi: &si.UserGroupInformation{User: fmt.Sprint("user-", h%40)}}}})
		asks := make([]*si.Allocation, podsPerHour)
		for i := range asks {
			asks[i] = &si.Allocation{
				AllocationKey: fmt.Sprintf("%s-%d", app, i), ApplicationID: app, PartitionName: "default", Priority: int32(h % 3),
				ResourcePerAlloc: &si.Resource{Resources: map[string]*si.Quantity{"vcore": {Value: int64(500 + 500*(i%3))}}},
			}
		}
		assert.NilError(l.t, l.s.UpdateAllocation(&si.AllocationRequest{RmID: "rm", Allocations: asks}))
		if gone := h - hoursOfPods - team; gone >= 0 {
			l.send(&si.ApplicationRequest{RmID: "rm", Remove: []*si.RemoveApplicationRequest{{ApplicationID: fmt.Sprintf("app-%d-%d", team, gone), PartitionName: "default"}}})
		}
	}
	if h%24 == 5 {
		l.node(h/24%nodesOfTeams, si.NodeInfo_DECOMISSION)
	}
	if h%24 == 7 {
		l.node(h/24%nodesOfTeams, si.NodeInfo_CREATE)
	}
	if h%(7*24) == 100 {
		l.configure(h)
	}
	for range 6 {
		time.Sleep(10 * time.Minute)
		synctest.Wait()
		l.mu.Lock()
		ends := l.ends
		l.ends = nil
		l.mu.Unlock()
		if len(ends) > 0 {
			l.release(ends)
		}
	}
}

func (l *lasting) send(r *si.ApplicationRequest) {
	assert.NilError(l.t, l.s.UpdateApplication(r))
	synctest.Wait()
}

// configure gives the teams guarantees that differ by the week.
func (l *lasting) configure(h int) {
	var queues []string
	for team := range teams {
		queues = append(queues, fmt.Sprintf("{name: team-%d, resources: {guaranteed: {vcore: %d}}}", team, 5+(h/168+team)%7))
	}
	text := "partitions: [{name: default, queues: [{name: root, queues: [" + strings.Join(queues, ", ") + "]}]}]"
	assert.NilError(l.t, l.s.UpdateConfiguration(&si.UpdateConfigurationRequest{RmID: "rm", Config: text}))
	synctest.Wait()
}

// A size is what a process keeps.
type size struct {
	heap       uint64
	goroutines int
	recorded   int64
}

func sizeNow(t *testing.T, directory string) (s size) {
	t.Helper()
	for range 2 { // what has a finalizer is collected by the second
		runtime.GC()
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	s.heap, s.goroutines = m.HeapAlloc, runtime.NumGoroutine()
	assert.NilError(t, filepath.Walk(directory, func(_ string, info os.FileInfo, err error) error {
		if err == nil && !info.IsDir() {
			s.recorded += info.Size()
		}
		return nil
	}))
	return s
}

// A scheduler that is in use for months, with everything that is kept for readers, keeps no more in the end than before. Within a day
// what is bounded is not full yet, so that the heap is looked at in make torture, which plays 60 of them.
func TestSoak(t *testing.T) {
	if testing.Short() {
		t.Skip("it is played without the race detector")
	}
	days := 1
	_, _, torture := seeds.Torture(t)
	if torture {
		days = 60
	}
	directory := t.TempDir()
	const recordedMax = 1 << 20
	synctest.Test(t, func(t *testing.T) {
		r, err := recording.New(recording.Config{Directory: directory, SizeMax: recordedMax})
		assert.NilError(t, err)
		s, err := server.New(server.Config{Scheduler: scheduler.Config{Recorder: r, Logger: zap.NewNop(), SettleDelay: -1}})
		assert.NilError(t, err)
		ctx, end := context.WithCancel(t.Context())
		go scheduler.KeepHistory(ctx, s.Scheduler)
		defer func() {
			end()
			s.Stop()
			r.Close()
		}()
		l := &lasting{t: t, s: s}
		_, err = s.RegisterResourceManager(&si.RegisterResourceManagerRequest{RmID: "rm"}, l)
		assert.NilError(t, err)
		l.configure(0)
		for i := range nodesOfTeams {
			l.node(i, si.NodeInfo_CREATE)
		}
		var sizes []size
		for h := range 24*days + 1 {
			if l.hour(h); h%24 == 0 {
				sizes = append(sizes, sizeNow(t, directory))
			}
		}
		half, now := sizes[days/2], sizes[days]
		t.Logf("%d days, %d pods placed: %+v, after half of it %+v", days, l.placed, now, half)
		assert.Assert(t, l.placed > days*9000, "%d pods placed", l.placed)
		assert.Assert(t, !torture || now.heap < half.heap+half.heap/20, "the heap grew from %d to %d bytes", half.heap, now.heap)
		assert.Assert(t, now.goroutines <= half.goroutines)
		assert.Assert(t, now.recorded < 2*recordedMax, "%d bytes are recorded", now.recorded)
		assert.Equal(t, r.Lost(), uint64(0))
	})
	d, err := recording.Read(directory)
	assert.NilError(t, err)
	assert.Assert(t, len(d.Segments["[rm]default"]) > 3)
}
