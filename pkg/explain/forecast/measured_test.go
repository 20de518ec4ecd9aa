package forecast_test

import (
	"context"
	"os"
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/archive"
	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/explain/forecast"
	"github.com/narwhal-scheduler/narwhal/pkg/internal/played"
)

// TestMeasured: what became of estimates on simulated clusters. The range was taken from what was seen on the first. On the two others,
// on which nothing was changed for it, at least eight of ten pods ran within it too, and so they did where nothing like most of what runs
// has ended. Where what is more important preempts, nothing was told.
func TestMeasured(t *testing.T) {
	if testing.Short() {
		t.Skip("large, and played without the race detector")
	}
	for _, name := range []string{"batch", "teams", "short", "first"} {
		m := measure(t, name)
		t.Logf("%s: %+v", name, m)
		told := m.within + m.sooner + m.later
		assert.Assert(t, told > 20 && 10*m.within >= 8*told, "%s: %+v", name, m)
	}
	shop := measure(t, "shop")
	t.Logf("shop: %+v", shop)
	assert.Assert(t, shop.no > 20 && shop.within+shop.sooner+shop.later < 5, "%+v", shop)
}

// TestNothingSupportsAnEstimate: what others of the queue take tells nothing of pods of other amounts, so nothing is told of
// the pod that waits for one of these to end.
func TestNothingSupportsAnEstimate(t *testing.T) {
	text, err := os.ReadFile("testdata/late.yaml")
	assert.NilError(t, err)
	p := played.New(t, string(text), nil).To(80 * time.Minute)
	for ; p.Now.Sub(played.Began) < 3*time.Hour; p.To(p.Now.Sub(played.Began) + 10*time.Minute) {
		f := forecast.When(context.Background(), p.Forecasts("root.prod"), "late", "late/5")
		assert.Assert(t, f.Most == 0 && strings.HasPrefix(f.No, "4 of ") && strings.Contains(f.No, " pods that run are like none that has ended, so nothing tells when they end; if they do not, it still waits ") && strings.HasSuffix(f.No, ": queue quota exceeded: root.prod"), "%s: %v", p.Now, f.Lines())
	}
}

// TestEstimatesThatWereWrong: an ask of which an estimate did not hold is told so, with a wider one, and in the end with none.
func TestEstimatesThatWereWrong(t *testing.T) {
	text, err := os.ReadFile("testdata/batch.yaml")
	assert.NilError(t, err)
	p := played.New(t, string(text), nil).To(3 * time.Hour)
	when := func(told archive.Told) *forecast.Forecast {
		for _, app := range p.Partition.View().Applications {
			if len(app.Asks) > 0 {
				q := p.Forecasts(app.Queue)
				q.Told = told
				return forecast.When(context.Background(), q, app.ID, app.Asks[len(app.Asks)-1].Key)
			}
		}
		t.Fatal("nothing waits")
		return nil
	}
	passed := archive.Told{At: p.Now.Add(-time.Hour), Until: p.Now.Add(-time.Minute)}
	first, second := when(archive.Told{}), when(passed)
	assert.Equal(t, second.Most, 2*first.Most)
	assert.Equal(t, len(second.Lines()), 3)
	assert.Equal(t, second.Lines()[2], "1 estimate before this one did not hold, so this one is wider")
	passed.Wrong = 2
	assert.Equal(t, when(passed).No, "the last 3 estimates for it were wrong, the latest that of 2000-01-01T02:00:00Z, so none is told any more")
}

// TestBounds: a range is rounded outward, by little for what is short, and as it is shown.
func TestBounds(t *testing.T) {
	for _, c := range []struct {
		least, most time.Duration
		want        string
	}{
		{400 * time.Millisecond, 2 * time.Second, "within 2s"},
		{2 * time.Second, 14100 * time.Millisecond, "in 2s to 15s"},
		{100 * time.Second, 121 * time.Second, "in 100s to 3m"},
		{44 * time.Minute, 61 * time.Minute, "in 40m to 65m"},
		{119 * time.Minute, 150 * time.Minute, "in 115m to 3h"},
	} {
		f := forecast.Forecast{Least: c.least, Most: c.most, Plays: 7}
		assert.Equal(t, f.Lines()[0], c.want+", by 7 plays from how long others ran and what came lately")
	}
}

// measured is how many pods ran as was told, and of how many nothing was.
type measured struct{ within, sooner, later, open, no int }

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
		case ran[key].IsZero() && f.at.Add(most).After(p.Now):
			m.open++
		case ran[key].IsZero():
			m.later++
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
