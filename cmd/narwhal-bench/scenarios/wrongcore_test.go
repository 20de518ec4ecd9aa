package scenarios

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/api"
	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"
	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/cmd/narwhal-bench/cores"
)

// A stutterer is a core that tells every placement twice, the second time on another node.
type stutterer struct {
	api.SchedulerAPI
	mu   sync.Mutex
	runs map[string]bool // what it was told to run, of which there are echoes
}

func (s *stutterer) RegisterResourceManager(r *si.RegisterResourceManagerRequest, callback api.ResourceManagerCallback) (*si.RegisterResourceManagerResponse, error) {
	return s.SchedulerAPI.RegisterResourceManager(r, twice{callback, s})
}

func (s *stutterer) UpdateAllocation(r *si.AllocationRequest) error {
	s.mu.Lock()
	for _, a := range r.Allocations {
		if a.NodeID != "" {
			s.runs[a.AllocationKey] = true
		}
	}
	s.mu.Unlock()
	return s.SchedulerAPI.UpdateAllocation(r)
}

// twice is the callback that a stutterer is given.
type twice struct {
	api.ResourceManagerCallback
	core *stutterer
}

func (c twice) UpdateAllocation(r *si.AllocationResponse) error {
	again := new(si.AllocationResponse)
	c.core.mu.Lock()
	for _, a := range r.New {
		if !c.core.runs[a.AllocationKey] {
			again.New = append(again.New, &si.Allocation{AllocationKey: a.AllocationKey, NodeID: "elsewhere"})
		}
	}
	c.core.mu.Unlock()
	if err := c.ResourceManagerCallback.UpdateAllocation(again); err != nil {
		return err
	}
	return c.ResourceManagerCallback.UpdateAllocation(r)
}

// Every scenario finds a core that places pods twice, and on a node that there is not.
func TestEveryScenarioChecks(t *testing.T) {
	dir := t.TempDir()
	nodes, pods := filepath.Join(dir, "nodes"), filepath.Join(dir, "pods")
	assert.NilError(t, os.WriteFile(nodes, []byte("sn,cpu_milli,memory_mib,gpu\nn,1000,1000,0\n"), 0o600))
	assert.NilError(t, os.WriteFile(pods, []byte("name,cpu_milli,memory_mib,num_gpu,gpu_milli\np,1,1,0,0\n"), 0o600))
	for _, c := range Small() {
		t.Run(c.Name(), func(t *testing.T) {
			c.NodeList, c.PodList = nodes, pods
			c.Size.Watch = min(c.Size.Watch, 200*time.Millisecond)
			core, err := cores.Start(cores.Narwhal)
			assert.NilError(t, err)
			core.SchedulerAPI = &stutterer{SchedulerAPI: core.SchedulerAPI, runs: map[string]bool{}}
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			i := slices.IndexFunc(all, func(s scenario) bool { return s.name == c.Scenario })
			faults := strings.Join(all[i].playOn(ctx, core, c).Faults, "; ")
			assert.Assert(t, strings.Contains(faults, "elsewhere"), "%q", faults)
		})
	}
}
