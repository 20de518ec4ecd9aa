package scheduler_test

import (
	"testing"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"
	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/events"
	"github.com/narwhal-scheduler/narwhal/pkg/scheduler/schedulertest"
)

// TestSettingsHaveAnEffectOrWarn: those of events over REST have one, at registration
// and later, and one that has none is warned of each time it is sent.
func TestSettingsHaveAnEffectOrWarn(t *testing.T) {
	history, err := events.NewHistory("instance", events.Config{})
	assert.NilError(t, err)
	logs, seen := observer.New(zap.WarnLevel)
	options := schedulertest.Options{ExtraConfig: map[string]string{"event.RESTResponseSize": "7", "health.checkInterval": "10s", "log.core.level": "DEBUG", "log.level": "INFO"}}
	options.Scheduler.Events, options.Scheduler.Logger = history, zap.New(logs)
	bubble(t, options, func(t *testing.T, m *schedulertest.MockScheduler) {
		levels := seen.FilterMessage("setting has no effect").FilterField(zap.String("key", "log.core.level"))
		assert.Equal(t, levels.Len(), 1)
		assert.Equal(t, seen.FilterField(zap.String("key", "log.level")).Len(), 0)
		warned := seen.FilterMessage("setting has no effect").FilterField(zap.String("key", "health.checkInterval"))
		assert.Equal(t, history.Config().PageMax, 7)
		assert.Equal(t, warned.Len(), 1)
		for value, want := range map[string]int{"20": 20, "0": events.DefaultPageMax, "many": events.DefaultPageMax} {
			assert.NilError(t, m.UpdateConfiguration(&si.UpdateConfigurationRequest{RmID: "rm", ExtraConfig: map[string]string{"event.RESTResponseSize": value}}))
			assert.Equal(t, history.Config().PageMax, want, value)
		}
		assert.Equal(t, seen.FilterMessage("event limits not understood").Len(), 1)
	})
}

// TestNoRecordsWithoutTracking: a resource manager that wants no event records is sent none,
// also where there is no history, and says so at registration or later.
func TestNoRecordsWithoutTracking(t *testing.T) {
	options := schedulertest.Options{ExtraConfig: map[string]string{"event.trackingEnabled": "false"}}
	bubble(t, options, func(t *testing.T, m *schedulertest.MockScheduler) {
		m.AddNode("node-1", "vcore=4")
		m.Foreign("pod-1", "node-1", "vcore=1")
		assert.Equal(t, len(m.Events()), 0)
		for value, sent := range map[string]bool{"true": true, "false": false, "": true, "perhaps": true} {
			assert.NilError(t, m.UpdateConfiguration(&si.UpdateConfigurationRequest{RmID: "rm", ExtraConfig: map[string]string{"event.trackingEnabled": value}}))
			before := len(m.Events())
			m.Foreign("pod-"+value, "node-1", "vcore=1")
			m.Release("", "pod-"+value)
			assert.Equal(t, len(m.Events()) > before, sent, "%q", value)
		}
	})
}
