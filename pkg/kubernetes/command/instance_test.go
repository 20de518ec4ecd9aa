package command

import (
	"strconv"
	"testing"
	"time"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/api"
	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"
	"github.com/spf13/pflag"
	"go.uber.org/zap"
	"gotest.tools/v3/assert"

	core "github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/shim"
)

// silence is partitions, and how long they have not answered.
type silence map[string]time.Duration

func (s silence) Partitions() []string { return []string{"a", "b"} }

func (s silence) Unanswered(partition string) time.Duration { return s[partition] }

// A process is to be started anew when a partition does not answer for longer than it ever takes to schedule.
func TestHangs(t *testing.T) {
	assert.NilError(t, hangs(silence{"a": 5 * time.Second}))
	assert.Error(t, hangs(silence{"b": 90*time.Second + 1}), "partition b has not answered for 1m30s")
}

// With the profile a configuration that says nothing about preemption is read as YuniKorn reads it.
func TestLikeYuniKorn(t *testing.T) {
	for _, like := range []bool{false, true} {
		var s settings
		flags := pflag.NewFlagSet("", pflag.ContinueOnError)
		s.define(flags)
		assert.NilError(t, flags.Set("like-yunikorn", strconv.FormatBool(like)))
		i := &instance{settings: &s, log: zap.NewNop(), level: zap.NewAtomicLevel(), counts: shim.NewMetrics()}
		assert.NilError(t, i.newScheduler())
		defer i.scheduler.Stop()
		_, err := i.scheduler.RegisterResourceManager(&si.RegisterResourceManagerRequest{RmID: "rm", PolicyGroup: "queues"}, struct{ api.ResourceManagerCallback }{})
		assert.NilError(t, err)
		assert.Equal(t, i.scheduler.Document().Partitions[0].Preemption.Priority == core.PriorityOff, like)
	}
}
