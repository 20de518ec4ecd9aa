package schedulertest_test

import (
	"fmt"
	"testing"
	"testing/synctest"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"
	dto "github.com/prometheus/client_model/go"
	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/events"
	"github.com/narwhal-scheduler/narwhal/pkg/metrics"
	"github.com/narwhal-scheduler/narwhal/pkg/metrics/stage"
	"github.com/narwhal-scheduler/narwhal/pkg/scheduler"
	"github.com/narwhal-scheduler/narwhal/pkg/scheduler/schedulertest"
)

// told is a history and what of it is about one object, in words.
func told(t *testing.T, h *events.History, object string) (lines []string) {
	t.Helper()
	for _, entry := range h.Latest(1000).Entries {
		if r := entry.Record; r.ObjectID == object || r.ReferenceID == object {
			lines = append(lines, fmt.Sprintf("%s %s %s %s", r.Type, r.EventChangeType, r.EventChangeDetail, r.ObjectID))
		}
	}
	return lines
}

func newHistory(t *testing.T) *events.History {
	t.Helper()
	h, err := events.NewHistory("test", events.Config{})
	assert.NilError(t, err)
	return h
}

// Placements are events, in the history and for the resource manager, which is
// sent the same and nothing else.
func TestWhatHappensIsWrittenDown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		history := newHistory(t)
		m := schedulertest.New(t, schedulertest.Options{Scheduler: scheduler.Config{Events: history}})
		m.AddNode("node-1", "vcore=4")
		m.AddApplication("app-1", "root.default")
		m.Ask("app-1", "web-1", "vcore=1")
		m.Settle()
		assert.DeepEqual(t, told(t, history, "web-1"), []string{
			"APP ADD APP_REQUEST app-1",
			"NODE ADD NODE_ALLOC node-1",
			"APP ADD APP_ALLOC app-1",
		})
		sent := m.Events()
		entries := history.Latest(1000).Entries
		assert.Equal(t, len(sent), len(entries))
		for i, entry := range entries {
			assert.Equal(t, sent[i], entry.Record)
		}
		m.Release("app-1", "web-1")
		m.Settle()
		lines := told(t, history, "web-1")
		assert.DeepEqual(t, lines[3:], []string{"NODE REMOVE NODE_ALLOC node-1", "APP REMOVE ALLOC_CANCEL app-1"})
	})
}

// Events are switched off and on again while the scheduler runs, and go on with
// what is then.
func TestEventsAreSwitchedOffAndOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		history := newHistory(t)
		m := schedulertest.New(t, schedulertest.Options{
			Scheduler:   scheduler.Config{Events: history},
			ExtraConfig: map[string]string{"event.ringBufferCapacity": "50"},
		})
		assert.Equal(t, history.Config().Capacity, 50)
		m.AddNode("node-1", "vcore=4")
		m.AddApplication("app-1", "root.default")
		tracking := func(value string) {
			err := m.UpdateConfiguration(&si.UpdateConfigurationRequest{
				RmID: "rm", ExtraConfig: map[string]string{"event.trackingEnabled": value},
			})
			assert.NilError(t, err)
		}
		tracking("false")
		m.Ask("app-1", "unseen", "vcore=1")
		m.Settle()
		assert.Equal(t, len(told(t, history, "unseen")), 0)
		tracking("perhaps")
		assert.Assert(t, !history.Config().Disabled, "what is wrong is as it was at the beginning")
		m.Release("app-1", "unseen")
		m.Settle()
		assert.DeepEqual(t, told(t, history, "unseen"), []string{"NODE REMOVE NODE_ALLOC node-1", "APP REMOVE ALLOC_CANCEL app-1"})
		assert.Equal(t, history.Config().Capacity, events.DefaultCapacity, "what is no longer said is as it was at the beginning")
	})
}

// What the metrics count is what happened, and every stage is measured.
func TestStagesAreMeasured(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		counted := metrics.New()
		m := schedulertest.New(t, schedulertest.Options{Scheduler: scheduler.Config{Metrics: counted}})
		m.AddNode("node-1", "vcore=4")
		m.AddApplication("app-1", "root.default")
		m.Ask("app-1", "web-1", "vcore=1")
		m.Settle()
		families, err := counted.Gather()
		assert.NilError(t, err)
		measured := map[string]uint64{}
		placed := 0.0
		for _, family := range families {
			for _, series := range family.Metric {
				switch family.GetName() {
				case "narwhal_stage_seconds":
					measured[valueOf(series, "stage")] = series.GetHistogram().GetSampleCount()
				case "yunikorn_scheduler_container_allocation_attempt_total":
					if valueOf(series, "state") == "allocated" {
						placed += series.GetCounter().GetValue()
					}
				}
			}
		}
		assert.Equal(t, placed, 1.0)
		for stage := range stage.Stage(stage.Stages) {
			assert.Assert(t, measured[stage.String()] > 0, "%s is not measured: %v", stage, measured)
		}
	})
}

func valueOf(series *dto.Metric, label string) string {
	for _, pair := range series.Label {
		if pair.GetName() == label {
			return pair.GetValue()
		}
	}
	return ""
}
