package object

import (
	"cmp"
	"slices"
	"time"

	"github.com/narwhal-scheduler/narwhal/pkg/archive"
	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/webservice/encoder"
)

// An applicationEntry is an application as it is or, if it is over, as it was.
type applicationEntry struct {
	*api.ApplicationView
	over *archive.ApplicationRecord // nil while it goes on
}

func (a applicationEntry) state() string {
	if a.over != nil {
		return a.over.State
	}
	return a.State.String()
}

// over reports whether an application has ended.
func over(a *api.ApplicationView) bool { return a.State.IsLast() }

// active is those of the applications that go on.
func (at *Snapshot) active(all []*api.ApplicationView) []applicationEntry {
	out := make([]applicationEntry, 0, len(all))
	for _, a := range all {
		if !over(a) {
			out = append(out, applicationEntry{ApplicationView: a})
		}
	}
	return out
}

// ended is the applications that have ended, whichever way. The archive may be
// ahead of the view: what goes on there has not ended.
func (at *Snapshot) ended() []*archive.ApplicationRecord {
	ended, _ := at.gone()
	return slices.DeleteFunc(slices.Clone(ended), func(l *archive.ApplicationRecord) bool {
		app := at.Application(l.ID)
		return app != nil && !over(app) && app.Submitted.Equal(l.Submitted)
	})
}

// rejected is the applications that were not taken in.
func (at *Snapshot) rejected() []*archive.ApplicationRecord {
	_, rejected := at.gone()
	return rejected
}

// endedOf is applications of the archive by ID, the older of one ID first.
func endedOf(records []*archive.ApplicationRecord) []applicationEntry {
	out := make([]applicationEntry, len(records))
	for i, l := range records {
		out[i] = applicationEntry{over: l, ApplicationView: &api.ApplicationView{
			ID: l.ID, Queue: l.Queue, User: l.User, Groups: l.Groups, Tags: l.Tags, Submitted: l.Submitted,
		}}
	}
	slices.SortStableFunc(out, func(a, b applicationEntry) int { return cmp.Compare(a.ID, b.ID) })
	return out
}

// fillPast fills in what an application has been.
func (at *Snapshot) fillPast(a applicationEntry, out *applicationJSON) {
	record := a.over
	if record == nil {
		record = at.past.Application(a.ID)
	}
	if record == nil {
		record = &archive.ApplicationRecord{}
	}
	out.MaxUsedResource, out.FinishedTime, out.RejectedMessage = record.MaxUsed, record.Finished, record.Rejection
	out.StateLog = stateLog(a, record)
	if len(record.Used)+len(record.Preempted)+len(record.Placeholders) > 0 {
		out.ResourceHistory = &usedJSON{at.usageOf(record.Used), at.usageOf(record.Preempted), at.usageOf(record.Placeholders)}
	}
	started := record.Started
	if started.IsZero() && a.over == nil && a.State == api.Running {
		started = a.Since
	}
	out.StartTime = started.UnixMilli() // of the zero time it is what clients know for never
}

// stateLog is the changes of state up to the view, of which the archive may know
// more or not all.
func stateLog(a applicationEntry, record *archive.ApplicationRecord) []stateJSON {
	var out []stateJSON
	for _, change := range record.Changes {
		if a.over != nil || !change.At.After(a.Since) {
			out = append(out, stateJSON{change.At, change.State, change.Reason})
		}
	}
	if a.over == nil && a.State != api.New && (len(out) == 0 || out[len(out)-1].ApplicationState != a.state()) {
		out = append(out, stateJSON{Time: a.Since, ApplicationState: a.state()})
	}
	return out
}

func (at *Snapshot) usageOf(list []archive.ResourceUsage) map[string]encoder.Quantities {
	out := make(map[string]encoder.Quantities, len(list))
	for _, u := range list {
		out[u.Instance] = at.Amounts(u.Amounts)
	}
	return out
}

// since is when the partition began to be in its state, of which there is one.
func (at *Snapshot) since(otherwise time.Time) time.Time {
	if began := at.past.Since(); !began.IsZero() {
		return began
	}
	return otherwise
}
