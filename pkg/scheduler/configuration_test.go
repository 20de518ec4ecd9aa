package scheduler_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/scheduler"
	"github.com/narwhal-scheduler/narwhal/pkg/scheduler/schedulertest"
)

const withMax = `
partitions:
- name: default
  queues:
  - name: root
    queues:
    - name: default
      resources:
        max: {vcore: 2}
`

func TestAnEmptyConfigurationIsOneQueue(t *testing.T) {
	bubble(t, schedulertest.Options{}, func(t *testing.T, m *schedulertest.MockScheduler) {
		assert.DeepEqual(t, m.Partitions(), []string{"[rm]default"})
		assert.Equal(t, m.Queue("root.default").Leaf, true)
	})
}

func TestABadConfigurationDoesNotRegister(t *testing.T) {
	s, err := scheduler.New(scheduler.Config{})
	assert.NilError(t, err)
	defer s.Stop()
	_, err = s.RegisterResourceManager(&si.RegisterResourceManagerRequest{RmID: "rm", Config: "partitions: 5"}, newCounter())
	assert.ErrorContains(t, err, `resource manager "rm"`)
	assert.ErrorIs(t, s.UpdateNode(&si.NodeRequest{RmID: "rm"}), scheduler.ErrNotRegistered)
}

func TestABadRegistrationLeavesTheFormerOne(t *testing.T) {
	bubble(t, schedulertest.Options{}, func(t *testing.T, m *schedulertest.MockScheduler) {
		m.AddNode("node-1", "vcore=4")
		_, err := m.RegisterResourceManager(&si.RegisterResourceManagerRequest{RmID: "rm", Config: "nonsense"}, newCounter())
		assert.ErrorContains(t, err, "rm")
		m.AddNode("node-2", "vcore=4")
		assert.Equal(t, len(m.Look().Nodes), 2)
	})
}

func TestABadUpdateLeavesTheConfiguration(t *testing.T) {
	cluster(t, schedulertest.Options{Config: withMax}, "vcore=8", func(t *testing.T, m *schedulertest.MockScheduler) {
		assert.ErrorContains(t, m.Configure("partitions: [{name: default, queues: [{name: root, nonsense: 1}]}]"), "rm")
		assert.NilError(t, m.Send(asks(3)...))
		m.Settle()
		assert.Equal(t, m.Text(m.Queue("root.default").Used), "vcore=2000")
	})
}

func TestALeafInUseCannotBecomeAParent(t *testing.T) {
	cluster(t, schedulertest.Options{}, "vcore=8", func(t *testing.T, m *schedulertest.MockScheduler) {
		below := "partitions: [{name: default, queues: [{name: root, queues: [{name: default, queues: [{name: x}]}]}]}]"
		assert.ErrorContains(t, m.Configure(below), "root.default")
		m.RemoveApplication("app-1")
		assert.NilError(t, m.Configure(below))
		assert.Equal(t, m.Queue("root.default.x").Leaf, true)
	})
}

func TestAnUpdateTakesEffectAtOnce(t *testing.T) {
	cluster(t, schedulertest.Options{}, "vcore=8", func(t *testing.T, m *schedulertest.MockScheduler) {
		assert.NilError(t, m.Configure(withMax))
		assert.NilError(t, m.Send(asks(3)...))
		m.Settle()
		assert.Equal(t, m.Text(m.Queue("root.default").Used), "vcore=2000")
		assert.NilError(t, m.Configure(""))
		assert.Equal(t, m.Text(m.Queue("root.default").Used), "vcore=3000")
	})
}

func countCommands(n *int) func(string, time.Time, api.Command) {
	return func(string, time.Time, api.Command) { *n++ }
}

// The commands of a partition say whether an update reached it.
func TestALeafInUseDoesNotBecomeAParent(t *testing.T) {
	split := `partitions: [{name: default, queues: [{name: root, queues: [{name: default, queues: [{name: a}]}]}]}]`
	cluster(t, schedulertest.Options{Config: withMax}, "vcore=8", func(t *testing.T, m *schedulertest.MockScheduler) {
		assert.NilError(t, m.Send(asks(3)...))
		m.Settle()
		assert.ErrorContains(t, m.Configure(split), "queue root.default has 1 applications and cannot become a parent")
		assert.Equal(t, m.Text(m.Queue("root.default").Used), "vcore=2000")
	})
	bubble(t, schedulertest.Options{Config: withMax}, func(t *testing.T, m *schedulertest.MockScheduler) {
		assert.NilError(t, m.Configure(split))
		m.Settle()
		assert.Equal(t, m.Queue("root.default.a").Leaf, true)
	})
}

// An update that one of several partitions refuses reaches none of them.
func TestARefusedUpdateReachesNoPartition(t *testing.T) {
	const text = `partitions: [{name: default, queues: [{name: default%s}]}, {name: gpu, queues: [{name: default%s}]}]`
	commands := 0
	options := schedulertest.Options{Config: fmt.Sprintf(text, "", ""), Partition: "gpu"}
	options.Scheduler.Record = func(partition string, _ time.Time, _ api.Command) {
		if partition == "[rm]default" {
			commands++
		}
	}
	cluster(t, options, "vcore=8", func(t *testing.T, m *schedulertest.MockScheduler) {
		below := ", queues: [{name: x}]"
		assert.ErrorContains(t, m.Configure(fmt.Sprintf(text, below, below)), "partition gpu: queue root.default has 1 applications")
		m.Settle()
		assert.Equal(t, commands, 0)
		assert.NilError(t, m.Configure(fmt.Sprintf(text, below, "")))
		m.Settle()
		assert.Equal(t, commands, 1)
	})
}

