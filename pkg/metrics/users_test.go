package metrics_test

import (
	"fmt"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/archive"
	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/metrics"
	"github.com/narwhal-scheduler/narwhal/pkg/scheduler"
)

var _ metrics.Arrivals = (*scheduler.Scheduler)(nil)

// arriving are views that know which asks came lately.
type arriving struct {
	fixedViews
	arrived []archive.Arrivals
}

func (a arriving) Arrivals(string) []archive.Arrivals { return a.arrived }

// waiting is an application of which asks wait, the first since the time of its number.
func waiting(user string, asks int, since int64, groups ...string) *api.ApplicationView {
	app := &api.ApplicationView{Queue: "root.a", User: user, Groups: groups}
	for i := range asks {
		app.Asks = append(app.Asks, api.AskView{Allocation: &api.Allocation{Created: time.Unix(since+int64(i), 0)}, Waiting: new(api.Waiting)})
	}
	return app
}

func seriesOfUsers(t *testing.T, arrived []archive.Arrivals, apps ...*api.ApplicationView) map[string]float64 {
	t.Helper()
	m := metrics.New()
	view := &api.View{Root: &api.QueueView{Path: "root"}, Applications: apps}
	m.Watch(arriving{fixedViews{"p": view}, arrived}, usual(t))
	return seriesOf(t, m)
}

// TestUsers: what waits is added up by user and by each of its groups, with the oldest of all, and
// what came is there of users of which nothing waits, too.
func TestUsers(t *testing.T) {
	got := seriesOfUsers(t, []archive.Arrivals{{User: "ada", Groups: []string{"dev"}, Queue: "root.a", Asks: 4}, {User: "cem", Groups: []string{"dev"}, Queue: "root.a", Asks: 1}},
		waiting("ada", 2, 200, "dev", "ops"), waiting("ada", 1, 100, "dev", "ops"), waiting("bob", 5, 300, "dev"), waiting("none", 0, 1, "none"))
	for name, want := range map[string]float64{
		`narwhal_user_pending_asks{partition="p",user="ada"}`:                      3,
		`narwhal_user_oldest_pending_ask_seconds{partition="p",user="ada"}`:        100,
		`narwhal_user_arrived_asks{partition="p",user="ada"}`:                      4,
		`narwhal_user_pending_asks{partition="p",user="bob"}`:                      5,
		`narwhal_user_pending_asks{partition="p",user="cem"}`:                      0,
		`narwhal_user_oldest_pending_ask_seconds{partition="p",user="cem"}`:        0,
		`narwhal_user_arrived_asks{partition="p",user="cem"}`:                      1,
		`narwhal_user_group_pending_asks{group="dev",partition="p"}`:               8,
		`narwhal_user_group_oldest_pending_ask_seconds{group="dev",partition="p"}`: 100,
		`narwhal_user_group_arrived_asks{group="dev",partition="p"}`:               5,
		`narwhal_user_group_pending_asks{group="ops",partition="p"}`:               3,
	} {
		value, there := got[name]
		assert.Assert(t, there, name)
		assert.Equal(t, value, want, name)
	}
	_, there := got[`narwhal_user_pending_asks{partition="p",user="none"}`]
	assert.Assert(t, !there, "a user of which nothing waits and came has no series")
}

// TestUsersAreBounded: fifty users have series of their own, those of which most waits and came, and
// the others are one; a user that is called so is among them.
func TestUsersAreBounded(t *testing.T) {
	apps := []*api.ApplicationView{waiting("*", 1, 50)}
	for i := range 60 {
		apps = append(apps, waiting(fmt.Sprintf("u%02d", i), 1+i, 100+int64(i)))
	}
	got := seriesOfUsers(t, []archive.Arrivals{{User: "u00", Asks: 1000}}, apps...)
	own := func(user string) (float64, bool) {
		value, there := got[fmt.Sprintf(`narwhal_user_pending_asks{partition="p",user=%q}`, user)]
		return value, there
	}
	_, there := own("u00")
	assert.Assert(t, there, "of it most came")
	_, there = own("u10")
	assert.Assert(t, !there)
	_, there = own("u11")
	assert.Assert(t, there)
	rest, _ := own("*")
	assert.Equal(t, rest, float64(1+2+3+4+5+6+7+8+9+10+11))
	assert.Equal(t, got[`narwhal_user_oldest_pending_ask_seconds{partition="p",user="*"}`], 50.0)
}
