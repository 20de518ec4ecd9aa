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

	"github.com/narwhal-scheduler/narwhal/pkg/core"
	"github.com/narwhal-scheduler/narwhal/pkg/events"
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

// books are what a reader of the records knows, and nothing else.
type books struct {
	runs   map[string]string // node and allocation to amounts
	serves map[string]string // application and allocation to amounts
	asks   map[string]string // application and ask to amounts
	apps   map[string]string // application to queue
	nodes  map[string]bool
	queues map[string]bool
}

func newBooks() *books {
	return &books{
		runs: map[string]string{}, serves: map[string]string{}, asks: map[string]string{}, apps: map[string]string{},
		nodes: map[string]bool{}, queues: map[string]bool{},
	}
}

// read books a record; it fails if the record makes no sense after those before.
func (b *books) read(r *si.EventRecord) error {
	adds := r.EventChangeType == si.EventRecord_ADD
	key := r.ObjectID + " " + r.ReferenceID
	switch d := r.EventChangeDetail; {
	case d == si.EventRecord_NODE_ALLOC:
		return b.put(b.runs, key, quantities(r.Resource), adds)
	case d == si.EventRecord_APP_ALLOC:
		delete(b.asks, key)
		return b.put(b.serves, key, quantities(r.Resource), true)
	case d >= si.EventRecord_ALLOC_CANCEL && d <= si.EventRecord_ALLOC_NODEREMOVED && r.Type == si.EventRecord_APP:
		return b.put(b.serves, key, quantities(r.Resource), false)
	case d == si.EventRecord_APP_REQUEST, d == si.EventRecord_REQUEST_CANCEL, d == si.EventRecord_REQUEST_TIMEOUT:
		return b.put(b.asks, key, quantities(r.Resource), adds)
	case d == si.EventRecord_QUEUE_APP:
		return b.put(b.apps, r.ReferenceID, r.ObjectID, adds)
	case r.Type == si.EventRecord_QUEUE && d == si.EventRecord_DETAILS_NONE:
		if b.queues[r.ObjectID] == adds {
			return fmt.Errorf("said again: %s", line(r))
		}
		b.queues[r.ObjectID] = adds
	case r.Type == si.EventRecord_NODE && d == si.EventRecord_DETAILS_NONE && adds:
		b.nodes[r.ObjectID] = true
	case d == si.EventRecord_NODE_DECOMISSION:
		delete(b.nodes, r.ObjectID)
		maps.DeleteFunc(b.runs, func(key, _ string) bool { return strings.HasPrefix(key, r.ObjectID+" ") })
	}
	return nil
}

func (b *books) put(into map[string]string, key, value string, adds bool) error {
	if _, known := into[key]; known == adds {
		return fmt.Errorf("%s is there: %t, and to be added: %t", key, known, adds)
	}
	if adds {
		into[key] = value
	} else {
		delete(into, key)
	}
	return nil
}

func quantities(r *si.Resource) string { return line(&si.EventRecord{Resource: r}) }

// seen are the same books, made of a view.
func seen(view *core.View, kinds *resources.Kinds) *books {
	b := newBooks()
	for _, n := range view.Nodes {
		b.nodes[string(n.ID)] = true
		for _, a := range append(slices.Clone(n.Allocations), n.ForeignAllocations...) {
			amounts := quantities(core.ResourceOf(kinds, a.Amounts))
			b.runs[string(n.ID)+" "+string(a.Key)] = amounts
			if !a.IsForeign() {
				b.serves[string(a.Application)+" "+string(a.Key)] = amounts
			}
		}
	}
	for _, app := range view.Applications {
		b.apps[string(app.ID)] = string(app.Queue)
		for _, ask := range app.Asks {
			b.asks[string(app.ID)+" "+string(ask.Key)] = quantities(core.ResourceOf(kinds, ask.Amounts))
		}
	}
	return b
}

// A past is a random history of a partition, told by a scribe and read.
type past struct {
	chance
	*world
	books *books
	told  []string // every record
}

func (p *past) command() core.Command {
	app, key := core.ApplicationID(fmt.Sprint("app", p.IntN(3))), core.AllocationKey(fmt.Sprint("k", p.IntN(12)))
	node := core.NodeID(fmt.Sprint("n", p.IntN(3)))
	switch p.IntN(12) {
	case 0:
		return core.AddNode{ID: node, Capacity: amounts(int64(p.IntN(20)), 9)}
	case 1:
		return core.RemoveNode{ID: node}
	case 2:
		return core.AddApplication{ID: app, Queue: core.QueuePath([]string{"root.a", "A", "p.b", "", "nowhere"}[p.IntN(5)])}
	case 3:
		return core.RemoveApplication{ID: app}
	case 4, 5, 6, 7:
		a := &core.Allocation{Key: key, Application: app, Amounts: amounts(int64(p.IntN(6)), int64(p.IntN(2))), Priority: int32(p.IntN(3)), Created: p.now}
		switch p.IntN(8) {
		case 0:
			a.Origin, a.Application, a.Node = core.Foreign, "", node
		case 1:
			a.Node = node
		case 2:
			a.Required = node
		}
		return core.AddAllocation{Allocation: a}
	case 8:
		return core.Reconfigure{Config: p.config()}
	case 9:
		key = ""
	case 10:
		if p.IntN(2) == 0 {
			app = "" // a foreign one
		}
	}
	return core.ReleaseAllocation{Application: app, Key: key, Termination: si.TerminationType(p.IntN(6))}
}

