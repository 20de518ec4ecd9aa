package core_test

import (
	"fmt"
	"syscall"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/core"
	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// processorUsed is the processor time that the process has used so far.
func processorUsed() time.Duration {
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		panic(err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

// processorTime is how much of it a function takes, the least of three runs.
func processorTime(f func()) time.Duration {
	least := time.Duration(-1)
	for range 3 {
		before := processorUsed()
		f()
		if took := processorUsed() - before; least < 0 || took < least {
			least = took
		}
	}
	return least
}

// limitedBy is a queue with so many limits of so many users and groups each.
func limitedBy(limits, names int) api.Config {
	q := api.QueueConfig{Name: "a"}
	for i := range limits {
		l := api.Limit{Max: resources.Limits{int64(i + 1)}, ApplicationsMax: 1}
		for j := range names {
			l.Users = append(l.Users, fmt.Sprintf("user-%d-%d", i, j))
			l.Groups = append(l.Groups, fmt.Sprintf("group-%d-%d", i, j))
		}
		q.Limits = append(q.Limits, l)
	}
	return api.Config{Name: "default", Root: api.QueueConfig{Name: "root", Parent: true, Queues: []api.QueueConfig{q}}}
}

// TestManyNamesInLimits: what an application costs does not grow with the names in the limits of
// its queue, when it comes and when the configuration changes.
func TestManyNamesInLimits(t *testing.T) {
	if testing.Short() {
		t.Skip("long, so make test-long plays it")
	}
	const applications = 20_000
	cost := func(limits, names int) time.Duration {
		changes := []api.Config{limitedBy(limits, names), limitedBy(limits, names)}
		changes[0].Root.Queues[0].Limits[0].ApplicationsMax = 7
		return processorTime(func() {
			p := core.NewPartition(api.Options{Kinds: testKinds()}, changes[1])
			for i := range applications {
				groups := []string{"none", "neither"}
				if i%2 == 0 {
					groups = append(groups, fmt.Sprintf("group-%d-%d", limits-1, names-1))
				}
				p.Apply(start, api.AddApplication{
					ID: api.ApplicationID(fmt.Sprint("app-", i)), Queue: "root.a", User: fmt.Sprint("other-", i), Groups: groups,
				})
			}
			for _, c := range changes {
				p.Apply(start, api.Reconfigure{Config: c})
			}
		})
	}
	few := cost(1, 10)
	for _, c := range [][2]int{{1, 10_000}, {1000, 10}} {
		many := cost(c[0], c[1])
		t.Logf("10 names: %v; %d limits of %d names: %v", few, c[0], c[1], many)
		// Looked at for each application they would cost seconds.
		assert.Assert(t, many < 5*few+50*time.Millisecond, "%v became %v", few, many)
	}
}

// TestApplicationsWaitAtAMax: what it costs to let the next application run does not grow with
// how many wait because a queue, a user or a group has as many as may run.
func TestApplicationsWaitAtAMax(t *testing.T) {
	for _, c := range []struct {
		name string
		root api.QueueConfig
	}{
		{"queue", api.QueueConfig{Queues: []api.QueueConfig{{Name: "a", ApplicationsMax: 2}}}},
		{"above", api.QueueConfig{ApplicationsMax: 2, Queues: []api.QueueConfig{{Name: "a"}}}},
		{"user", api.QueueConfig{Limits: []api.Limit{{Users: []string{"*"}, ApplicationsMax: 2}}, Queues: []api.QueueConfig{{Name: "a"}}}},
		{"group", api.QueueConfig{Limits: []api.Limit{{Groups: []string{"dev"}, ApplicationsMax: 2}}, Queues: []api.QueueConfig{{Name: "a"}}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.root.Name, c.root.Parent = "root", true
			few, many := waitAtAMax(t, c.root, 1000), waitAtAMax(t, c.root, 10_000)
			t.Logf("1,000 wait: %+v; 10,000 wait: %+v", few, many)
			assert.Assert(t, many.looks <= few.looks+6*4, "four doublings add a few looks each")
			assert.Assert(t, many.made <= 2*few.made+1000, "memory")
		})
	}
}

// nextCost is what it costs to let an application run that waits: looks, and bytes that are made.
type nextCost struct{ looks, made uint64 }

func waitAtAMax(t *testing.T, root api.QueueConfig, applications int) nextCost {
	t.Helper()
	p := cluster(10, 0, api.Options{ReserveDelay: -1})
	p.Apply(start, api.Reconfigure{Config: api.Config{Name: "default", Root: root}})
	for i := range applications {
		app := api.ApplicationID(fmt.Sprintf("app-%06d", i))
		p.Apply(start, api.AddApplication{ID: app, Queue: "root.a", User: "ann", Groups: []string{"dev"}})
		p.Apply(start, ask(app, fmt.Sprintf("pod-%06d", i), 1, 1, 1))
	}
	assert.Equal(t, run(p), 2)
	const rounds = 100
	work := func() uint64 { w := p.View().Work; return w.Applications + w.Asks + w.Queues + w.Attempts }
	next := func(i int) {
		p.Apply(start, api.RemoveApplication{ID: api.ApplicationID(fmt.Sprintf("app-%06d", i))})
		assert.Equal(t, run(p), 1)
	}
	next(0) // what is made once
	looked, before := work(), made()
	for i := 1; i < rounds; i++ {
		next(i)
	}
	after := made()
	return nextCost{(work() - looked) / rounds, (after - before) / rounds}
}

// TestManyUsersAtOneLimit: if the applications of many users wait for the same account, to let the
// next one run costs a few looks more for each doubling of them.
func TestManyUsersAtOneLimit(t *testing.T) {
	each := api.Limit{Users: []string{"*"}, Max: resources.Limits{1 << 40}}
	dev := api.Limit{Groups: []string{"dev"}, Max: resources.Limits{2}}
	for name, root := range map[string]api.QueueConfig{
		"queue": {Limits: []api.Limit{each}, Queues: []api.QueueConfig{{Name: "a", ApplicationsMax: 2}}},
		"group": {Limits: []api.Limit{each, dev}, Queues: []api.QueueConfig{{Name: "a"}}},
	} {
		t.Run(name, func(t *testing.T) {
			root.Name, root.Parent = "root", true
			var first uint64
			for i, users := range []int{100, 1000, 10_000} {
				p := cluster(10, 0, api.Options{ReserveDelay: -1})
				p.Apply(start, api.Reconfigure{Config: api.Config{Name: "default", Root: root}})
				for n := range users {
					app := api.ApplicationID(fmt.Sprintf("app-%06d", n))
					p.Apply(start, api.AddApplication{ID: app, Queue: "root.a", User: fmt.Sprint("user-", n), Groups: []string{"dev"}})
					p.Apply(start, ask(app, fmt.Sprintf("pod-%06d", n), 1, 1, 1))
				}
				assert.Equal(t, run(p), 2)
				before := p.View().Work
				for n := range 10 {
					p.Apply(start, api.RemoveApplication{ID: api.ApplicationID(fmt.Sprintf("app-%06d", n))})
					assert.Equal(t, run(p), 1)
				}
				after := p.View().Work
				looks := (after.Applications - before.Applications + after.Asks - before.Asks) / 10
				t.Logf("%d users: %d looks", users, looks)
				if i == 0 {
					first = looks
				}
				assert.Assert(t, looks <= first+uint64(i)*4*6, "%d", looks)
			}
		})
	}
}
