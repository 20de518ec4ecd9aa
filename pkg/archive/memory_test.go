package archive

import (
	"runtime"
	"testing"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"
	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/events"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// TestNothingIsKeptOfPods pins what a pod that runs costs a book and a recorder:
// nothing. The limit is far below an entry of a map.
func TestNothingIsKeptOfPods(t *testing.T) {
	const pods, bytesMax = 100_000, 2
	s := newStage(t, Config{})
	placed := s.fill(pods)
	kinds := new(resources.Kinds)
	_, err := kinds.Intern(resources.VCore)
	assert.NilError(t, err)
	other, recorder := newStage(t, Config{}), events.NewRecorder(kinds)
	for i := 0; i < pods; i += 1000 {
		other.begin(placed[i].(api.Placed).Application)
	}
	var records []*si.EventRecord
	before := heap()
	for i := 0; i < pods; i += 1000 {
		step := events.Step{Now: s.now, Effects: placed[i : i+1000]}
		other.Observe(step)
		records = recorder.Record(records[:0], step)
	}
	clear(records)
	used := heap() - before
	assert.Equal(t, other.counts.Containers, int64(pods))
	assert.Assert(t, used < bytesMax*pods, "%d bytes for %d pods", used, pods)
	runtime.KeepAlive(recorder)
	runtime.KeepAlive(placed)
}

func heap() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
