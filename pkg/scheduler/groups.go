package scheduler

import (
	"context"
	"fmt"
	"time"

	"go.uber.org/zap"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/identity"
)

// newGroupLookups makes what finds groups for one partition. Its goroutines end with the
// owner, or when the resolver returns.
func (s *Scheduler) newGroupLookups(o *owner, kind string) groupLookups {
	g := groupLookups{
		given:   s.config.Resolver,
		timeout: s.config.ResolveTimeout,
		run: func(f func()) {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.run(f)
		},
		answer:   o.inbox.force,
		held:     map[api.ApplicationID]*heldApplication{},
		messages: &o.held,
	}
	g.ctx, g.cancel = context.WithCancel(context.Background())
	g.use(kind)
	return g
}

// takeIn registers an application, when the groups of its user are known. Groups that come
// with it are used as they are, and remembered for no other.
func (o *owner) takeIn(now time.Time, c api.AddApplication) {
	if len(c.Groups) > 0 {
		o.apply(now, c)
		return
	}
	if answer, known := o.groups.find(now, c); known {
		o.admit(now, c, answer)
	}
}

// admit registers an application with the groups that were found. Without them only a forced
// one is, as its allocations run already.
func (o *owner) admit(now time.Time, c api.AddApplication, found identity.Answer) {
	c.Groups = found.Groups
	if found.Err != nil {
		if !c.Forced {
			o.rejectApplication(now, c, fmt.Sprintf("the groups of user %s are not known: %v", c.User, found.Err))
			return
		}
		o.log.of(logGroups).Warn("groups of a user are not known", zap.String("partition", o.name),
			zap.String("application", string(c.ID)), zap.String("user", c.User), zap.Error(found.Err))
		c.Groups = []string{noGroup}
	}
	o.apply(now, c)
}

func (o *owner) rejectApplication(now time.Time, c api.AddApplication, reason string) {
	o.tell(now, api.Effects{&api.ApplicationRejected{
		ID: c.ID, Queue: c.Queue, User: c.User, Groups: c.Groups, Tags: c.Tags, Reason: reason,
	}})
}

// goOn registers applications that were held, each followed by what came after it.
func (o *owner) goOn(now time.Time, held []*heldApplication, found identity.Answer) {
	for _, h := range held {
		o.admit(now, h.command, found)
		for _, m := range h.after {
			o.handle(now, m)
		}
	}
}

// endLateLookups goes on with applications whose groups took too long to find.
func (o *owner) endLateLookups(now time.Time) {
	for {
		held := o.groups.late(now)
		if held == nil {
			return
		}
		o.goOn(now, held, identity.Answer{Err: errNoAnswer})
	}
}
