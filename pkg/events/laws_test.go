package events_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"
	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/core/preemptor"
	"github.com/narwhal-scheduler/narwhal/pkg/events"
	"github.com/narwhal-scheduler/narwhal/pkg/internal/everyevent"
	"github.com/narwhal-scheduler/narwhal/pkg/outcomes"
	"github.com/narwhal-scheduler/narwhal/pkg/reports"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// chance draws the choices of a random history: from a seed, or, for the
// fuzzer, from bytes.
type chance interface{ IntN(n int) int }

type bytesChance struct{ data []byte }

func (c *bytesChance) IntN(n int) int {
	if len(c.data) == 0 {
		return 0
	}
	b := int(c.data[0])
	c.data = c.data[1:]
	return b % n
}

// A past is a random history of a partition, of which records are read and events
// replayed.
type past struct {
	chance
	*world
	books  *books
	replay *replay
	lines  []string // every record
	again  bool     // it was compared with views before
}

func (p *past) command() api.Command {
	app, key := api.ApplicationID(fmt.Sprint("app", p.IntN(3))), api.AllocationKey(fmt.Sprint("k", p.IntN(12)))
	node := api.NodeID(fmt.Sprint("n", p.IntN(3)))
	switch p.IntN(14) {
	case 0:
		return api.AddNode{ID: node, Capacity: amounts(int64(p.IntN(20)), 9), Attributes: map[string]string{"rack": fmt.Sprint(p.IntN(2))}, Drained: p.IntN(5) == 0}
	case 1:
		return p.nodeChange(node)
	case 2:
		queue, tag := []string{"root.a", "A", "p.b", "", "nowhere"}[p.IntN(5)], p.IntN(2)
		return api.AddApplication{
			ID: app, Queue: api.QueuePath(queue), Forced: tag == 1,
			User: "anna", Groups: []string{"staff", "web"}[:1+p.IntN(2)], Tags: map[string]string{"tag": fmt.Sprint(tag)},
		}
	case 3:
		if p.IntN(3) == 0 {
			return api.RemoveApplication{ID: app}
		}
		return api.UndrainNode{ID: node}
	case 4, 5, 6, 7, 8:
		return api.AddAllocation{Allocation: p.allocation(app, key, node)}
	case 9:
		return api.Reconfigure{Config: p.config()}
	case 10:
		if p.IntN(3) == 0 {
			key = ""
		}
	case 11:
		if p.IntN(2) == 0 {
			app = "" // a foreign one
		}
	}
	return api.ReleaseAllocation{Application: app, Key: key, Termination: si.TerminationType(p.IntN(6)), Message: "because"}
}

func (p *past) nodeChange(node api.NodeID) api.Command {
	switch p.IntN(4) {
	case 0:
		return api.RemoveNode{ID: node}
	case 1:
		return api.DrainNode{ID: node}
	case 2:
		return api.UpdateNode{ID: node, Attributes: map[string]string{"rack": fmt.Sprint(p.IntN(2))}}
	}
	return api.UpdateNode{ID: node, Capacity: amounts(int64(p.IntN(20)), 9)}
}

func (p *past) allocation(app api.ApplicationID, key api.AllocationKey, node api.NodeID) *api.Allocation {
	a := &api.Allocation{
		Key: key, Application: app, Amounts: amounts(int64(p.IntN(6)), int64(p.IntN(2))), Priority: int32(p.IntN(3)),
		Created: p.now.Add(-time.Duration(p.IntN(9)) * time.Second),
	}
	switch p.IntN(8) {
	case 0:
		a.Origin, a.Application, a.Node = api.Foreign, "", node
	case 1:
		a.Node = node
	case 2:
		a.Required = node
	}
	return a
}

func (p *past) config() api.Config {
	a, b := leaf("a"), leaf("b")
	if p.IntN(2) == 0 {
		a.Max, a.Properties.QuotaDelay = resources.Limits{int64(p.IntN(9))}, time.Second
	}
	if p.IntN(2) == 0 {
		b.Guaranteed, b.Properties.PreemptionDelay = amounts(int64(p.IntN(9)), 0), time.Second
	}
	c := tree(a, api.QueueConfig{Name: "p", Parent: true, Queues: []api.QueueConfig{b}}, leaf("default"))
	if p.IntN(3) == 0 {
		c.Root.Queues = c.Root.Queues[:1+p.IntN(2)]
	}
	if p.IntN(4) == 0 {
		c.Root.Max = resources.Limits{int64(20 + p.IntN(20))}
	}
	p.limit(&c.Root)
	c.Preemption = api.PreemptionConfig{
		RequiredNode: preemptor.DefaultConfig(), Quota: p.IntN(2) == 0,
		Priority: api.PriorityPreemption(p.IntN(3)), LoopMax: 1, LoopWindow: time.Hour,
	}
	return c
}

