package scheduler_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"
	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/archive"
	"github.com/narwhal-scheduler/narwhal/pkg/events"
	"github.com/narwhal-scheduler/narwhal/pkg/scheduler"
	"github.com/narwhal-scheduler/narwhal/pkg/scheduler/schedulertest"
)

// TestAnApplicationThatNeverAsks is completed after an hour, or as configured.
func TestAnApplicationThatNeverAsks(t *testing.T) {
	for name, c := range map[string]struct{ delay, kept time.Duration }{
		"default":    {0, time.Hour},
		"configured": {time.Minute, time.Minute},
		"for ever":   {-1, 0},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, schedulertest.Options{Scheduler: scheduler.Config{UnusedDelay: c.delay}}, func(t *testing.T, m *schedulertest.MockScheduler) {
				m.AddApplication("app-1", "root.default")
				m.Heard()
				if c.kept == 0 {
					m.Advance(1000 * time.Hour)
					assert.DeepEqual(t, m.Heard(), []string{})
					return
				}
				m.Advance(c.kept - 1)
				assert.DeepEqual(t, m.Heard(), []string{})
				m.Advance(1)
				assert.DeepEqual(t, m.Heard(), []string{"application app-1 is Completed"})
				assert.Assert(t, m.Application("app-1") == nil)
				m.AddApplication("app-1", "root.default")
				assert.DeepEqual(t, m.Heard(), []string{"application app-1 accepted"})
			})
		})
	}
}

// TestWhatHasEndedExpires has an application that ended and one that was rejected forgotten
// after the time that the archive keeps them, each with an event.
func TestWhatHasEndedExpires(t *testing.T) {
	past, err := archive.New(archive.Config{Keep: time.Hour})
	assert.NilError(t, err)
	history, err := events.NewHistory("history", events.Config{})
	assert.NilError(t, err)
	options := schedulertest.Options{Config: oneQueue, Scheduler: scheduler.Config{Archive: past, Events: history}}
	bubble(t, options, func(t *testing.T, m *schedulertest.MockScheduler) {
		m.AddApplication("ended", "root.default")
		m.RemoveApplication("ended")
		m.AddApplication("rejected", "root.nowhere")
		expired := func() (list []string) {
			for _, r := range history.Latest(1000).Entries {
				if r.Record.EventChangeDetail == si.EventRecord_APP_EXPIRED {
					list = append(list, r.Record.ObjectID)
				}
			}
			slices.Sort(list)
			return list
		}
		for _, step := range []struct {
			after time.Duration
			want  string
		}{{time.Hour, ""}, {1, "ended rejected"}, {time.Hour, "ended rejected"}} {
			m.Advance(step.after)
			m.AddNode("node-"+step.after.String()+step.want, "vcore=1") // something happens
			assert.Equal(t, strings.Join(expired(), " "), step.want, "after %v", step.after)
		}
		ended, rejected := past.Book("[rm]default").Finished(time.Now())
		assert.Equal(t, len(ended)+len(rejected), 0)
	})
}
