package core_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"
	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/core"
	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// gangScenario is what happens to two gangs, in steps. Each one returns what it caused.
type gangScenario struct {
	p   *core.Partition
	now time.Time
}

func (s *gangScenario) do(commands ...api.Command) (told []string) {
	note := func(fx api.Effects) {
		for _, e := range fx {
			switch e := e.(type) {
			case api.Placed:
				told = append(told, fmt.Sprintf("placed %s on %s", e.Key, e.Node))
			case *api.ReleaseRequested:
				told = append(told, fmt.Sprintf("release %s: %v", e.Key, e.Cause))
			case *api.ApplicationChanged:
				told = append(told, fmt.Sprintf("%s is %s", e.ID, e.State))
			}
		}
	}
	for _, c := range commands {
		note(s.p.Apply(s.now, c))
	}
	for more := true; more; {
		var fx api.Effects
		fx, more = s.p.Schedule(s.now)
		note(fx)
	}
	slices.Sort(told) // timers of the same moment have no order in a view
	return told
}

func (s *gangScenario) member(app api.ApplicationID, key api.AllocationKey, placeholder bool) api.Command {
	return api.AddAllocation{Allocation: &api.Allocation{
		Key: key, Application: app, Amounts: resources.Amounts{2}, TaskGroup: "workers", Placeholder: placeholder, Created: start,
	}}
}

// gangSteps places, replaces elsewhere and here, times out hard and soft, and starts whole.
func gangSteps(s *gangScenario) []func() []string {
	replaced := func(app api.ApplicationID, key api.AllocationKey) api.Command {
		return api.ReleaseAllocation{Application: app, Key: key, Termination: si.TerminationType_PLACEHOLDER_REPLACED}
	}
	application := func(id api.ApplicationID, style api.GangStyle, total int64, tags map[string]string) api.Command {
		return api.AddApplication{ID: id, Queue: "root.a", Placeholders: resources.Amounts{total}, Style: style, GangTimeout: time.Minute, Tags: tags}
	}
	node := func(id api.NodeID) api.Command { return api.AddNode{ID: id, Capacity: resources.Amounts{4}} }
	return []func() []string{
		func() []string {
			return s.do(node("n1"), node("n2"), application("soft", api.Soft, 6, nil), s.member("soft", "s1", true), s.member("soft", "s2", true))
		},
		func() []string {
			return s.do(application("hard", api.Hard, 8, nil), s.member("hard", "h1", true), s.member("hard", "h2", true), s.member("hard", "h3", true))
		},
		func() []string {
			return s.do(application("whole", api.Soft, 4, map[string]string{api.TagGangStart: api.GangWhole}), s.member("whole", "w1", true), s.member("whole", "w2", true))
		},
		func() []string { return s.do(s.member("soft", "real-1", false), s.member("soft", "real-2", false)) },
		func() []string { return s.do(api.DrainNode{ID: "n1"}, node("n3")) },
		func() []string { return s.do(replaced("soft", "s1")) },
		func() []string { s.now = start.Add(30 * time.Second); return s.do(s.member("soft", "s3", true)) },
		func() []string { return s.do(replaced("soft", "s2")) },
		func() []string { s.now = start.Add(time.Minute + time.Second); return s.do() },
		func() []string { return s.do(api.UndrainNode{ID: "n1"}) },
		func() []string {
			told := s.do(api.ReleaseAllocation{Application: "hard", Key: "h1", Termination: si.TerminationType_TIMEOUT},
				api.ReleaseAllocation{Application: "hard", Key: "h2", Termination: si.TerminationType_TIMEOUT})
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
		return &gangScenario{p: core.NewPartition(api.Options{Kinds: testKinds()}, leaves("a")), now: start}
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
				gangs, kept := gangViews(s.p), keptOn(s.p)
				s.p = core.Restore(api.Options{Kinds: testKinds()}, s.now, s.p.View())
				assert.NilError(t, s.p.Verify())
				assert.DeepEqual(t, gangViews(s.p), gangs)
				assert.DeepEqual(t, keptOn(s.p), kept)
			}
			assert.DeepEqual(t, step(), want[i])
			assert.NilError(t, s.p.Verify())
		}
		assert.DeepEqual(t, gangViews(s.p), gangViews(original.p))
	}
}

// keptOn is for which asks room is kept on which nodes.
func keptOn(p *core.Partition) map[api.AllocationKey]api.NodeID {
	kept := map[api.AllocationKey]api.NodeID{}
	for _, n := range p.View().Nodes {
		for _, r := range n.Reservations {
			kept[r.Key] = n.ID
		}
	}
	return kept
}

func gangViews(p *core.Partition) map[api.ApplicationID]*api.GangView {
	views := map[api.ApplicationID]*api.GangView{}
	for _, app := range p.View().Applications {
		views[app.ID] = app.Gang
	}
	return views
}
