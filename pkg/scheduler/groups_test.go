package scheduler_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"
	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/scheduler"
	"github.com/narwhal-scheduler/narwhal/pkg/scheduler/schedulertest"
)

// A slowResolver answers when the test says so.
type slowResolver struct {
	mu    sync.Mutex
	asked map[string]int           // how often, by user
	open  map[string]chan struct{} // closed when a user is to be answered
	busy  int
	most  int  // at once
	deaf  bool // does not notice that the context ends
}

func newSlowResolver() *slowResolver {
	return &slowResolver{asked: map[string]int{}, open: map[string]chan struct{}{}}
}

func (r *slowResolver) gate(user string) chan struct{} {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.open[user] == nil {
		r.open[user] = make(chan struct{})
	}
	return r.open[user]
}

func (r *slowResolver) let(user string) { close(r.gate(user)) }

func (r *slowResolver) Groups(ctx context.Context, user string) ([]string, error) {
	gate := r.gate(user)
	r.mu.Lock()
	r.asked[user]++
	r.busy++
	r.most = max(r.most, r.busy)
	r.mu.Unlock()
	defer func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.busy--
	}()
	switch user {
	case "wrong":
		return nil, errors.New("the server is down")
	case "panic":
		panic("out of order")
	}
	if r.deaf {
		<-gate
		return []string{"of-" + user, "", "of-" + user}, nil
	}
	select {
	case <-gate:
		return []string{"of-" + user, "", "of-" + user}, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

const withLDAP = `
partitions:
- name: default
  usergroupresolver: {type: ldap}
  queues: [{name: default}]
`

// resolving runs a test with a resolver that answers when the test says so.
func resolving(t *testing.T, options schedulertest.Options, test func(t *testing.T, m *schedulertest.MockScheduler, r *slowResolver)) {
	t.Helper()
	if options.Config == "" {
		options.Config = withLDAP
	}
	later := &laterResolver{}
	options.Scheduler.Resolver = later
	bubble(t, options, func(t *testing.T, m *schedulertest.MockScheduler) {
		r := newSlowResolver()
		later.slowResolver = r
		m.AddNode("node-1", "vcore=100")
		m.Heard()
		test(t, m, r)
	})
}

// A laterResolver has channels of the bubble, which begins after the options are made.
type laterResolver struct{ *slowResolver }

func of(user string, ids ...string) *si.ApplicationRequest {
	request := &si.ApplicationRequest{RmID: "rm"}
	for _, id := range ids {
		request.New = append(request.New, &si.AddApplicationRequest{
			ApplicationID: id, QueueName: "root.default", Ugi: &si.UserGroupInformation{User: user},
		})
	}
	return request
}

// TestASlowResolverHoldsUpItsApplicationAlone shows that what comes after an application whose
// groups are looked up stays behind it, in order, while others go on.
func TestASlowResolverHoldsUpItsApplicationAlone(t *testing.T) {
	resolving(t, schedulertest.Options{}, func(t *testing.T, m *schedulertest.MockScheduler, r *slowResolver) {
		assert.NilError(t, m.UpdateApplication(of("slow", "app-1")))
		m.Ask("app-1", "pod-1", "vcore=1")
		m.Ask("app-1", "pod-2", "vcore=1")
		m.Release("app-1", "pod-1")
		assert.NilError(t, m.Send(&si.Allocation{AllocationKey: "pod-3", ApplicationID: "app-1"})) // refused
		assert.NilError(t, m.UpdateApplication(of("quick", "app-2")))
		m.Ask("app-2", "pod-4", "vcore=1")
		assert.DeepEqual(t, m.Heard(), []string{})
		r.let("quick")
		m.Settle()
		assert.DeepEqual(t, m.Heard(), []string{
			"application app-2 accepted", "application app-2 is Accepted", "application app-2 is Running", "allocation pod-4 placed on node-1",
		})
		m.Advance(9 * time.Second)
		assert.DeepEqual(t, m.Heard(), []string{})
		r.let("slow")
		m.Settle()
		heard := m.Heard()
		assert.Equal(t, heard[0], "application app-1 accepted")
		assert.Equal(t, heard[len(heard)-1], "allocation pod-2 placed on node-1")
		assert.Assert(t, slices.ContainsFunc(heard, func(s string) bool { return len(s) > 26 && s[:26] == "allocation pod-3 rejected:" }), "%q", heard)
		assert.DeepEqual(t, m.Application("app-1").Groups, []string{"of-slow"})
	})
}

// TestGroupsThatComeWithAnApplicationAreRememberedForNoOther shows that groups which come
// with one application are no answer for another.
func TestGroupsThatComeWithAnApplicationAreRememberedForNoOther(t *testing.T) {
	resolving(t, schedulertest.Options{}, func(t *testing.T, m *schedulertest.MockScheduler, r *slowResolver) {
		r.let("ann")
		request := of("ann", "app-1")
		request.New[0].Ugi.Groups = []string{"admins"}
		assert.NilError(t, m.UpdateApplication(request))
		assert.NilError(t, m.UpdateApplication(of("ann", "app-2")))
		m.Settle()
		assert.DeepEqual(t, m.Application("app-1").Groups, []string{"admins"})
		assert.DeepEqual(t, m.Application("app-2").Groups, []string{"of-ann"})
	})
}

// TestAnswersAreRemembered counts the questions: success is remembered for five minutes,
// failure for half a minute.
func TestAnswersAreRemembered(t *testing.T) {
	resolving(t, schedulertest.Options{}, func(t *testing.T, m *schedulertest.MockScheduler, r *slowResolver) {
		r.let("ann")
		number := 0
		for _, step := range []struct {
			after      time.Duration
			ann, wrong int
		}{{0, 1, 1}, {29 * time.Second, 1, 1}, {time.Second, 1, 2}, {269 * time.Second, 1, 3}, {time.Second, 2, 3}} {
			m.Advance(step.after)
			for _, user := range []string{"ann", "wrong"} {
				number++
				assert.NilError(t, m.UpdateApplication(of(user, fmt.Sprint("app-", number))))
				m.Settle()
			}
			assert.Equal(t, r.asked["ann"], step.ann, "after %v", step.after)
			assert.Equal(t, r.asked["wrong"], step.wrong, "after %v", step.after)
		}
	})
}

func TestAFailedResolution(t *testing.T) {
	resolving(t, schedulertest.Options{}, func(t *testing.T, m *schedulertest.MockScheduler, r *slowResolver) {
		for _, user := range []string{"wrong", "panic", "silent"} {
			assert.NilError(t, m.UpdateApplication(of(user, "app-"+user)))
			forced := of(user, "forced-"+user)
			forced.New[0].Tags = map[string]string{"application.create.force": "true"}
			assert.NilError(t, m.UpdateApplication(forced))
		}
		m.Advance(10 * time.Second)
		heard := m.Heard()
		slices.Sort(heard)
		assert.DeepEqual(t, heard, []string{
			"application app-panic rejected: the groups of user panic are not known: the resolver panicked: out of order",
			"application app-silent rejected: the groups of user silent are not known: the resolver did not answer in time",
			"application app-wrong rejected: the groups of user wrong are not known: the server is down",
			"application forced-panic accepted", "application forced-silent accepted", "application forced-wrong accepted",
		})
		for _, user := range []string{"wrong", "panic", "silent"} {
			assert.DeepEqual(t, m.Application("forced-"+user).Groups, []string{"nogroup"})
		}
	})
}

// TestLookUpsAreBounded has a resolver that never returns asked about ten times as many users
// as have goroutines, ten times over.
func TestLookUpsAreBounded(t *testing.T) {
	resolving(t, schedulertest.Options{}, func(t *testing.T, m *schedulertest.MockScheduler, r *slowResolver) {
		r.deaf = true
		for round := range 10 {
			for i := range 80 {
				assert.NilError(t, m.UpdateApplication(of(fmt.Sprint("user-", i), fmt.Sprint("app-", round, "-", i))))
			}
			m.Advance(41 * time.Second) // they fail, and that is forgotten
			assert.Equal(t, len(m.Heard()), 80)
		}
		assert.Equal(t, r.most, 8)
		assert.Equal(t, len(r.asked), 8)
		for _, times := range r.asked {
			assert.Equal(t, times, 1)
		}
		for user := range maps.Keys(r.asked) {
			r.let(user)
		}
		m.Settle()
		r.let("user-79")
		assert.NilError(t, m.UpdateApplication(of("user-79", "app-last")))
		m.Settle()
		assert.DeepEqual(t, m.Heard(), []string{"application app-last accepted"})
	})
}

// TestHeldMessagesCount shows that what waits for groups counts against the limit of the inbox,
// until it waits no more.
func TestHeldMessagesCount(t *testing.T) {
	options := schedulertest.Options{Scheduler: scheduler.Config{InboxMax: 10}}
	resolving(t, options, func(t *testing.T, m *schedulertest.MockScheduler, r *slowResolver) {
		assert.NilError(t, m.UpdateApplication(of("slow", "app-1")))
		for i := range 9 {
			assert.NilError(t, m.Send(&si.Allocation{
				AllocationKey: fmt.Sprint("pod-", i), ApplicationID: "app-1", ResourcePerAlloc: schedulertest.Resource("vcore=1"),
			}))
			m.Settle()
		}
		assert.ErrorIs(t, m.UpdateApplication(of("other", "app-2")), scheduler.ErrInboxFull)
		r.let("slow")
		m.Settle()
		assert.NilError(t, m.UpdateApplication(of("other", "app-2")))
		m.Settle()
	})
}

// TestTheResolverFollowsTheConfiguration changes it while a look-up is under way, and drops a
// partition in which one is.
func TestTheResolverFollowsTheConfiguration(t *testing.T) {
	resolving(t, schedulertest.Options{}, func(t *testing.T, m *schedulertest.MockScheduler, r *slowResolver) {
		assert.NilError(t, m.UpdateApplication(of("ann", "app-1")))
		assert.NilError(t, m.Configure(oneQueue))
		assert.NilError(t, m.UpdateApplication(of("ann", "app-2")))
		m.Settle()
		assert.DeepEqual(t, m.Application("app-2").Groups, []string{"ann"})
		r.let("ann")
		m.Settle()
		assert.DeepEqual(t, m.Application("app-1").Groups, []string{"of-ann"})
		m.Heard()
		assert.NilError(t, m.Configure(`partitions: [{name: default, usergroupresolver: {type: test}, queues: [{name: default}]}]`))
		assert.NilError(t, m.UpdateApplication(of("testuser2", "app-3")))
		assert.NilError(t, m.UpdateApplication(of("ann", "app-4")))
		m.Settle()
		assert.DeepEqual(t, m.Application("app-3").Groups, []string{"testuser2", "testers"})
		assert.Assert(t, m.Application("app-4") == nil)
		assert.NilError(t, m.Configure(withLDAP))
		m.Heard()
		assert.NilError(t, m.UpdateApplication(of("eve", "app-5")))
		m.Settle()
		assert.NilError(t, m.Configure(`partitions: [{name: other, queues: [{name: default}]}]`))
		m.Settle()
		assert.Assert(t, slices.Contains(m.Heard(), "application app-5 rejected: the partition was removed"))
	})
}

func TestWithoutAnLDAPResolver(t *testing.T) {
	bubble(t, schedulertest.Options{Config: withLDAP}, func(t *testing.T, m *schedulertest.MockScheduler) {
		assert.NilError(t, m.UpdateApplication(of("ann", "app-1")))
		m.Settle()
		assert.DeepEqual(t, m.Heard(), []string{
			"application app-1 rejected: the groups of user ann are not known: usergroupresolver.type is ldap, and this program has no such resolver",
		})
	})
}

// TestARemovedApplicationThatWaitsForItsGroups may come again at once, of another user.
func TestARemovedApplicationThatWaitsForItsGroups(t *testing.T) {
	resolving(t, schedulertest.Options{}, func(t *testing.T, m *schedulertest.MockScheduler, r *slowResolver) {
		assert.NilError(t, m.UpdateApplication(of("ann", "app-1")))
		m.RemoveApplication("app-1")
		assert.NilError(t, m.UpdateApplication(of("bob", "app-1")))
		m.Ask("app-1", "pod-1", "vcore=1")
		r.let("ann")
		m.Settle()
		assert.DeepEqual(t, m.Heard(), []string{"application app-1 accepted"})
		assert.Assert(t, m.Application("app-1") == nil)
		r.let("bob")
		m.Settle()
		assert.DeepEqual(t, m.Application("app-1").Groups, []string{"of-bob"})
		assert.Equal(t, m.WaitPlaced("pod-1"), "node-1")
	})
}
