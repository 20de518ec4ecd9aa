package scheduler

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/identity"
)

// lookupsMax is the most users of one partition that are asked about at once.
const lookupsMax = 8

// lookedUpMax is the most groups that are taken of one answer.
const lookedUpMax = 10_000

var (
	errNoAnswer   = errors.New("the resolver did not answer in time")
	errNoResolver = errors.New("usergroupresolver.type is ldap, and this program has no such resolver")
)

// groupLookups finds the groups of users for one partition, and holds the applications that
// wait for them with everything that came after about the same application. It belongs to
// the owner; only what asks a resolver runs in goroutines of its own, at most lookupsMax.
//
//	an application is held while a lookup with a deadline waits for its user
type groupLookups struct {
	given   identity.Resolver // for the type ldap; may be nil
	timeout time.Duration
	run     func(func()) // starts a goroutine that the scheduler waits for at its end
	answer  func(message) bool

	ctx    context.Context // of all lookups
	cancel context.CancelFunc

	source    *groupSource
	held      map[api.ApplicationID]*heldApplication
	deadlines []lookupDeadline // in order; those of lookups with another deadline are old
	queued    []*groupLookup   // that wait for a goroutine
	running   int
	messages  *atomic.Int64 // that are held
}

// A groupSource is a resolver with what it said. A configuration with another resolver begins
// another.
type groupSource struct {
	kind     string
	resolver identity.Resolver // nil: the group of a user has its name
	cache    identity.Cache
	lookups  map[string]*groupLookup // by user
}

// A groupLookup is a question about one user. It stays with its goroutine when that does not
// answer in time, so that no user has two.
type groupLookup struct {
	user     string
	source   *groupSource
	deadline time.Time // zero when no application waits for it
	waiting  []*heldApplication
	started  bool
}

type lookupDeadline struct {
	at     time.Time
	lookup *groupLookup
}

// A heldApplication is a new application whose groups are looked up, and what came after it.
type heldApplication struct {
	command api.AddApplication
	after   []message
}

// A lookedUp is the answer of a resolver, in the inbox.
type lookedUp struct {
	lookup *groupLookup
	answer identity.Answer
}

// end has all lookups return. An owner that has none may be without them.
func (g *groupLookups) end() {
	if g.cancel != nil {
		g.cancel()
	}
}

// use takes the resolver that a configuration names.
func (g *groupLookups) use(kind string) {
	if g.source != nil && g.source.kind == kind {
		return
	}
	g.source = &groupSource{kind: kind, cache: identity.NewCache(), lookups: map[string]*groupLookup{}}
	switch kind {
	case "os":
		g.source.resolver = identity.System{}
	case "test":
		g.source.resolver = identity.Test{}
	case "ldap":
		g.source.resolver = g.given
		if g.given == nil {
			g.source.resolver = noResolver{}
		}
	}
}

// noResolver stands for one that is configured and not there.
type noResolver struct{}

func (noResolver) Groups(context.Context, string) ([]string, error) { return nil, errNoResolver }

// hold keeps a message back if its application waits for a lookup.
func (g *groupLookups) hold(m message) bool {
	if len(g.held) == 0 {
		return false
	}
	held := g.held[applicationOf(m)]
	if held == nil {
		return false
	}
	held.after = append(held.after, m)
	g.messages.Add(1)
	return true
}

// applicationOf is the application that a message is about; empty if it is about none.
func applicationOf(m message) api.ApplicationID {
	switch m := m.(type) {
	case api.AddApplication:
		return m.ID
	case api.UpdateApplication:
		return m.ID
	case api.RemoveApplication:
		return m.ID
	case api.AddAllocation:
		return m.Allocation.Application
	case api.ReleaseAllocation:
		return m.Application
	case *unanswered:
		return api.ApplicationID(m.application)
	case refusal:
		switch e := m.Event.(type) {
		case *api.ApplicationRejected:
			return e.ID
		case *api.AllocationRejected:
			return e.Application
		}
	}
	return ""
}

