package archive

import (
	"fmt"
	"testing"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/events"
)

// BenchmarkPlacement is what a placement costs, in steps of 256, with 100,000
// allocations that run and some applications that have ended. That it ends again is
// a benchmark of its own.
//
//	go test -run - -bench . ./pkg/archive
func BenchmarkPlacement(b *testing.B) {
	for _, ended := range []int{0, DefaultMax} {
		b.Run(fmt.Sprint("ended=", ended), func(b *testing.B) {
			const batch = 256
			s := newStage(b, Config{})
			for i := range ended {
				id := api.ApplicationID(fmt.Sprint("ended", i))
				s.begin(id)
				s.complete(id)
			}
			effects := s.fill(100_000)
			at := 0
			b.ReportAllocs()
			for b.Loop() {
				if at += batch; at+batch > len(effects) {
					at = 0
				}
				s.do(effects[at : at+batch]...)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/batch, "ns/placement")
		})
	}
}

// fill places so many allocations, a thousand for each application.
func (s *stage) fill(n int) (effects api.Effects) {
	for i := range n {
		app := api.ApplicationID(fmt.Sprint("app", i/1000))
		if i%1000 == 0 {
			s.begin(app)
		}
		a := s.allocation(app, api.AllocationKey(fmt.Sprintf("0a1b2c3d-4e5f-6071-8293-%012d", i)))
		a.Node = api.NodeID(fmt.Sprint("n", i%5000))
		effects = append(effects, api.Placed{Allocation: a})
	}
	s.do(effects...)
	return effects
}

// BenchmarkRelease is what the end of an allocation costs.
func BenchmarkRelease(b *testing.B) {
	s := newStage(b, Config{})
	s.begin("app")
	a := s.allocation("app", "k")
	place := events.Step{Now: s.now, Effects: api.Effects{api.Placed{Allocation: a}}}
	release := events.Step{Now: s.now, Effects: api.Effects{&api.Ended{Allocation: a}}}
	b.ReportAllocs()
	for b.Loop() {
		s.Observe(place)
		s.Observe(release)
	}
}
