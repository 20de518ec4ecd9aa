package scheduler

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/common"
	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/messages"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// The user and the group of an application that is forced in without a user.
const (
	noUser  = "nobody"
	noGroup = "nogroup"
)

// applications reads a request: all that are new before all that are removed.
func (c *conversion) applications(request *si.ApplicationRequest) {
	c.expect(len(request.GetNew()) + len(request.GetRemove()))
	for _, a := range request.GetNew() {
		to, command, err := c.application(a)
		if err != nil {
			c.refuse(to, applicationRejected(a, err))
			continue
		}
		c.add(to, command)
	}
	for _, r := range request.GetRemove() {
		to, command, err := c.removal(r)
		if err != nil {
			c.refuseSilently(to, &unanswered{"removal", "", r.GetApplicationID(), err.Error()})
			continue
		}
		c.add(to, command)
	}
}

// applicationRejected is the answer to a new application that is refused.
func applicationRejected(a *si.AddApplicationRequest, err error) *api.ApplicationRejected {
	return &api.ApplicationRejected{
		ID:     api.ApplicationID(a.GetApplicationID()),
		Queue:  api.QueuePath(a.GetQueueName()),
		User:   a.GetUgi().GetUser(),
		Groups: slices.Clone(a.GetUgi().GetGroups()),
		Tags:   maps.Clone(a.GetTags()),
		Reason: err.Error(),
	}
}

// application reads a new application. With an error it returns the partition
// that the entry names, if there is one.
func (c *conversion) application(a *si.AddApplicationRequest) (*owner, api.Command, error) {
	if a == nil {
		return nil, nil, errNil
	}
	to, err := c.partition(a.PartitionName)
	if err != nil {
		return nil, nil, err
	}
	if err := named(a.ApplicationID, errNoApplication); err != nil {
		return to, nil, err
	}
	if update, _ := strconv.ParseBool(tag(a.Tags, TagUpdate)); update {
		return to, c.updated(to, a), nil
	}
	if err := short("queue name", a.QueueName); err != nil {
		return to, nil, err
	}
	forced, _ := strconv.ParseBool(tag(a.Tags, common.AppTagCreateForce))
	user, groups := a.GetUgi().GetUser(), slices.Clone(a.GetUgi().GetGroups())
	if user == "" {
		if !forced {
			return to, nil, errNoUser
		}
		user, groups = noUser, []string{noGroup}
	}
	if err := short("user", user); err != nil {
		return to, nil, err
	}
	for _, group := range groups {
		if err := short("group", group); err != nil {
			return to, nil, err
		}
	}
	placeholders, err := c.placeholders(a.PlaceholderAsk)
	if err != nil {
		return to, nil, err
	}
	command := api.AddApplication{
		Placeholders: placeholders,
		Style:        styleOf(a.GangSchedulingStyle),
		GangTimeout:  timeoutOf(a.ExecutionTimeoutMilliSeconds),

		ID:     api.ApplicationID(a.ApplicationID),
		Queue:  api.QueuePath(a.QueueName),
		User:   user,
		Groups: groups,
		Tags:   maps.Clone(a.Tags),
		Forced: forced,
		Quota:  c.quota(to, a.ApplicationID, a.Tags),
	}
	text, dated := a.Tags[common.DomainYuniKorn+common.CreationTime] // as the shim of YuniKorn says it
	if !dated {
		text, dated = a.Tags[common.CreationTime]
	}
	if dated {
		command.Created = c.created(to, a.ApplicationID, map[string]string{common.CreationTime: text})
	}
	return to, command, nil
}

// TagUpdate marks, with "true", a new application that is known already: it has other tags from then on, and the queue
// that was made for it the quota that they say, or none. The interface has no request for that. There is no answer; one
// that is not known is left out.
const TagUpdate = "application.update"

// updated reads other tags of an application. A quota that cannot be read leaves that of the queue as it is.
func (c *conversion) updated(to *owner, a *si.AddApplicationRequest) api.UpdateApplication {
	command := api.UpdateApplication{ID: api.ApplicationID(a.ApplicationID), Tags: maps.Clone(a.Tags)}
	maps.DeleteFunc(command.Tags, func(name, _ string) bool { return strings.EqualFold(name, TagUpdate) })
	warnings := len(c.warnings)
	if command.Quota = c.quota(to, a.ApplicationID, a.Tags); command.Quota == nil && len(c.warnings) == warnings {
		command.Quota = new(api.QueueQuota)
	}
	return command
}

// placeholders is the sum of the placeholders of a gang. Those of kinds that are not known do
// not count: nothing says whether they are there.
func (c *conversion) placeholders(sum *si.Resource) (resources.Amounts, error) {
	if sum == nil {
		return nil, nil
	}
	amounts, unknown, err := messages.WantedOf(c.kinds, sum, nil)
	if err != nil {
		return nil, fmt.Errorf("placeholders %w", err)
	}
	if len(unknown) > 0 {
		kind, _ := c.kinds.Lookup(resources.UnknownKind)
		amounts.Set(kind, 0)
	}
	return amounts, nil
}

// styleOf is a style of gang scheduling. What is not known is soft.
func styleOf(style string) api.GangStyle {
	if style == api.Hard.String() {
		return api.Hard
	}
	return api.Soft
}

// timeoutOf is how long placeholders wait; zero is what holds where nothing is stated.
func timeoutOf(milliseconds int64) time.Duration {
	if milliseconds <= 0 || milliseconds > math.MaxInt64/int64(time.Millisecond) {
		return 0
	}
	return time.Duration(milliseconds) * time.Millisecond
}

// tag finds a tag whatever the case of its name. Of several the first by name
// counts.
func tag(tags map[string]string, name string) string {
	found := ""
	for key := range tags {
		if strings.EqualFold(key, name) && (found == "" || key < found) {
			found = key
		}
	}
	return tags[found]
}

func (c *conversion) removal(r *si.RemoveApplicationRequest) (*owner, api.Command, error) {
	if r == nil {
		return nil, nil, errNil
	}
	to, err := c.partition(r.PartitionName)
	if err != nil {
		return nil, nil, err
	}
	if err := named(r.ApplicationID, errNoApplication); err != nil {
		return to, nil, err
	}
	return to, api.RemoveApplication{ID: api.ApplicationID(r.ApplicationID)}, nil
}