// limit limits users, groups and applications in a queue and those below, or does not.
func (p *past) limit(q *api.QueueConfig) {
	for _, limit := range []api.Limit{{Users: []string{"anna", "bob"}}, {Users: []string{"*"}}, {Groups: []string{"web"}}, {Groups: []string{"*"}}} {
		if p.IntN(6) > 0 {
			continue
		}
		limit.Max, limit.ApplicationsMax = resources.Limits{int64(1 + p.IntN(20))}, p.IntN(3)
		q.Limits = append(q.Limits, limit)
	}
	if p.IntN(6) == 0 {
		q.ApplicationsMax = 1
	}
	for i := range q.Queues {
		p.limit(&q.Queues[i])
	}
}

func (p *past) apply(c api.Command) {
	p.step(c, p.reports.Observe(p.now, p.partition.Apply(p.now, c)))
}

func (p *past) schedule() {
	effects, _ := p.partition.Schedule(p.now)
	p.step(nil, p.reports.Scheduled(p.now, effects))
}

// step reads the records of a step and replays its events.
func (p *past) step(c api.Command, effects api.Effects) {
	p.replay.moving = nil
	for _, event := range effects {
		if err := p.replay.take(p.now, event); err != nil {
			p.t.Fatalf("%+v: %T %+v: %v", c, event, event, err)
		}
		p.books.resized(event, p.kinds)
	}
	records := p.recorder.Record(nil, events.Step{Now: p.now, Effects: effects})
	for _, r := range records {
		if err := p.books.read(r); err != nil {
			p.t.Fatalf("%+v: %v\nrecords:\n%s", c, err, lines(records))
		}
		p.lines = append(p.lines, line(r))
	}
	if !p.again {
		p.compare()
	}
}

func (p *past) compare() {
	view := p.partition.View()
	got, want := p.books, seen(view, p.kinds)
	for _, pair := range []struct{ got, want map[string]string }{
		{got.runs, want.runs},
		{got.serves, want.serves},
		{got.asks, want.asks},
		{got.apps, want.apps},
		{got.groups, want.groups},
		{got.limits, want.limits},
	} {
		if !maps.Equal(pair.got, pair.want) {
			assert.DeepEqual(p.t, pair.got, pair.want)
		}
	}
	assert.DeepEqual(p.t, got.nodes, want.nodes)
	if got, want := p.replay.shown(), shownBy(view); !slices.Equal(got, want) {
		assert.DeepEqual(p.t, got, want)
	}
}

func newPast(t *testing.T, c chance) *past { return beginPast(&past{chance: c}, t) }

func beginPast(p *past, t *testing.T) *past {
	p.books, p.replay = newBooks(), newReplay()
	config := p.config()
	p.world = newWorld(t, config)
	p.step(nil, api.Effects{&api.Reconfigured{After: config.Root}})
	if p.IntN(4) > 0 { // otherwise it takes long until anything can run
		for i, queue := range []api.QueuePath{"root.a", "root.p.b", "root.a"} {
			p.apply(api.AddNode{ID: api.NodeID(fmt.Sprint("n", i)), Capacity: amounts(int64(5+p.IntN(5)), 9)})
			p.apply(api.AddApplication{ID: api.ApplicationID(fmt.Sprint("app", i)), Queue: queue})
		}
	}
	return p
}

func (p *past) live(steps int) {
	for range steps {
		p.now = p.now.Add(time.Duration(p.IntN(6)*p.IntN(6)) * time.Second)
		switch p.IntN(6) {
		case 0, 1:
			p.schedule()
		case 2:
			p.evict()
		default:
			p.apply(p.command())
		}
	}
}

// evict ends an allocation that is to be ended.
func (p *past) evict() {
	for _, n := range p.partition.View().Nodes {
		if len(n.Evictions) > 0 {
			e := n.Evictions[0]
			app := api.ApplicationID("") // of a foreign one
			if a := p.replay.running[e.Key]; a != nil {
				app = a.Application
			}
			p.apply(release(string(app), string(e.Key), si.TerminationType_PREEMPTED_BY_SCHEDULER))
			return
		}
	}
}

