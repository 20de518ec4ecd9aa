package archive

import (
	"math"
	"math/big"
	"slices"
	"time"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/reports"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// This file is a second archive, which has the whole past before it and works out
// each answer from the beginning: from what was there after each step, where the
// book goes by what steps say.

// appAt is an application at a moment; nil if there is none.
func appAt(m *moment, id api.ApplicationID) *api.ApplicationView {
	for _, a := range m.view.Applications {
		if a.ID == id {
			return a
		}
	}
	return nil
}

// userAt is the user of an application; empty if it is not there.
func userAt(m *moment, id api.ApplicationID) string {
	if a := appAt(m, id); a != nil {
		return a.User
	}
	return ""
}

func nodeAt(m *moment, id api.NodeID) *api.NodeView {
	for _, n := range m.view.Nodes {
		if n.ID == id {
			return n
		}
	}
	return nil
}

func runsAt(m *moment, id api.ApplicationID, key api.AllocationKey) *api.Allocation {
	if app := appAt(m, id); app != nil {
		for _, a := range app.Allocations {
			if a.Key == key {
				return a
			}
		}
	}
	return nil
}

func waitsAt(m *moment, id api.ApplicationID, key api.AllocationKey) bool {
	app := appAt(m, id)
	return app != nil && slices.ContainsFunc(app.Asks, func(a api.AskView) bool { return a.Key == key })
}

func evictedAt(m *moment, node api.NodeID, key api.AllocationKey) bool {
	n := nodeAt(m, node)
	return n != nil && slices.ContainsFunc(n.Evictions, func(l api.Eviction) bool { return l.Key == key && !l.Reported })
}

// naiveRecords is the records of all applications that ended, in that order, and of
// those that go on; none is forgotten.
func naiveRecords(moments []moment) (ended, active []*ApplicationRecord) {
	begun := map[api.ApplicationID]int{} // moments
	for i := range moments {
		for id, first := range begun {
			if appAt(&moments[i], id) == nil {
				ended = append(ended, naiveRecord(moments[first:i+1], id))
				delete(begun, id)
			}
		}
		for _, app := range moments[i].view.Applications {
			if _, known := begun[app.ID]; !known {
				begun[app.ID] = i
			}
		}
	}
	for id, first := range begun {
		active = append(active, naiveRecord(moments[first:], id))
	}
	return ended, active
}

// naiveRecord is the record of an application, given the moments of it and, if it
// has ended, the one at which it had.
func naiveRecord(moments []moment, id api.ApplicationID) *ApplicationRecord {
	l := &ApplicationRecord{ID: id, State: "New"}
	for i := range moments {
		m := &moments[i]
		for _, effect := range m.Effects {
			if e, ok := effect.(*api.ApplicationChanged); ok && e.ID == id {
				l.Changes = append(l.Changes, StateChange{m.Now, e.State.String(), e.Message})
			}
		}
		app := appAt(m, id)
		if app == nil {
			l.Finished = m.Now
			if _, removed := m.command.(api.RemoveApplication); removed {
				before := appAt(&moments[i-1], id).State
				state := Failed
				if before == api.New || before == api.Completing {
					state = api.Completed.String()
				}
				l.Changes = append(l.Changes, StateChange{m.Now, state, "it was removed"})
			}
			break
		}
		l.Queue, l.User, l.Submitted = app.Queue, app.User, app.Submitted
		if l.Started.IsZero() && app.State == api.Running {
			l.Started = m.Now
		}
		used := resources.Amounts{0, 0}
		for _, a := range app.Allocations {
			if !a.Placeholder {
				used.Add(a.Amounts)
			}
		}
		l.MaxUsed.Raise(used)
	}
	if len(l.Changes) > 0 {
		l.State = l.Changes[len(l.Changes)-1].State
	}
	l.Changes = l.Changes[max(0, len(l.Changes)-changesMax):]
	l.Used, l.Preempted, l.Placeholders = naiveUsage(moments, id)
	return l
}

// naiveUsage looks at each allocation for as long as it had the same amounts.
func naiveUsage(moments []moment, id api.ApplicationID) (used, preempted, placeholders []ResourceUsage) {
	since := map[api.AllocationKey]time.Time{}
	for i := range moments {
		m := &moments[i]
		if i > 0 && appAt(&moments[i-1], id) != nil {
			before := &moments[i-1]
			for _, a := range appAt(before, id).Allocations {
				now := runsAt(m, id, a.Key)
				if now != nil && now.Amounts.Equal(a.Amounts) {
					continue
				}
				release, _ := m.command.(api.ReleaseAllocation)
				on := &used
				switch {
				case now == nil && release.Termination == api.SchedulingFailed && release.Key == a.Key && waitsAt(m, id, a.Key):
					on = nil
				case now == nil && (evictedAt(before, a.Node, a.Key) || release.Termination == si.TerminationType_PREEMPTED_BY_SCHEDULER):
					on = &preempted
				case a.Placeholder:
					on = &placeholders
				}
				if on != nil {
					instance := nodeAt(before, a.Node).Attributes["si/instance-type"]
					naiveAdd(on, instance, a.Amounts, m.Now.Sub(since[a.Key]))
				}
				since[a.Key] = m.Now
			}
		}
		if app := appAt(m, id); app != nil {
			for _, a := range app.Allocations {
				if i == 0 || runsAt(&moments[i-1], id, a.Key) == nil {
					since[a.Key] = m.Now
				}
			}
		}
	}
	return used, preempted, placeholders
}

func naiveAdd(on *[]ResourceUsage, instance string, amounts resources.Amounts, d time.Duration) {
	if instance == "" {
		instance = "UNKNOWN"
	}
	i := slices.IndexFunc(*on, func(s ResourceUsage) bool { return s.Instance == instance })
	if i < 0 {
		i = len(*on)
		*on = append(*on, ResourceUsage{Instance: instance})
	}
	for kind, quantity := range amounts {
		product := new(big.Int).Mul(big.NewInt(quantity), big.NewInt(int64(d)))
		product.Div(product, big.NewInt(int64(time.Second)))
		if !product.IsInt64() {
			product.SetInt64(math.MaxInt64)
		}
		(*on)[i].Amounts.Set(resources.Kind(kind), (*on)[i].Amounts.Of(resources.Kind(kind))+product.Int64())
	}
	slices.SortFunc(*on, func(a, b ResourceUsage) int { return cmpText(a.Instance, b.Instance) })
}

func cmpText(a, b string) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

// naiveReasons is what was told of an ask since it last began to wait.
func naiveReasons(moments []moment, id api.ApplicationID, key api.AllocationKey) (said []StateChange, scaleUp bool) {
	for i := range moments {
		m := &moments[i]
		if !waitsAt(m, id, key) || i > 0 && !waitsAt(&moments[i-1], id, key) {
			said, scaleUp = nil, false
		}
		if !waitsAt(m, id, key) {
			continue
		}
		if c, ok := m.command.(api.ReleaseAllocation); ok && c.Key == key && runsAt(&moments[i-1], id, key) != nil {
			said = append(said, StateChange{m.Now, "", "binding failed: " + c.Message})
		}
		for _, effect := range m.Effects {
			switch e := effect.(type) {
			case *api.Unschedulable:
				if e.Key == key {
					said, scaleUp = append(said, StateChange{m.Now, "", e.Reason}), true
				}
			case *api.Claimed:
				if e.Key == key && e.Plan != nil {
					said = append(said, StateChange{m.Now, "", e.Reason})
				}
			case *api.ClaimEnded:
				if e.Key == key && e.Nominated && e.Waits() {
					said = append(said, StateChange{m.Now, "", "no longer nominated to node " + string(e.Node) + ": " + e.Reason})
				}
			case *api.AskReport:
				if e.Key == key {
					said = append(said, StateChange{m.Now, "", e.Message})
				}
			case *reports.AskWaits:
				if e.Key == key {
					said = append(said, StateChange{m.Now, "", e.Message})
				}
			}
		}
	}
	return said, scaleUp
}

// folded is what was told, each reason once, by when it was told last.
func folded(said []StateChange) (out []PendingReason) {
	for i, one := range said {
		later := slices.ContainsFunc(said[i+1:], func(other StateChange) bool { return other.Reason == one.Reason })
		if later {
			continue
		}
		count := 0
		for _, other := range said {
			if other.Reason == one.Reason {
				count++
			}
		}
		out = append(out, PendingReason{one.Reason, one.At, int64(count)})
	}
	return out
}

// naiveCounts is what there was just before the end of each minute.
func naiveCounts(moments []moment, until time.Time) (out []Count) {
	for end := moments[0].Now.Truncate(time.Minute).Add(time.Minute); !end.After(until); end = end.Add(time.Minute) {
		last := &moments[0]
		for i := range moments {
			if moments[i].Now.Before(end) {
				last = &moments[i]
			}
		}
		c := Count{At: end}
		for _, app := range last.view.Applications {
			if app.State == api.Running {
				c.Applications++
			}
			c.Containers += int64(len(app.Allocations))
		}
		out = append(out, c)
	}
	return out[max(0, len(out)-minutesMax):]
}
