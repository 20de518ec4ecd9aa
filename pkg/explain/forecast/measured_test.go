package forecast_test

import (
	"context"
	"os"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/explain/forecast"
	"github.com/narwhal-scheduler/narwhal/pkg/internal/played"
)

// TestMeasured: what became of estimates on two simulated clusters. At least eight of ten pods ran within
// what was told, and where what is more important preempts, nothing was told.
func TestMeasured(t *testing.T) {
	if testing.Short() {
		t.Skip("large, and played without the race detector")
	}
	batch := measure(t, "batch")
	t.Logf("batch: %+v", batch)
	told := batch.within + batch.sooner + batch.later + batch.never
	assert.Assert(t, told > 20 && 10*batch.within >= 8*told, "%+v", batch)
	shop := measure(t, "shop")
	t.Logf("shop: %+v", shop)
	assert.Assert(t, shop.no > 20 && shop.within+shop.sooner+shop.later < 5, "%+v", shop)
}

// measured is how many pods ran as was told, and of how many nothing was.
type measured struct{ within, sooner, later, never, no int }

// measure asks when the middle ask of some applications will run, each half an hour, and looks when it did.
func measure(t *testing.T, name string) (m measured) {
	t.Helper()
	text, err := os.ReadFile("testdata/" + name + ".yaml")
	assert.NilError(t, err)
	ran := map[api.AllocationKey]time.Time{}
	p := played.New(t, string(text), func(now time.Time, e api.Event) {
		if placed, ok := e.(api.Placed); ok {
			ran[placed.Key] = now
		}
	})
	type told struct {
		at time.Time
		*forecast.Forecast
	}
	all := map[api.AllocationKey]told{}
	for after := time.Hour; after < 6*time.Hour; after += 30 * time.Minute {
		p.To(after)
		view := p.Partition.View()
		for i, app := range view.Applications {
			if len(app.Asks) == 0 || i%3 > 0 {
				continue
			}
			key := app.Asks[len(app.Asks)/2].Key
			f := forecast.When(context.Background(), p.Forecasts(app.Queue), app.ID, key)
			if f.No != "" {
				m.no++
			} else if _, known := all[key]; !known {
				all[key] = told{p.Now, f}
			}
		}
	}
	p.To(8 * time.Hour)
	for key, f := range all {
		least, most := f.Bounds()
		switch after := ran[key].Sub(f.at); {
		case after < 0:
			m.never++
		case after < least:
			m.sooner++
		case after > most:
			m.later++
		default:
			m.within++
		}
	}
	return m
}
