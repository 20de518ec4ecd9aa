package worlds

import (
	"fmt"
	"strings"
	"time"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// A script is what was done in a game, as the commands of a scenario.
type script struct {
	strings.Builder

	now   time.Time
	first bool // nothing was done since the last schedule
}

func (s *script) begin(w *world) {
	fmt.Fprint(s, "config", when(w.Batch > 0, fmt.Sprint(" batch=", w.Batch)), "\n")
	for _, line := range w.yaml() {
		fmt.Fprintln(s, "  "+line)
	}
	fmt.Fprint(s, when(!w.Reserve, "# Ordinary asks keep no nodes.\n"))
	if s.now = start; w.ReserveMax > 0 {
		fmt.Fprintf(s, "# Claims without evictions last %ds.\n", w.ReserveMax)
	}
}

// answers are what the resource manager says of pods, and the budgets.
func (s *script) answers(w *world) {
	for _, r := range w.Rules {
		fmt.Fprintf(s, "%s %s %s%s\n", r.Verb, r.Pod, r.Other, when(r.Verb == "refuse", ` "no"`))
	}
	for _, x := range w.Budgets {
		fmt.Fprintf(s, "budget %s allowed=%d\n  %s\n", x.Name, x.Allowed, strings.Join(x.Members, " "))
	}
}

func (s *script) schedule() {
	if !s.first {
		fmt.Fprintln(s, "schedule")
		s.first = true
	}
}

// wait lets the time pass until now.
func (s *script) wait(now time.Time) {
	if now.After(s.now) {
		fmt.Fprintf(s, "advance %v\n", now.Sub(s.now))
		s.now = now
	}
	s.first = false
}

func (s *script) command(now time.Time, c api.Command) {
	s.wait(now)
	switch c := c.(type) {
	case api.AddNode:
		fmt.Fprintf(s, "node %s %s%s%s\n", c.ID, wordsOf(c.Capacity), when(len(c.Attributes) > 0, " attributes=rack:"+c.Attributes["rack"]), when(c.Drained, " drained"))
	case api.UpdateNode:
		if c.Attributes != nil {
			fmt.Fprintf(s, "update node %s attributes=%s\n", c.ID, when(len(c.Attributes) > 0, "rack:"+c.Attributes["rack"]))
			return
		}
		fmt.Fprintf(s, "update node %s %s\n", c.ID, wordsOf(c.Capacity))
	case api.DrainNode:
		fmt.Fprintln(s, "drain", c.ID)
	case api.UndrainNode:
		fmt.Fprintln(s, "undrain", c.ID)
	case api.RemoveNode:
		fmt.Fprintln(s, "remove node", c.ID)
	case api.AddApplication:
		fmt.Fprintf(s, "application %s queue=%s user=%s groups=dev", c.ID, c.Queue, c.User)
		fmt.Fprint(s, when(len(c.Placeholders) > 0, " "+wordsOf(c.Placeholders)), when(c.GangTimeout > 0, " timeout="+c.GangTimeout.String()), "\n")
	case api.AddAllocation:
		s.allocation(c.Allocation)
	case api.ReleaseAllocation:
		s.release(c)
	case api.Reconfigure:
		panic("the game writes it")
	}
}

func (s *script) release(c api.ReleaseAllocation) {
	switch c.Termination {
	case si.TerminationType_PREEMPTED_BY_SCHEDULER:
		fmt.Fprintln(s, "confirm", c.Key)
	case si.TerminationType_STOPPED_BY_RM:
		fmt.Fprintln(s, "release", string(c.Key)+when(c.Message != "", " message="+c.Message))
	case api.SchedulingFailed:
		fmt.Fprintf(s, "release %s type=SCHEDULING_FAILED\n", c.Key)
	default:
		fmt.Fprintf(s, "release %s type=%v\n", c.Key, c.Termination)
	}
}

func (s *script) allocation(a *api.Allocation) {
	if a.IsForeign() {
		fmt.Fprintf(s, "foreign %s node=%s %s%s", a.Key, a.Node, wordsOf(a.Amounts), when(a.Origin == api.Static, " static"))
	} else {
		fmt.Fprintf(s, "ask %s application=%s %s%s", a.Key, a.Application, wordsOf(a.Amounts), when(a.Node != "", " node="+string(a.Node)))
	}
	fmt.Fprint(s, when(a.Required != "", " required="+string(a.Required)), when(a.Originator, " originator"))
	fmt.Fprint(s, when(a.Tags[api.TagAllowPreemption] != "", " tag."+api.TagAllowPreemption+"=false"))
	fmt.Fprint(s, when(a.Tags[api.TagNodeSelector] != "", " tag."+api.TagNodeSelector+"="+a.Tags[api.TagNodeSelector]))
	fmt.Fprint(s, when(a.Preemptable.Stated, " allow-preempt-self=true allow-preempt-other=false"))
	if name := a.Tags[api.TagQuorum]; name != "" {
		fmt.Fprintf(s, " tags=%s:%s,%s:%s", api.TagQuorum, name, api.TagQuorumLeast, a.Tags[api.TagQuorumLeast])
		fmt.Fprint(s, when(a.Tags[api.TagQuorumRequire] != "", ","+api.TagQuorumRequire+":rack"))
		fmt.Fprint(s, when(a.Tags[api.TagQuorumPrefer] != "", ","+api.TagQuorumPrefer+":rack"))
		fmt.Fprint(s, when(a.Tags[api.TagQuorumEndBelow] != "", ","+api.TagQuorumEndBelow+":"+a.Tags[api.TagQuorumEndBelow]))
		fmt.Fprint(s, when(a.Tags[api.TagQuorumEach] != "", ","+api.TagQuorumEach+":rack"))
		fmt.Fprint(s, when(a.Tags[api.TagQuorumSubgroup] != "", ","+api.TagQuorumSubgroup+":"+a.Tags[api.TagQuorumSubgroup]))
		fmt.Fprint(s, when(a.Tags[api.TagQuorumSubgroupLeast] != "", ","+api.TagQuorumSubgroupLeast+":"+a.Tags[api.TagQuorumSubgroupLeast]))
		fmt.Fprint(s, when(a.Tags[api.TagQuorumPriority] != "", ","+api.TagQuorumPriority+":"+a.Tags[api.TagQuorumPriority]))
	}
	fmt.Fprint(s, when(a.TaskGroup != "", " group="+a.TaskGroup), when(a.Placeholder, " placeholder"))
	fmt.Fprint(s, when(a.Priority != 0, fmt.Sprint(" priority=", a.Priority)))
	fmt.Fprint(s, when(!a.Created.Equal(start), fmt.Sprint(" created=", a.Created.Sub(start))), "\n")
}

// wordsOf are amounts as a scenario has them.
func wordsOf(a resources.Amounts) string {
	var counted amounts
	for k := range counted {
		if counted[k] = int(a.Of(resources.Kind(k))); k == 0 {
			counted[k] /= 1000
		}
	}
	return counted.words()
}
