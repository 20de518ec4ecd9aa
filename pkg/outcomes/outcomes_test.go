package outcomes

import (
	"fmt"
	"slices"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/core/preemptor"
)

func allocation(key api.AllocationKey, node api.NodeID, priority int32) *api.Allocation {
	return &api.Allocation{Key: key, Application: "app", Node: node, Priority: priority}
}

func nominated(ask api.AllocationKey, node api.NodeID) api.Event {
	return &api.Claimed{Allocation: allocation(ask, "", 5), Node: node, Plan: &preemptor.Decision{}}
}

func cleared(ask api.AllocationKey, end api.End) api.Event {
	return &api.ClaimEnded{Allocation: allocation(ask, "", 5), Node: "n", Nominated: true, End: end}
}

func evicted(key api.AllocationKey, node api.NodeID) api.Event {
	return &api.EvictionRequested{
		Allocation: allocation(key, node, 0), For: "ask", Ask: allocation("ask", "", 5), Room: "n", Trigger: preemptor.Priority,
	}
}

func placed(key api.AllocationKey, node api.NodeID, priority int32) api.Event {
	return api.Placed{Allocation: allocation(key, node, priority)}
}

func ended(key api.AllocationKey) api.Event {
	return &api.Ended{Allocation: allocation(key, "n", 0), Cause: api.CausePreempted, Evicted: true}
}

// TestCauses plays what follows after a victim on node n was told to end for an ask that is
// nominated there, or is to run there only, and says why the victim is wasted, if it is.
func TestCauses(t *testing.T) {
	done := &api.ClaimEnded{Allocation: allocation("ask", "", 5), Node: "n", Nominated: true}
	gone := &api.AskEnded{Allocation: allocation("ask", "", 5)}
	for _, c := range []struct {
		name string
		then api.Effects
		want string // causes, and what is served and undecided
	}{
		{"it has not ended", api.Effects{done, gone}, "[] 0 1"},
		{"the ask runs before it has ended", api.Effects{done, placed("ask", "n", 5), ended("v")}, "[] 1 0"},
		{"the ask runs", api.Effects{ended("v"), done, placed("ask", "n", 5)}, "[] 1 0"},
		{"the ask waits on", api.Effects{ended("v")}, "[] 0 1"},
		{"the ask is removed", api.Effects{ended("v"), done, gone}, "[ask removed] 0 0"},
		{"the ask changes", api.Effects{ended("v"), cleared("ask", api.EndOfRoom), api.AskResized{Allocation: allocation("ask", "", 5)}}, "[ask changed] 0 0"},
		{"the ask runs elsewhere", api.Effects{ended("v"), done, placed("ask", "m", 5)}, "[ran elsewhere] 0 0"},
		{"the ask is nominated elsewhere", api.Effects{ended("v"), cleared("ask", api.EndOfRoom), nominated("ask", "m")}, "[more important ask] 0 0"},
		{"the ask is nominated there again", api.Effects{ended("v"), cleared("ask", api.EndOfRoom), nominated("ask", "n")}, "[] 0 1"},
		{"the ask runs there after it was nominated elsewhere", api.Effects{cleared("ask", api.EndOfRoom), nominated("ask", "m"), placed("ask", "n", 5), ended("v")}, "[] 1 0"},
		{"the node is smaller", api.Effects{ended("v"), &api.NodeResized{ID: "n"}, cleared("ask", api.EndOfRoom)}, "[node changed] 0 0"},
		{"the node is drained", api.Effects{ended("v"), cleared("ask", api.EndOfRoom), &api.NodeSchedulable{ID: "n"}}, "[node changed] 0 0"},
		{"the node goes", api.Effects{cleared("ask", api.EndOfRoom), ended("v"), &api.NodeRemoved{ID: "n"}}, "[node changed] 0 0"},
		{"something comes", api.Effects{ended("v"), api.ForeignAdded{Allocation: allocation("f", "n", 0)}, cleared("ask", api.EndOfRoom)}, "[room booked] 0 0"},
		{"it is refused", api.Effects{ended("v"), cleared("ask", api.EndByRefusal)}, "[refused] 0 0"},
		{"another is placed there", api.Effects{ended("v"), placed("other", "n", 9), cleared("ask", api.EndOfRoom)}, "[more important ask] 0 0"},
		{"another has the quota", api.Effects{ended("v"), cleared("ask", api.EndOfQuota)}, "[more important ask] 0 0"},
		{"it is overdue", api.Effects{&api.EvictionOverdue{Allocation: allocation("v", "n", 0)}, cleared("ask", api.EndOfRoom), ended("v")}, "[victim overdue] 0 0"},
		{"one like it comes", api.Effects{ended("v"), done, gone, placed("like", "n", 5)}, "[] 1 0"},
		{"one like it is nominated there", api.Effects{ended("v"), done, gone, nominated("like", "n")}, "[] 0 1"},
		{"another comes", api.Effects{ended("v"), done, gone, placed("other", "n", 4)}, "[ask removed] 0 0"},
		{"it cannot be bound", api.Effects{ended("v"), done, placed("ask", "n", 5), &api.Ended{Allocation: allocation("ask", "n", 5), Cause: api.CauseBindFailed}}, "[not bound] 0 0"},
		{"the ask ends later", api.Effects{ended("v"), done, placed("ask", "n", 5), &api.Ended{Allocation: allocation("ask", "n", 5)}}, "[] 1 0"},
	} {
		var b Book
		b.Observe(api.Effects{nominated("ask", "n"), evicted("v", "n")})
		b.Observe(c.then)
		var causes []string
		for _, event := range b.Settle() {
			causes = append(causes, event.(*VictimsWasted).Cause.String())
		}
		assert.Equal(t, len(b.Settle()), 0)
		counts := b.Counts()
		got := fmt.Sprint(causes, counts.Served, counts.Undecided)
		assert.Equal(t, got, c.want, c.name)
		assert.Equal(t, counts.Served+counts.Undecided+counts.Wasted.Total(), uint64(1), c.name)
	}
}

