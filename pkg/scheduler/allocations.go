package scheduler

import (
	"fmt"
	"maps"
	"strconv"
	"strings"
	"time"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/common"
	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/messages"
)

// tagRequiredNode names the only node an allocation may run on.
const tagRequiredNode = common.DomainYuniKorn + common.KeyRequiredNode

// allocations reads a request: all allocations before all releases.
func (c *conversion) allocations(request *si.AllocationRequest) {
	releases := request.GetReleases().GetAllocationsToRelease()
	c.expect(len(request.GetAllocations()) + len(releases))
	for _, a := range request.GetAllocations() {
		to, command, err := c.allocation(a)
		if err != nil {
			c.refuse(to, &api.AllocationRejected{
				Key: api.AllocationKey(a.GetAllocationKey()), Application: api.ApplicationID(a.GetApplicationID()), Reason: err.Error(),
			})
			continue
		}
		c.add(to, command)
	}
	for _, r := range releases {
		to, command, err := c.release(r)
		if err != nil {
			c.refuseSilently(to, &unanswered{"release", r.GetAllocationKey(), r.GetApplicationID(), err.Error()})
			continue
		}
		c.add(to, command)
	}
}

// allocation reads an ask, a placed allocation or a foreign one. With an error
// it returns the partition that the entry names, if there is one.
func (c *conversion) allocation(a *si.Allocation) (*owner, api.Command, error) {
	if a == nil {
		return nil, nil, errNil
	}
	to, err := c.partition(a.PartitionName)
	if err != nil {
		return nil, nil, err
	}
	if err := named(a.AllocationKey, errNoKey); err != nil {
		return to, nil, err
	}
	origin, understood := originOf(a)
	if !understood {
		c.warnings = append(c.warnings, warning{to.name, a.AllocationKey, fmt.Sprintf(
			"unknown value of tag %s: %q, taken for %s", common.Foreign, a.AllocationTags[common.Foreign], common.AllocTypeStatic)})
	}
	if origin == api.Own {
		err = checkOwn(a)
	} else {
		err = checkForeign(a)
	}
	if err != nil {
		return to, nil, err
	}
	amounts, unknown, err := messages.WantedOf(c.kinds, a.ResourcePerAlloc, c.read)
	c.read = amounts
	if err == nil && amounts.IsZero() {
		err = messages.ErrNoResources
	}
	if err != nil {
		return to, nil, fmt.Errorf("allocation %w", err)
	}
	allocation := &api.Allocation{
		Key:         api.AllocationKey(a.AllocationKey),
		Application: api.ApplicationID(a.ApplicationID),
		Node:        api.NodeID(a.NodeID),
		Amounts:     c.amounts.share(amounts),
		Unknown:     unknown,
		Priority:    a.Priority,
		Created:     c.created(to, a.AllocationKey, a.AllocationTags),
		TaskGroup:   a.TaskGroupName,
		Placeholder: a.Placeholder,
		Originator:  a.Originator,
		Preemptable: preemptableOf(a.PreemptionPolicy),
		Required:    api.NodeID(a.AllocationTags[tagRequiredNode]),
		Origin:      origin,
	}
	if origin == api.Own {
		allocation.Tags = ownTags(a.AllocationTags)
	} else {
		allocation.Application, allocation.Tags = "", c.shareTags(a.AllocationTags)
	}
	return to, api.AddAllocation{Allocation: allocation}, nil
}

// shareTags is sharedTags.share, without a look at the table for tags like those before.
func (c *conversion) shareTags(tags map[string]string) map[string]string {
	if !maps.Equal(c.lastTags, tags) {
		c.lastTags = c.tags.share(tags)
	}
	return c.lastTags
}

// originOf is the origin of an allocation, and whether its tag is understood. One of
// another scheduler that cannot be classed is never preempted.
func originOf(a *si.Allocation) (origin api.Origin, understood bool) {
	switch value, ok := a.AllocationTags[common.Foreign]; {
	case !ok:
		return api.Own, true
	case value == common.AllocTypeDefault:
		return api.Foreign, true
	case value == common.AllocTypeStatic:
		return api.Static, true
	default:
		return api.Static, false
	}
}

func checkOwn(a *si.Allocation) error {
	if err := named(a.ApplicationID, errNoApplication); err != nil {
		return err
	}
	if a.Placeholder && a.TaskGroupName == "" {
		return errNoTaskGroup
	}
	if err := short("task group", a.TaskGroupName); err != nil {
		return err
	}
	if err := short("required node", a.AllocationTags[tagRequiredNode]); err != nil {
		return err
	}
	return short("node ID", a.NodeID)
}

func checkForeign(a *si.Allocation) error {
	return named(a.NodeID, errForeignUnplaced)
}

func preemptableOf(policy *si.PreemptionPolicy) api.Preemptable {
	return api.Preemptable{
		Stated:      policy != nil,
		AllowSelf:   policy.GetAllowPreemptSelf(),
		AllowOthers: policy.GetAllowPreemptOther(),
	}
}

// clockSkewMax is how many seconds in the future a creation time may be without a warning:
// clocks differ a little.
const clockSkewMax = 60

// created is when something was created according to its tags, with a warning if that is far
// in the future.
func (c *conversion) created(to *owner, id string, tags map[string]string) time.Time {
	created, ahead := createdAt(tags, c.now)
	if ahead {
		c.warnings = append(c.warnings, warning{to.name, id, fmt.Sprintf(
			"creation time in the future, taken for now: %s", tags[common.CreationTime])})
	}
	return created
}

// createdAt is the creation time among tags, in seconds with nine digits after a point or none, or
// now if there is none or it is in the future. It says whether it is far in the future.
func createdAt(tags map[string]string, now time.Time) (created time.Time, ahead bool) {
	text, ok := tags[common.CreationTime]
	if !ok {
		return now, false // without the error of a parser, which is not free
	}
	text, digits, exact := strings.Cut(text, ".")
	seconds, err := strconv.ParseInt(text, 10, 64)
	nanoseconds := uint64(0)
	if exact && err == nil {
		nanoseconds, err = strconv.ParseUint(digits, 10, 32)
	}
	switch {
	case err != nil || seconds < 0 || exact && len(digits) != 9:
		return now, false
	case seconds > now.Unix():
		return now, seconds-now.Unix() > clockSkewMax
	}
	if created = time.Unix(seconds, int64(nanoseconds)); created.After(now) {
		return now, false
	}
	return created, false
}

// release reads the release of an allocation or ask, of a foreign allocation
// (no application), or of all of an application (no key).
func (c *conversion) release(r *si.AllocationRelease) (*owner, api.Command, error) {
	if r == nil {
		return nil, nil, errNil
	}
	to, err := c.partition(r.PartitionName)
	if err != nil {
		return nil, nil, err
	}
	if r.AllocationKey == "" && r.ApplicationID == "" {
		return to, nil, errNoKey
	}
	if err := short("allocation key", r.AllocationKey); err != nil {
		return to, nil, err
	}
	if err := short("application ID", r.ApplicationID); err != nil {
		return to, nil, err
	}
	return to, api.ReleaseAllocation{
		Application: api.ApplicationID(r.ApplicationID),
		Key:         api.AllocationKey(r.AllocationKey),
		Termination: r.TerminationType,
		Message:     r.Message,
	}, nil
}