func TestAnUnchangedConfigurationDoesNothing(t *testing.T) {
	commands := 0
	options := schedulertest.Options{Config: withMax, ExtraConfig: map[string]string{"a": "b"}}
	options.Scheduler.Record = countCommands(&commands)
	bubble(t, options, func(t *testing.T, m *schedulertest.MockScheduler) {
		assert.NilError(t, m.Configure(withMax))
		assert.Equal(t, commands, 0)
		assert.NilError(t, m.Configure(""))
		assert.Equal(t, commands, 1)
	})
}

func TestExtraConfigurationAppliesThoughNothingElseChanged(t *testing.T) {
	level := zap.NewAtomicLevelAt(zap.InfoLevel)
	options := schedulertest.Options{ExtraConfig: map[string]string{"log.level": "WARN"}}
	options.Scheduler.Level = &level
	bubble(t, options, func(t *testing.T, m *schedulertest.MockScheduler) {
		assert.Equal(t, level.Level(), zap.WarnLevel)
		update := &si.UpdateConfigurationRequest{RmID: "rm", ExtraConfig: map[string]string{"log.level": "-1", "service.x": "y"}}
		assert.NilError(t, m.UpdateConfiguration(update))
		assert.Equal(t, level.Level(), zap.DebugLevel)
		assert.Equal(t, m.ExtraConfig("rm")["service.x"], "y")
		update.ExtraConfig["log.level"] = "loud"
		assert.NilError(t, m.UpdateConfiguration(update))
		assert.Equal(t, level.Level(), zap.DebugLevel)
		assert.Assert(t, m.ExtraConfig("other") == nil)
	})
}

// What runs in a partition that is gone is released as stopped by the resource
// manager; what is sent there afterwards is refused. When the partition comes back
// it is empty.
func TestARemovedPartitionReleasesWhatRan(t *testing.T) {
	options := schedulertest.Options{Config: twoPartitions, Partition: "gpu"}
	cluster(t, options, "vcore=8", func(t *testing.T, m *schedulertest.MockScheduler) {
		m.Ask("app-1", "pod-1", "vcore=1")
		m.Heard()
		assert.NilError(t, m.Configure(""))
		assert.DeepEqual(t, m.Heard(), []string{"allocation pod-1 released: STOPPED_BY_RM"})
		assert.DeepEqual(t, m.Partitions(), []string{"[rm]default"})
		_, err := m.View(context.Background(), "[rm]gpu")
		assert.ErrorIs(t, err, scheduler.ErrNoPartition)
		m.Ask("app-1", "pod-2", "vcore=1")
		assert.DeepEqual(t, m.Heard(), []string{`allocation pod-2 rejected: "gpu" is not a partition of the resource manager`})

		assert.NilError(t, m.Configure(twoPartitions))
		assert.Equal(t, len(m.Look().Nodes), 0)
	})
}

// A partition that comes back at once, while the callbacks of the former one are
// blocked, begins when that has ended, so that their messages do not mix.
func TestAPartitionComesBackAfterItsFormerLife(t *testing.T) {
	gate := new(blocked)
	options := schedulertest.Options{Config: twoPartitions, Partition: "gpu", During: gate.on("node-1")}
	cluster(t, options, "vcore=8", func(t *testing.T, m *schedulertest.MockScheduler) {
		m.Ask("app-1", "pod-1", "vcore=1")
		m.Ask("app-1", "pod-2", "vcore=1") // asks about node-1 and waits
		m.Heard()
		assert.NilError(t, m.Configure(""))
		assert.NilError(t, m.Configure(twoPartitions))
		m.AddNode("node-1", "vcore=8")
		assert.DeepEqual(t, m.Heard(), []string{})
		gate.letGo()
		m.Settle()
		assert.DeepEqual(t, m.Heard(), []string{
			"allocation pod-2 placed on node-1",
			"allocation pod-1 released: STOPPED_BY_RM",
			"allocation pod-2 released: STOPPED_BY_RM",
			"node node-1 accepted",
		})
	})
}

// TestSettingsOfARefusedUpdateApply: the settings of an update that is refused are in effect, and
// its queues are not.
func TestSettingsOfARefusedUpdateApply(t *testing.T) {
	level := zap.NewAtomicLevelAt(zap.InfoLevel)
	options := schedulertest.Options{Config: withMax}
	options.Scheduler.Level = &level
	cluster(t, options, "vcore=8", func(t *testing.T, m *schedulertest.MockScheduler) {
		for setting, text := range map[string]string{
			"-1":   "partitions: [{name: default, queues: [{name: root, nonsense: 1}]}]",
			"WARN": "partitions: [{name: default, queues: [{name: root, queues: [{name: default, queues: [{name: x}]}]}]}]", // as app-1 is there
		} {
			extra := map[string]string{"log.level": setting}
			err := m.UpdateConfiguration(&si.UpdateConfigurationRequest{RmID: "rm", Config: text, ExtraConfig: extra})
			assert.ErrorContains(t, err, "root")
			want := map[string]zapcore.Level{"-1": zap.DebugLevel, "WARN": zap.WarnLevel}[setting]
			assert.Equal(t, level.Level(), want)
			assert.DeepEqual(t, m.ExtraConfig("rm"), extra)
		}
		assert.NilError(t, m.Send(asks(3)...))
		m.Settle()
		assert.Equal(t, m.Text(m.Queue("root.default").Used), "vcore=2000", "the max is as it was")
	})
}
