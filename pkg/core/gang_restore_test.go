package core_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"
	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/core"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// gangScenario is what happens to two gangs, in steps. Each one returns what it caused.
type gangScenario struct {
	p   *core.Partition
	now time.Time
}

func (s *gangScenario) do(commands ...core.Command) (told []string) {
	note := func(fx core.Effects) {
		for _, e := range fx {
			switch e := e.(type) {
			case core.Placed:
				told = append(told, fmt.Sprintf("placed %s on %s", e.Key, e.Node))
			case *core.ReleaseRequested:
				told = append(told, fmt.Sprintf("release %s: %v", e.Key, e.Cause))
			case *core.ApplicationChanged:
				told = append(told, fmt.Sprintf("%s is %s", e.ID, e.State))
			}
		}
	}
	for _, c := range commands {
		note(s.p.Apply(s.now, c))
	}
	for more := true; more; {
		var fx core.Effects
		fx, more = s.p.Schedule(s.now)
		note(fx)
	}
	slices.Sort(told) // timers of the same moment have no order in a view
	return told
}

func (s *gangScenario) member(app core.ApplicationID, key core.AllocationKey, placeholder bool) core.Command {
	return core.AddAllocation{Allocation: &core.Allocation{
		Key: key, Application: app, Amounts: resources.Amounts{2}, TaskGroup: "workers", Placeholder: placeholder, Created: start,
	}}
}

// gangSteps places, replaces elsewhere and here, times out hard and soft, and starts whole.
func gangSteps(s *gangScenario) []func() []string {
	replaced := func(app core.ApplicationID, key core.AllocationKey) core.Command {
		return core.ReleaseAllocation{Application: app, Key: key, Termination: si.TerminationType_PLACEHOLDER_REPLACED}
	}
	application := func(id core.ApplicationID, style core.GangStyle, total int64, tags map[string]string) core.Command {
		return core.AddApplication{ID: id, Queue: "root.a", Placeholders: resources.Amounts{total}, Style: style, GangTimeout: time.Minute, Tags: tags}
	}
	node := func(id core.NodeID) core.Command { return core.AddNode{ID: id, Capacity: resources.Amounts{4}} }
	return []func() []string{
		func() []string {
			return s.do(node("n1"), node("n2"), application("soft", core.Soft, 6, nil), s.member("soft", "s1", true), s.member("soft", "s2", true))
		},
		func() []string {
			return s.do(application("hard", core.Hard, 8, nil), s.member("hard", "h1", true), s.member("hard", "h2", true), s.member("hard", "h3", true))
		},
		func() []string {
			return s.do(application("whole", core.Soft, 4, map[string]string{core.TagGangStart: core.GangWhole}), s.member("whole", "w1", true), s.member("whole", "w2", true))
		},
		func() []string { return s.do(s.member("soft", "real-1", false), s.member("soft", "real-2", false)) },
		func() []string { return s.do(core.DrainNode{ID: "n1"}, node("n3")) },
		func() []string { return s.do(replaced("soft", "s1")) },
		func() []string { s.now = start.Add(30 * time.Second); return s.do(s.member("soft", "s3", true)) },
		func() []string { return s.do(replaced("soft", "s2")) },
		func() []string { s.now = start.Add(time.Minute + time.Second); return s.do() },
		func() []string { return s.do(core.UndrainNode{ID: "n1"}) },
		func() []string {
			told := s.do(core.ReleaseAllocation{Application: "hard", Key: "h1", Termination: si.TerminationType_TIMEOUT},
				core.ReleaseAllocation{Application: "hard", Key: "h2", Termination: si.TerminationType_TIMEOUT})
			s.now = start.Add(70 * time.Second) // what waits is tried again by now
			return append(told, s.do()...)
		},
		func() []string { s.now = start.Add(5 * time.Minute); return s.do() },
	}
}

// TestRestoredGangsGoOn restores a partition with gangs before each step of a scenario: it places,
// replaces and times out from there as the original does.
func TestRestoredGangsGoOn(t *testing.T) {
	fresh := func() *gangScenario {
		return &gangScenario{p: core.NewPartition(core.Options{Kinds: testKinds()}, leaves("a")), now: start}
	}
	original := fresh()
	var want [][]string
	for _, step := range gangSteps(original) {
		want = append(want, step())
		t.Log(want[len(want)-1])
	}
	for from := range want {
		s := fresh()
		for i, step := range gangSteps(s) {
			if i == from {
				s.p = core.Restore(core.Options{Kinds: testKinds()}, s.now, s.p.View())
				assert.NilError(t, s.p.Verify())
			}
			assert.DeepEqual(t, step(), want[i])
			assert.NilError(t, s.p.Verify())
		}
		assert.DeepEqual(t, gangViews(s.p), gangViews(original.p))
	}
}

func gangViews(p *core.Partition) map[core.ApplicationID]*core.GangView {
	views := map[core.ApplicationID]*core.GangView{}
	for _, app := range p.View().Applications {
		views[app.ID] = app.Gang
	}
	return views
}
