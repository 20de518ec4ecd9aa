package scheduler_test

import (
	"strings"
	"testing"
	"time"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"
	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/config"
	"github.com/narwhal-scheduler/narwhal/pkg/events"
	"github.com/narwhal-scheduler/narwhal/pkg/scheduler"
	"github.com/narwhal-scheduler/narwhal/pkg/scheduler/schedulertest"
)

// TestSettingsHaveAnEffectOrWarn: those of events over REST have one, at registration
// and later, and one that has none is warned of each time it is sent.
func TestSettingsHaveAnEffectOrWarn(t *testing.T) {
	history, err := events.NewHistory("instance", events.Config{})
	assert.NilError(t, err)
	logs, seen := observer.New(zap.WarnLevel)
	options := schedulertest.Options{ExtraConfig: map[string]string{"event.RESTResponseSize": "7", "health.checkInterval": "10s", "log.level": "INFO"}}
	options.Scheduler.Events, options.Scheduler.Logger = history, zap.New(logs)
	bubble(t, options, func(t *testing.T, m *schedulertest.MockScheduler) {
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

// TestSettingsOfTheEmbedder: what the program acts on that embeds the scheduler has no
// warning, and reaches it each time.
func TestSettingsOfTheEmbedder(t *testing.T) {
	logs, seen := observer.New(zap.WarnLevel)
	var got []map[string]string
	options := schedulertest.Options{ExtraConfig: map[string]string{"health.checkInterval": "10s"}}
	options.Scheduler.Logger = zap.New(logs)
	options.Scheduler.Extra = func(extra map[string]string) { got = append(got, extra) }
	bubble(t, options, func(t *testing.T, m *schedulertest.MockScheduler) {
		assert.NilError(t, m.UpdateConfiguration(&si.UpdateConfigurationRequest{RmID: "rm", ExtraConfig: map[string]string{"a": "b"}}))
		assert.DeepEqual(t, got, []map[string]string{{"health.checkInterval": "10s"}, {"a": "b"}})
		assert.Equal(t, seen.FilterMessage("setting has no effect").Len(), 0)
	})
}

// TestLoggersHaveLevels: a part of the log is louder, or quieter, than the rest, as the
// longest beginning of its name says, until the key is gone. Keys of the loggers of a
// resource manager are its own.
func TestLoggersHaveLevels(t *testing.T) {
	logs, seen := observer.New(zap.InfoLevel)
	options := schedulertest.Options{ExtraConfig: map[string]string{
		"log.core.scheduler.level": "error", "log.core.scheduler.allocation.level": "debug",
		"log.core.config.level": "loud", "log.shim.level": "loud", "log.core.rmproxy.level": "9",
	}}
	options.Scheduler.Logger = zap.New(logs)
	bubble(t, options, func(t *testing.T, m *schedulertest.MockScheduler) {
		assert.Equal(t, seen.FilterMessage("log level not understood").Len(), 2)
		lines := func(text string) int { return seen.FilterMessage(text).Len() }
		m.AddNode("node-1", "vcore=4")
		m.AddApplication("app-1", "root.default")
		m.Ask("app-1", "pod-1", "vcore=1")
		assert.Equal(t, lines("allocation placed"), 1)
		assert.Equal(t, lines("node accepted")+lines("application changed state"), 0)

		assert.NilError(t, m.UpdateConfiguration(&si.UpdateConfigurationRequest{RmID: "rm"}))
		m.AddNode("node-2", "vcore=4")
		m.Ask("app-1", "pod-2", "vcore=1")
		assert.Equal(t, lines("allocation placed"), 1)
		assert.Equal(t, lines("node accepted"), 1)
	})
}

// TestLevelsOfNoLogger: a level that says nothing is told. One of a beginning of names counts for those that begin so.
func TestLevelsOfNoLogger(t *testing.T) {
	logs, seen := observer.New(zap.InfoLevel)
	options := schedulertest.Options{ExtraConfig: map[string]string{
		"log.core.scheduler.queue.level": "debug", "log.core.scheduler.preemption.requirednode.level": "debug", "log.core.sched.level": "debug",
		"log.core.level": "info", "log.core.scheduler.level": "info", "log.core.rest.level": "info", "log.shim.context.level": "debug",
	}}
	options.Scheduler.Logger = zap.New(logs)
	bubble(t, options, func(t *testing.T, _ *schedulertest.MockScheduler) {
		var keys []string
		for _, entry := range seen.FilterMessage("log level has no effect, as there is no such logger").All() {
			keys = append(keys, entry.ContextMap()["key"].(string))
		}
		assert.DeepEqual(t, keys, []string{"log.core.sched.level", "log.core.scheduler.preemption.requirednode.level", "log.core.scheduler.queue.level"})
	})
}

// TestAnyLoggerHasALevel: also one that is made after the level was set, for what belongs
// to the scheduler, with fields of its own.
func TestAnyLoggerHasALevel(t *testing.T) {
	logs, seen := observer.New(zap.InfoLevel)
	options := schedulertest.Options{ExtraConfig: map[string]string{"log.core.rest.level": "WARN"}}
	options.Scheduler.Logger = zap.New(logs)
	bubble(t, options, func(t *testing.T, m *schedulertest.MockScheduler) {
		rest := m.Logger("core.rest").With(zap.Int("port", 1))
		rest.Info("quiet")
		rest.Warn("said")
		m.Logger("core.restful").Info("said")
		assert.Equal(t, seen.FilterMessage("quiet").Len(), 0)
		assert.Equal(t, seen.FilterMessage("said").Len(), 2)
	})
}

// TestDefaultsOfTexts: a scheduler whose program expects others begins with them, also in what
// it shows, and its registration with the documented ones differs.
func TestDefaultsOfTexts(t *testing.T) {
	zero := time.Duration(0)
	options := schedulertest.Options{Config: "partitions: [{queues: [{name: root, queues: [{name: default}]}]}]"}
	options.Scheduler.Defaults = config.Defaults{StartDelay: &zero, Closed: true}
	bubble(t, options, func(t *testing.T, m *schedulertest.MockScheduler) {
		assert.Equal(t, m.Look().Config.Preemption.RequiredNode.StartDelay, zero)
		m.AddApplication("app-1", "root.default")
		assert.Assert(t, strings.Contains(strings.Join(m.Heard(), "\n"), "application app-1 rejected"), "%v", m.Heard())
		shown := &scheduler.Configured{Scheduler: m.Scheduler}
		assert.NilError(t, shown.UpdateConfiguration(&si.UpdateConfigurationRequest{RmID: "rm", Config: options.Config + "\n"}))
		assert.Assert(t, shown.Document().Partitions[0].Closed)
		assert.Assert(t, m.Look().Config.Closed)
	})
	negative := -time.Second
	_, err := scheduler.New(scheduler.Config{Defaults: config.Defaults{StartDelay: &negative}})
	assert.ErrorContains(t, err, "Defaults.StartDelay is negative")
}
