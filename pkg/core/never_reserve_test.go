package core_test

import (
	"math/rand/v2"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/core"
	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/internal/seeds"
)

// ordinaryReservation is a reservation of an ask that may run anywhere, if there is one.
func ordinaryReservation(v *api.View) (api.Reservation, bool) {
	for _, n := range v.Nodes {
		for _, held := range n.Reservations {
			if !held.Required {
				return held, true
			}
		}
	}
	return api.Reservation{}, false
}

// With a ReserveDelay below zero no ordinary ask ever reserves a node, whatever happens; nor does
// one in a partition that is restored from a view.
func TestOrdinaryAsksNeverReserve(t *testing.T) {
	for seed := range seeds.Of(t, 400) {
		h := newHistoryThatReserves(rand.New(rand.NewPCG(seed, 31)), -1)
		for range 150 {
			h.step()
			h.p.Schedule(h.now)
			held, found := ordinaryReservation(h.p.View())
			assert.Assert(t, !found, "seed %d: %+v", seed, held)
		}
		restored := core.Restore(api.Options{Kinds: testKinds()}, h.now, h.p.View())
		for range 5 {
			for more := true; more; {
				_, more = restored.Schedule(h.now)
			}
			held, found := ordinaryReservation(restored.View())
			assert.Assert(t, !found, "seed %d, restored: %+v", seed, held)
			h.now = h.now.Add(time.Hour)
		}
	}
}