// TestVictimsElsewhere free quota only: they are served wherever the ask runs. A victim that is
// overdue holds up nothing where its ask comes no more.
func TestVictimsElsewhere(t *testing.T) {
	var b Book
	b.Observe(api.Effects{nominated("ask", "n"), evicted("far", "m"), evicted("near", "n"), evicted("stuck", "n"), ended("near"), ended("far")})
	b.Observe(api.Effects{&api.ClaimEnded{Allocation: allocation("ask", "", 5), Node: "n", Nominated: true}, placed("ask", "o", 5)})
	assert.Equal(t, len(b.Settle()), 0)
	b.Observe(api.Effects{&api.EvictionOverdue{Allocation: allocation("stuck", "n", 0)}})
	told := b.Settle()[0].(*VictimsWasted)
	assert.DeepEqual(t, told.Victims, []api.AllocationKey{"near"})
	assert.Equal(t, told.Message, "wasted victims, for room on node n: 1, ran elsewhere")
	counts := b.Counts()
	assert.DeepEqual(t, counts.Wasted.Named(), map[string]uint64{"ran elsewhere": 1})
	assert.Equal(t, counts.Served, uint64(1))
	b.Observe(api.Effects{ended("stuck")})
	assert.Equal(t, len(b.Settle()), 1)
	b.Observe(api.Effects{&api.Ended{Allocation: allocation("ask", "o", 5)}})
	assert.Equal(t, len(b.byAsk)+len(b.byNode)+len(b.coming)+len(b.nominated), 0) // nothing is kept
}

// The names of causes are all different, since metrics and reports count by them.
func TestNamesOfCauses(t *testing.T) {
	var names []string
	for cause := range Cause(Causes) {
		assert.Assert(t, cause.String() != "" && !slices.Contains(names, cause.String()), cause)
		names = append(names, cause.String())
	}
}
