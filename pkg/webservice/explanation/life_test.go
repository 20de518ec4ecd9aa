package explanation

import (
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/archive"
	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
)

// TestLived: the time since the last change is for the reason of now, also if that came before others.
func TestLived(t *testing.T) {
	asked := time.Date(2026, 1, 1, 3, 0, 0, 0, time.UTC)
	life := archive.Life{
		Asked: asked, Unknown: time.Minute, Until: asked.Add(6 * time.Minute), Reason: api.QuotaExceeded,
		Waits: []archive.Wait{{Reason: api.QuotaExceeded, For: 2 * time.Minute}, {Reason: api.NoNodeFits, For: 3 * time.Minute}},
	}
	assert.Equal(t, lived(&life, asked.Add(16*time.Minute)),
		"asked for at 2026-01-01T03:00:00Z, waited 16m: 60s before the scheduler knew of it, 12m queue quota exceeded, 3m no node has room")
	life.Reason = api.NodeFull
	assert.Equal(t, lived(&life, asked.Add(7*time.Minute)),
		"asked for at 2026-01-01T03:00:00Z, waited 7m: 60s before the scheduler knew of it, 2m queue quota exceeded, 3m no node has room, 60s required node has no room")
}