func (p *past) config() core.Config {
	a := leaf("a")
	if p.IntN(2) == 0 {
		a.Max = resources.Limits{int64(p.IntN(9))}
	}
	c := tree(a, core.QueueConfig{Name: "p", Parent: true, Queues: []core.QueueConfig{leaf("b")}}, leaf("default"))
	if p.IntN(3) == 0 {
		c.Root.Queues = c.Root.Queues[:1+p.IntN(2)]
	}
	return c
}

func (p *past) step(c core.Command) {
	now := p.now
	var effects core.Effects
	if c == nil {
		effects, _ = p.partition.Schedule(now)
	} else {
		effects = p.partition.Apply(now, c)
	}
	records := p.scribe.Record(nil, events.Step{Now: now, Command: c, Effects: effects})
	for _, r := range records {
		if err := p.books.read(r); err != nil {
			p.t.Fatalf("%+v: %v\nrecords:\n%s", c, err, lines(records))
		}
		p.told = append(p.told, line(r))
	}
	p.compare(c)
}

func (p *past) compare(c core.Command) {
	want := seen(p.partition.View(), p.kinds)
	got := p.books
	if add, ok := c.(core.AddAllocation); ok {
		got.resized(want, string(add.Allocation.Key))
	}
	for _, pair := range []struct{ got, want map[string]string }{
		{got.runs, want.runs}, {got.serves, want.serves}, {got.asks, want.asks}, {got.apps, want.apps},
	} {
		assert.DeepEqual(p.t, pair.got, pair.want)
	}
	assert.DeepEqual(p.t, got.nodes, want.nodes)
}

// resized takes over other amounts of one that is known: they are no news.
func (b *books) resized(want *books, key string) {
	for _, pair := range [][2]map[string]string{{b.runs, want.runs}, {b.serves, want.serves}, {b.asks, want.asks}} {
		for name, amounts := range pair[1] {
			if _, known := pair[0][name]; known && strings.HasSuffix(name, " "+key) {
				pair[0][name] = amounts
			}
		}
	}
}

func newPast(t *testing.T, c chance) *past {
	p := &past{chance: c, books: newBooks()}
	config := p.config()
	p.world = newWorld(t, config)
	p.step(core.Reconfigure{Config: config})
	return p
}

func (p *past) live(steps int) {
	for range steps {
		p.now = p.now.Add(time.Duration(p.IntN(20)) * time.Second)
		if p.IntN(3) == 0 {
			p.step(nil)
		} else {
			p.step(p.command())
		}
	}
}

// The records alone say what runs where, what waits, and who is in which queue;
// the same history is told in the same words.
func TestTheRecordsAreTheBooks(t *testing.T) {
	var all strings.Builder
	for seed := range uint64(80) {
		p := newPast(t, rand.New(rand.NewPCG(seed, 1)))
		p.live(150)
		again := newPast(t, rand.New(rand.NewPCG(seed, 1)))
		again.live(150)
		assert.DeepEqual(t, p.told, again.told)
		all.WriteString(strings.Join(p.told, "\n"))
	}
	for _, detail := range []string{
		"NODE_ALLOC", "APP_ALLOC", "ALLOC_CANCEL", "ALLOC_TIMEOUT", "ALLOC_PREEMPT", "ALLOC_REPLACED", "ALLOC_NODEREMOVED",
		"APP_NEW", "APP_ACCEPTED", "APP_RUNNING", "APP_COMPLETING", "APP_COMPLETED", "APP_REJECT", "APP_REQUEST",
		"REQUEST_CANCEL", "REQUEST_TIMEOUT", "QUEUE_APP", "QUEUE_MAX",
	} {
		assert.Assert(t, strings.Contains(all.String(), " "+detail), "no history tells of %s", detail)
	}
}

func FuzzTheRecordsAreTheBooks(f *testing.F) {
	f.Add([]byte("\x01\x02\x03\x00\x05\x10\x02\x01\x00\x04\x01"))
	f.Fuzz(func(t *testing.T, data []byte) {
		newPast(t, &bytesChance{data}).live(min(len(data), 300))
	})
}
