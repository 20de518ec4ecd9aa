package core_test

import (
	"fmt"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
)

// TestSettlingMovesFewAsks has many asks of one application wait when a start has settled. All
// get another class then, since room may be made for them: none moves aside for another, though
// the application lists them in another order since some were placed.
func TestSettlingMovesFewAsks(t *testing.T) {
	const asks, settle = 20_000, 5 * time.Second
	p := cluster(50, 1, api.Options{SettleDelay: settle})
	p.Apply(start, api.AddApplication{ID: "a", Queue: "root.q0000"})
	for i := range asks {
		p.Apply(start, ask("a", fmt.Sprint(i), 1, 1, 1))
	}
	run(p)
	before := p.View().Work
	assert.Equal(t, before.Placements, uint64(50*110))
	p.Schedule(start.Add(settle))
	after := p.View().Work
	assert.Assert(t, after.Asks-before.Asks < 5*asks, "%d entries of orders visited or moved", after.Asks-before.Asks)
	assert.NilError(t, p.Verify())
	p.Apply(start.Add(settle), api.ReleaseAllocation{Application: "a", Key: "0"})
	fx, _ := p.Schedule(start.Add(settle))
	assert.Equal(t, placements(fx), 1)
}