// find returns the groups of the user of an application if they are known. Otherwise it holds
// the application and looks them up.
func (g *groupLookups) find(now time.Time, c api.AddApplication) (answer identity.Answer, known bool) {
	if g.source.resolver == nil {
		return identity.Answer{Groups: []string{c.User}}, true
	}
	if answer, known := g.source.cache.Look(now, c.User); known {
		return answer, true
	}
	l := g.source.lookups[c.User]
	if l == nil {
		l = &groupLookup{user: c.User, source: g.source}
		g.source.lookups[c.User] = l
		g.queued = append(g.queued, l)
	}
	if l.deadline.IsZero() {
		l.deadline = now.Add(g.timeout)
		g.deadlines = append(g.deadlines, lookupDeadline{l.deadline, l})
	}
	held := &heldApplication{command: c}
	l.waiting = append(l.waiting, held)
	g.held[c.ID] = held
	g.messages.Add(1)
	g.startNext()
	return identity.Answer{}, false
}

// startNext asks about the users that waited longest, as long as there are goroutines for it.
func (g *groupLookups) startNext() {
	for g.running < lookupsMax && len(g.queued) > 0 {
		l := g.queued[0]
		g.queued = g.queued[1:]
		if l.deadline.IsZero() { // nothing waits for it any more
			continue
		}
		g.running++
		l.started = true
		deadline := l.deadline
		g.run(func() {
			ctx, cancel := context.WithDeadline(g.ctx, deadline)
			defer cancel()
			g.answer(&lookedUp{l, askResolver(ctx, l.source.resolver, l.user)})
		})
	}
}

// askResolver asks for the groups of a user. A panic counts as an error.
func askResolver(ctx context.Context, resolver identity.Resolver, user string) (answer identity.Answer) {
	defer func() {
		if r := recover(); r != nil {
			answer = identity.Answer{Err: fmt.Errorf("the resolver panicked: %v", r)}
		}
	}()
	groups, err := resolver.Groups(ctx, user)
	if err != nil && ctx.Err() != nil {
		err = errNoAnswer
	}
	if err != nil {
		return identity.Answer{Err: err}
	}
	var taken []string
	known := make(map[string]bool, len(groups))
	for _, group := range groups {
		if group != "" && len(group) <= namesMax && !known[group] && len(taken) < lookedUpMax {
			known[group] = true
			taken = append(taken, group)
		}
	}
	return identity.Answer{Groups: taken}
}

// answered takes in what a resolver said, and returns the applications that waited for it.
func (g *groupLookups) answered(now time.Time, r *lookedUp) []*heldApplication {
	g.running--
	l := r.lookup
	l.source.cache.Keep(now, l.user, r.answer)
	delete(l.source.lookups, l.user)
	g.startNext()
	return g.letGo(l)
}

// letGo ends the wait for a lookup.
func (g *groupLookups) letGo(l *groupLookup) []*heldApplication {
	waiting := l.waiting
	l.waiting, l.deadline = nil, time.Time{}
	for _, held := range waiting {
		delete(g.held, held.command.ID)
		g.messages.Add(int64(-1 - len(held.after)))
	}
	return waiting
}

// due is when the next lookup has taken too long.
func (g *groupLookups) due() (at time.Time, ok bool) {
	for len(g.deadlines) > 0 {
		first := g.deadlines[0]
		if first.lookup.deadline.Equal(first.at) {
			return first.at, true
		}
		g.deadlines = g.deadlines[1:]
	}
	return time.Time{}, false
}

// late returns the applications of a lookup that has taken too long; nil if there is none.
func (g *groupLookups) late(now time.Time) []*heldApplication {
	at, ok := g.due()
	if !ok || at.After(now) {
		return nil
	}
	l := g.deadlines[0].lookup
	l.source.cache.Keep(now, l.user, identity.Answer{Err: errNoAnswer})
	if !l.started {
		delete(l.source.lookups, l.user)
	}
	return g.letGo(l)
}

// giveUp returns every application that is held, in the order of their IDs.
func (g *groupLookups) giveUp() []*heldApplication {
	all := make([]*heldApplication, 0, len(g.held))
	for _, held := range g.held {
		all = append(all, held)
	}
	slices.SortFunc(all, func(a, b *heldApplication) int { return cmp.Compare(a.command.ID, b.command.ID) })
	clear(g.held)
	g.messages.Store(0)
	return all
}
