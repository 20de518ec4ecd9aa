package scheduler

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"
	"gotest.tools/v3/assert"
)

// registeredWith is a scheduler with a resource manager that has a configuration.
func registeredWith(t *testing.T, config string) *Scheduler {
	s, err := New(Config{SkipPredicates: true})
	assert.NilError(t, err)
	t.Cleanup(s.Stop)
	_, err = s.RegisterResourceManager(&si.RegisterResourceManagerRequest{RmID: "rm", Config: config}, &plain{})
	assert.NilError(t, err)
	return s
}

func (s *Scheduler) addApplication(t *testing.T, partition, queue string) {
	assert.NilError(t, s.UpdateApplication(&si.ApplicationRequest{RmID: "rm", New: []*si.AddApplicationRequest{{
		ApplicationID: "app", PartitionName: partition, QueueName: queue, Ugi: &si.UserGroupInformation{User: "u"},
	}}}))
}

// An application that comes after a configuration was checked and before it is applied has
// the update refused, and the same text is tried again.
func TestAnUpdateIsCheckedAndAppliedInOneStep(t *testing.T) {
	s := registeredWith(t, "")
	ctx := t.Context()
	request := &si.UpdateConfigurationRequest{RmID: "rm", Config: "partitions: [{name: default, queues: [{name: default, queues: [{name: x}]}]}]"}
	config, changed, err := s.check(ctx, request)
	assert.NilError(t, err)
	assert.Assert(t, changed)
	s.addApplication(t, "default", "root.default")
	_, err = s.replace(ctx, "rm", config)
	assert.ErrorContains(t, err, "queue root.default has 1 applications and cannot become a parent")
	assert.ErrorContains(t, s.UpdateConfiguration(request), "cannot become a parent")
	assert.NilError(t, s.UpdateApplication(&si.ApplicationRequest{
		RmID: "rm", Remove: []*si.RemoveApplicationRequest{{ApplicationID: "app", PartitionName: "default"}},
	}))
	assert.NilError(t, s.UpdateConfiguration(request))
	view, err := s.View(ctx, "[rm]default")
	assert.NilError(t, err)
	assert.Equal(t, len(view.Root.Queues[0].Queues), 1)
}

// Of several partitions, those that had the new configuration already get the old one back
// when another refuses it.
func TestAnUpdateIsForAllPartitionsOrNone(t *testing.T) {
	const text = `partitions: [{name: a, queues: [{name: q%s}]}, {name: b, queues: [{name: q%s}]}, {name: c, queues: [{name: q}]}]`
	s := registeredWith(t, fmt.Sprintf(text, "", ""))
	ctx := t.Context()
	below := ", queues: [{name: x}]"
	config, _, err := s.check(ctx, &si.UpdateConfigurationRequest{RmID: "rm", Config: fmt.Sprintf(text, below, below)})
	assert.NilError(t, err)
	s.addApplication(t, "b", "root.q")
	_, err = s.replace(ctx, "rm", config)
	assert.ErrorContains(t, err, "partition b: queue root.q has 1 applications")
	for _, name := range []string{"a", "b"} {
		view, err := s.View(ctx, "[rm]"+name)
		assert.NilError(t, err)
		assert.Equal(t, view.Root.Queues[0].Leaf, true, name)
	}
}

// An update whose context has ended changes nothing, unless the owner had begun: then it
// says what became of it.
func TestAnUpdateThatIsTakenBackChangesNothing(t *testing.T) {
	s := registeredWith(t, "")
	config, _, err := s.check(t.Context(), &si.UpdateConfigurationRequest{RmID: "rm", Config: "partitions: [{name: default, queues: [{name: other}]}]"})
	assert.NilError(t, err)
	ended, end := context.WithCancel(t.Context())
	end()
	_, err = s.replace(ended, "rm", config)
	view, unable := s.View(t.Context(), "[rm]default")
	assert.NilError(t, unable)
	if err != nil {
		assert.Assert(t, errors.Is(err, ErrNotAnswering))
		assert.Equal(t, string(view.Root.Queues[0].Path), "root.default")
		return
	}
	assert.Equal(t, string(view.Root.Queues[0].Path), "root.other")
}
