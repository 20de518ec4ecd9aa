package events

import (
	"fmt"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
)

// compareLimits records the limits of users and groups in a queue that are gone, then those
// that are new or others than before.
func (d queueChanges) compareLimits(path string, before, after []api.Limit) {
	if len(before)+len(after) == 0 {
		return
	}
	was, is := api.LimitsByOwner(before), api.LimitsByOwner(after)
	ownersOf(before, func(owner api.LimitOwner) {
		if is[owner] == nil {
			d.limit(path, owner, si.EventRecord_REMOVE, nil)
		}
	})
	ownersOf(after, func(owner api.LimitOwner) {
		now, old := is[owner], was[owner]
		if old == nil || old.ApplicationsMax != now.ApplicationsMax || !old.Max.Equal(now.Max) {
			d.limit(path, owner, si.EventRecord_SET, now)
			d.limitBefore(old)
		}
	})
}

// ownersOf visits the users and groups of limits as they are configured.
func ownersOf(limits []api.Limit, visit func(api.LimitOwner)) {
	for i := range limits {
		for _, name := range limits[i].Users {
			visit(api.LimitOwner{Name: name})
		}
		for _, name := range limits[i].Groups {
			visit(api.LimitOwner{Group: true, Name: name})
		}
	}
}

// limit records that a user or group has a limit in a queue, or none any more.
func (d queueChanges) limit(path string, owner api.LimitOwner, change si.EventRecord_ChangeType, limit *api.Limit) {
	record := &si.EventRecord{
		Type: si.EventRecord_USERGROUP, ObjectID: owner.Name, ReferenceID: path,
		EventChangeType: change, EventChangeDetail: si.EventRecord_UG_USER_LIMIT,
	}
	if owner.Group {
		record.EventChangeDetail = si.EventRecord_UG_GROUP_LIMIT
	}
	if limit != nil {
		record.Resource = d.limits(limit.Max)
		if limit.ApplicationsMax > 0 {
			record.Message = fmt.Sprintf("applications: %d", limit.ApplicationsMax)
		}
	}
	d.add(record)
}

// limitBefore says in the last record which limit there was, if there was one.
func (d queueChanges) limitBefore(old *api.Limit) {
	if old == nil {
		return
	}
	text := "before: " + d.kinds.FormatLimits(old.Max)
	if old.ApplicationsMax > 0 {
		text += fmt.Sprintf(", applications: %d", old.ApplicationsMax)
	}
	last := d.records[len(d.records)-1]
	if last.Message != "" {
		text = last.Message + "; " + text
	}
	last.Message = text
}

// group records for which group an application counts.
func (c *conversion) group(e *api.ApplicationGroup) {
	link := func(group string, change si.EventRecord_ChangeType) {
		if group != "" {
			c.add(&si.EventRecord{
				Type: si.EventRecord_USERGROUP, ObjectID: group, ReferenceID: string(e.ID),
				EventChangeType: change, EventChangeDetail: si.EventRecord_UG_APP_LINK,
			})
		}
	}
	link(e.Before, si.EventRecord_REMOVE)
	link(e.Group, si.EventRecord_SET)
}

// held records that a limit of applications holds an application back, or does not any more.
func (c *conversion) held(e *api.ApplicationHeld) {
	detail := si.EventRecord_APP_RUNNABLE_QUOTA
	switch queue := e.Reason == api.QueueApplications; {
	case e.Held && queue:
		detail = si.EventRecord_APP_CANNOTRUN_QUEUE
	case e.Held:
		detail = si.EventRecord_APP_CANNOTRUN_QUOTA
	case queue:
		detail = si.EventRecord_APP_RUNNABLE_QUEUE
	}
	c.application(e.ID, si.EventRecord_NONE, detail, e.Detail)
}
