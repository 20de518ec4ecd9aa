package reports

import (
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/core"
	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/core/preemptor"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

var start = time.Unix(1_800_000_000, 0)

// newTestBook is a book of a partition with a queue, in which one application may run, and two
// applications.
func newTestBook(t *testing.T) (*Book, *core.Partition) {
	kinds := new(resources.Kinds)
	_, err := kinds.Intern(resources.VCore)
	assert.NilError(t, err)
	queue := api.QueueConfig{Name: "a", Max: resources.Limits{4}, ApplicationsMax: 1}
	p := core.NewPartition(api.Options{Kinds: kinds, ReserveDelay: -1}, api.Config{
		Name: "default", Root: api.QueueConfig{Name: "root", Parent: true, Queues: []api.QueueConfig{queue}},
	})
	p.Apply(start, api.AddNode{ID: "n1", Capacity: resources.Amounts{10}})
	for _, app := range []api.ApplicationID{"app1", "app2"} {
		p.Apply(start, api.AddApplication{ID: app, Queue: "root.a"})
	}
	return NewBook(p, kinds), p
}

func ask(app api.ApplicationID, key api.AllocationKey, vcore int64) *api.Allocation {
	return &api.Allocation{Key: key, Application: app, Amounts: resources.Amounts{vcore}, Created: start}
}

// said are the messages of what is told.
func said(effects api.Effects) (texts []string) {
	for _, event := range effects {
		switch e := event.(type) {
		case *AskWaits:
			texts = append(texts, string(e.Key)+": "+e.Message)
		case *api.ApplicationHeld:
			held := " counts: "
			if e.Held {
				held = " is held: "
			}
			texts = append(texts, string(e.ID)+held+e.Reason.String())
		}
	}
	return texts
}

// Why an ask waits is told a second after the change, once, and again when it has changed. What
// holds an application is told once, and then that it does not, of no other application.
func TestWaiting(t *testing.T) {
	b, p := newTestBook(t)
	step := func(after time.Duration, commands ...api.Command) (texts []string) {
		now := start.Add(after)
		for _, c := range commands {
			texts = append(texts, said(b.Observe(now, p.Apply(now, c)))...)
		}
		fx, _ := p.Schedule(now)
		return append(texts, said(b.Scheduled(now, fx))...)
	}
	assert.Equal(t, len(step(0, api.AddAllocation{Allocation: ask("app1", "runs", 3)})), 0)
	large, small := api.AddAllocation{Allocation: ask("app1", "large", 2)}, api.AddAllocation{Allocation: ask("app2", "small", 1)}
	assert.Equal(t, len(step(0, large, small)), 0)
	due, ok := b.Due()
	assert.Assert(t, ok && due.Equal(start.Add(time.Second)))
	assert.DeepEqual(t, step(time.Second), []string{
		"large: request does not fit in queue root.a: requests vcore=2, available vcore=1",
		"app2 is held: too many applications of a queue",
		"small: too many applications of a queue: queue root.a",
	})
	_, ok = b.Due()
	assert.Assert(t, !ok)
	assert.Equal(t, WhyWaits(p, b.kinds, "large"), "request does not fit in queue root.a: requests vcore=2, available vcore=1")
	assert.Equal(t, WhyWaits(p, b.kinds, "runs"), "")

	left := api.RemoveApplication{ID: "app1"}
	assert.DeepEqual(t, step(20*time.Second, left), []string{"app2 counts: too many applications of a queue"})
	assert.Equal(t, len(b.told), 0)
}

// That no room can be made on a required node is told at once, and not again within 15 seconds.
func TestNoRoomOnTheRequiredNode(t *testing.T) {
	b, _ := newTestBook(t)
	report := func(after time.Duration, needs int64) string {
		a := ask("app1", "daemon", 5)
		a.Required = "n1"
		plan := &preemptor.Decision{Reason: preemptor.NoCandidates, Needed: resources.Amounts{needs}}
		fx := b.Observe(start.Add(after), api.Effects{
			&api.AskReport{Allocation: a, Why: &api.Waiting{Reason: api.NodeFull, Decided: plan}},
		})
		if len(fx) == 0 {
			return ""
		}
		return fx[0].(*api.AskReport).Message
	}
	assert.Equal(t, report(0, 2), "no room on required node n1: no eligible candidate: needs vcore=2")
	assert.Equal(t, report(14*time.Second, 3), "")
	assert.Equal(t, report(16*time.Second, 2), "")
	assert.Equal(t, report(16*time.Second, 3), "no room on required node n1: no eligible candidate: needs vcore=3")
}
