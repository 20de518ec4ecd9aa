package object

import (
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/archive"
	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/webservice/internal/fixture"
)

// TestStatesEndWithTheView: the archive may be ahead of the view, or behind it.
func TestStatesEndWithTheView(t *testing.T) {
	start := fixture.Start
	turns := []archive.StateChange{{At: start, State: "Accepted"}, {At: start.Add(time.Second), State: "Running"}}
	logged := func(state api.State, since time.Duration) string {
		var names []string
		view := &api.ApplicationView{State: state, Since: start.Add(since)}
		for _, one := range stateLog(applicationEntry{ApplicationView: view}, &archive.ApplicationRecord{Changes: turns}) {
			names = append(names, one.ApplicationState)
		}
		return strings.Join(names, " ")
	}
	assert.Equal(t, logged(api.New, -time.Second), "")
	assert.Equal(t, logged(api.Accepted, 0), "Accepted")
	assert.Equal(t, logged(api.Running, time.Second), "Accepted Running")
	assert.Equal(t, logged(api.Completing, 2*time.Second), "Accepted Running Completing")
}