// The records alone say what runs where, what waits, and which application is in
// which queue; the events alone say all that a view shows of that, but for foreign
// allocations of unknown nodes. The same history has the same records.
func TestRecordsAndEventsAreComplete(t *testing.T) {
	if testing.Short() {
		t.Skip("large, and played without the race detector")
	}
	var all strings.Builder
	met := map[string]int{}
	for seed := range uint64(100) {
		p := newPast(t, rand.New(rand.NewPCG(seed, 1)))
		p.live(150)
		again := beginPast(&past{chance: rand.New(rand.NewPCG(seed, 1)), again: true}, t)
		again.live(150)
		assert.DeepEqual(t, p.lines, again.lines)
		all.WriteString(strings.Join(p.lines, "\n"))
		for name, n := range p.replay.met {
			met[name] += n
		}
	}
	gang := gangPast(t)
	all.WriteString(strings.Join(gang.lines, "\n"))
	for name, n := range gang.replay.met {
		met[name] += n
	}
	for _, detail := range []string{
		"APP_RESUMING", "APP_FAILING", "APP_FAILED",
		"NODE_ALLOC", "APP_ALLOC", "ALLOC_CANCEL", "ALLOC_TIMEOUT", "ALLOC_PREEMPT", "ALLOC_REPLACED", "ALLOC_NODEREMOVED",
		"APP_NEW", "APP_ACCEPTED", "APP_RUNNING", "APP_COMPLETING", "APP_COMPLETED", "APP_REJECT", "APP_REQUEST",
		"UG_USER_LIMIT", "UG_GROUP_LIMIT", "UG_APP_LINK", "APP_CANNOTRUN_QUEUE", "APP_CANNOTRUN_QUOTA", "APP_RUNNABLE_QUEUE", "APP_RUNNABLE_QUOTA",
		"REQUEST_CANCEL", "REQUEST_TIMEOUT", "QUEUE_APP", "QUEUE_MAX", "NODE_RESERVATION", "QUEUE_PREEMPTION", "QUEUE_DYNAMIC",
	} {
		assert.Assert(t, strings.Contains(all.String(), " "+detail), "no history has a %s", detail)
	}
	for _, event := range everyevent.Events() {
		switch event.(type) {
		case *api.AskReport, *reports.AskWaits, *api.ApplicationReport, *api.QueueReport, *outcomes.VictimsWasted:
			continue // they change nothing
		}
		assert.Assert(t, met[fmt.Sprintf("%T", event)] > 0, "no history has a %T; there is %v", event, met)
	}
}

// gangPast is a history of two gangs and a group: one goes on when its placeholders time out, the other
// fails, and the group runs.
func gangPast(t *testing.T) *past {
	p := newPast(t, &bytesChance{})
	p.apply(api.Reconfigure{Config: tree(leaf("a"))})
	p.apply(api.AddNode{ID: "big", Capacity: amounts(20, 9)})
	p.apply(api.AddApplication{ID: "grouped", Queue: "root.a"})
	p.apply(api.AddAllocation{Allocation: &api.Allocation{
		Key: "member", Application: "grouped", Amounts: amounts(1, 0), Tags: map[string]string{api.TagQuorum: "train", api.TagQuorumLeast: "1"},
	}})
	for i, app := range []api.ApplicationID{"soft", "hard"} {
		p.apply(api.AddApplication{ID: app, Queue: "root.a", Placeholders: amounts(50, 0), Style: api.GangStyle(i), GangTimeout: time.Second})
		for _, key := range []api.AllocationKey{"1", "2", "large"} {
			ask := &api.Allocation{Key: api.AllocationKey(app) + key, Application: app, Amounts: amounts(2, 0), TaskGroup: "group", Placeholder: true}
			if key == "large" {
				ask.Amounts = amounts(40, 0)
			}
			p.apply(api.AddAllocation{Allocation: ask})
		}
		p.schedule()
	}
	p.apply(api.AddAllocation{Allocation: &api.Allocation{Key: "real", Application: "soft", Amounts: amounts(2, 0), TaskGroup: "group"}})
	p.schedule()
	p.now = p.now.Add(2 * time.Second)
	p.schedule()
	p.apply(release("soft", "soft1", si.TerminationType_PLACEHOLDER_REPLACED))
	for _, app := range []string{"soft", "hard"} {
		p.apply(release(app, app+"1", si.TerminationType_TIMEOUT))
		p.apply(release(app, app+"2", si.TerminationType_TIMEOUT))
	}
	p.schedule()
	return p
}

func FuzzRecordsAndEventsAreComplete(f *testing.F) {
	f.Add([]byte("\x01\x02\x03\x00\x05\x10\x02\x01\x00\x04\x01"))
	f.Fuzz(func(t *testing.T, data []byte) {
		newPast(t, &bytesChance{data}).live(min(len(data), 300))
	})
}
