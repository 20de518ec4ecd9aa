package forecast

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/archive"
	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/explain"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// TestWhatCameIsBounded: of ten times as many asks as come again in the plays the last do, in as much time as they came in, and the forecast
// says so. One that still runs stands for no more than a few that have ended, however many of these are known.
func TestWhatCameIsBounded(t *testing.T) {
	now := time.Date(2026, 1, 31, 14, 0, 0, 0, time.UTC)
	app := &api.ApplicationView{ID: "a", Queue: "root.a", Submitted: now.Add(-time.Hour)}
	for i := range 10 * cameMax { // one in 180 milliseconds
		created := now.Add(-time.Hour + time.Duration(i+1)*180*time.Millisecond)
		one := &api.Allocation{Key: api.AllocationKey(fmt.Sprint(i)), Application: "a", Amounts: resources.Amounts{1}, Created: created, Placed: created}
		app.Allocations = append(app.Allocations, one)
	}
	times := make([]time.Duration, 10*likeMax) // all but one ended at once
	times[len(times)-1] = 2 * time.Hour
	c := cameLately(Question{
		View:  &api.View{Applications: []*api.ApplicationView{app}},
		Times: archive.RunTimes{Applications: map[api.ApplicationID][]time.Duration{"a": times}},
		Trial: explain.Trial{Now: now},
	})
	assert.Equal(t, len(c.asks), 2000)
	assert.Equal(t, c.cut, 18_000)
	assert.Equal(t, string(c.asks[1999].Key), "19999")
	assert.Equal(t, c.length.Round(time.Second), 6*time.Minute)
	assert.Equal(t, c.asks[0].after, time.Duration(0))
	assert.Equal(t, c.asks[0].times, 8)
	f := Forecast{Most: time.Minute, Plays: 7, Cut: c.cut}
	assert.Assert(t, strings.HasSuffix(f.Lines()[0], "what came lately, of which the last 2000 asks count, and 18000 before them do not"), f.Lines()[0])
}
