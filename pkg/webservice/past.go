package webservice

import (
	"cmp"
	"slices"
	"time"

	"github.com/narwhal-scheduler/narwhal/pkg/archive"
	"github.com/narwhal-scheduler/narwhal/pkg/core"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// A story is an application as it is or, if it is over, as it was.
type story struct {
	*core.ApplicationView
	over *archive.ApplicationRecord // nil while it goes on
}

func (a story) state() string {
	if a.over != nil {
		return a.over.State
	}
	return a.State.String()
}

// over reports whether an application has ended.
func over(a *core.ApplicationView) bool { return a.State == core.Completed || a.State == core.Failed }

// active is those of the applications that go on.
func (at *snapshot) active(all []*core.ApplicationView) []story {
	out := make([]story, 0, len(all))
	for _, a := range all {
		if !over(a) {
			out = append(out, story{ApplicationView: a})
		}
	}
	return out
}

// ended is the applications that have ended, whichever way. The archive may be
// ahead of the view: what goes on there has not ended.
func (at *snapshot) ended() []*archive.ApplicationRecord {
	ended, _ := at.gone()
	return slices.DeleteFunc(slices.Clone(ended), func(l *archive.ApplicationRecord) bool {
		i, found := slices.BinarySearchFunc(at.Applications, l.ID, func(a *core.ApplicationView, id core.ApplicationID) int { return cmp.Compare(a.ID, id) })
		return found && !over(at.Applications[i]) && at.Applications[i].Submitted.Equal(l.Submitted)
	})
}

// rejected is the applications that were not taken in.
func (at *snapshot) rejected() []*archive.ApplicationRecord {
	_, rejected := at.gone()
	return rejected
}

// storiesOf is lives by ID, the older of one ID first.
func storiesOf(lives []*archive.ApplicationRecord) []story {
	out := make([]story, len(lives))
	for i, l := range lives {
		out[i] = story{over: l, ApplicationView: &core.ApplicationView{
			ID: l.ID, Queue: l.Queue, User: l.User, Groups: l.Groups, Tags: l.Tags, Submitted: l.Submitted,
		}}
	}
	slices.SortStableFunc(out, func(a, b story) int { return cmp.Compare(a.ID, b.ID) })
	return out
}

// fillPast fills in what an application has been.
func (at *snapshot) fillPast(a story, out *applicationJSON) {
	life := a.over
	if life == nil {
		life = at.past.Application(a.ID)
	}
	if life == nil {
		life = &archive.ApplicationRecord{}
	}
	out.MaxUsedResource, out.FinishedTime, out.RejectedMessage = life.MaxUsed, life.Finished, life.Rejection
	out.StateLog = stateLog(a, life)
	if len(life.Used)+len(life.Preempted)+len(life.Placeholders) > 0 {
		out.ResourceHistory = &spentJSON{spentOf(life.Used), spentOf(life.Preempted), spentOf(life.Placeholders)}
	}
	started := life.Started
	if started.IsZero() && a.over == nil && a.State == core.Running {
		started = a.Since
	}
	out.StartTime = started.UnixMilli() // of the zero time it is what clients know for never
}

// stateLog is the changes of state up to the view, of which the archive may know
// more or not all.
func stateLog(a story, life *archive.ApplicationRecord) []stateJSON {
	var out []stateJSON
	for _, turn := range life.Changes {
		if a.over != nil || !turn.At.After(a.Since) {
			out = append(out, stateJSON{turn.At, turn.State, turn.Reason})
		}
	}
	if a.over == nil && a.State != core.New && (len(out) == 0 || out[len(out)-1].ApplicationState != a.state()) {
		out = append(out, stateJSON{Time: a.Since, ApplicationState: a.state()})
	}
	return out
}

func spentOf(list []archive.ResourceUsage) map[string]resources.Amounts {
	out := make(map[string]resources.Amounts, len(list))
	for _, s := range list {
		out[s.Instance] = s.Amounts
	}
	return out
}

// since is when the partition began to be in its state, of which there is one.
func (at *snapshot) since(otherwise time.Time) time.Time {
	if began := at.past.Since(); !began.IsZero() {
		return began
	}
	return otherwise
}
