package archive

import (
	"fmt"
	"testing"
	"time"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"

	"github.com/narwhal-scheduler/narwhal/pkg/core"
	"github.com/narwhal-scheduler/narwhal/pkg/events"
)

// BenchmarkPlacement is what a placement costs the courier, in steps of 256, with
// 100,000 allocations that run and some applications that have ended. That it ends
// again is a benchmark of its own.
//
//	go test -run - -bench . ./pkg/archive
func BenchmarkPlacement(b *testing.B) {
	for _, ended := range []int{0, DefaultMax} {
		b.Run(fmt.Sprint("ended=", ended), func(b *testing.B) {
			const batch, running = 256, 100_000
			s := newStage(b, Config{})
			for i := range ended {
				s.begin(fmt.Sprint("ended", i))
				s.enter(fmt.Sprint("ended", i), core.Completed)
			}
			var effects core.Effects
			var releases []events.Step
			for i := range running {
				if i < 100 {
					s.begin(fmt.Sprint("app", i))
				}
				app, key := fmt.Sprint("app", i/1000), fmt.Sprint("0a1b2c3d-4e5f-6071-8293-", i)
				effects = append(effects, &si.Allocation{ApplicationID: app, AllocationKey: key, NodeID: fmt.Sprint("n", i%5000), ResourcePerAlloc: s.size})
				releases = append(releases, events.Step{Now: s.now.Add(time.Second), Command: core.ReleaseAllocation{
					Application: core.ApplicationID(app), Key: core.AllocationKey(key), Termination: si.TerminationType_STOPPED_BY_RM,
				}})
			}
			s.do(nil, effects...)
			at := 0
			for b.Loop() {
				b.StopTimer()
				if at += batch; at+batch > running {
					at = 0
				}
				for i := range batch {
					s.Observe(releases[at+i])
				}
				b.StartTimer()
				s.do(nil, effects[at:at+batch]...)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/batch, "ns/placement")
		})
	}
}

// BenchmarkRelease is what the end of an allocation costs.
func BenchmarkRelease(b *testing.B) {
	s := newStage(b, Config{})
	s.begin("app")
	placed := &si.Allocation{ApplicationID: "app", AllocationKey: "k", NodeID: "n", ResourcePerAlloc: s.size}
	place := events.Step{Now: s.now, Effects: core.Effects{placed}}
	release := events.Step{Now: s.now, Command: core.ReleaseAllocation{Application: "app", Key: "k"}}
	for b.Loop() {
		s.Observe(place)
		s.Observe(release)
	}
}
