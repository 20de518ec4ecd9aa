package simulator

import (
	"slices"
	"strings"
	"time"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/core/preemptor"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// books is what the virtual resource manager takes to be booked in the core. It is
// kept from commands and events alone, so that comparing it with a view of the core
// is a test of both.
//
//	used of a queue = used of the leaf queues below it
//	used = used of root
type books struct {
	*meter
	kinds     *resources.Kinds
	capacity  []*counter // by kind, of the nodes that are there
	occupied  []*counter // by kind, by foreign pods on them
	pending   *counter   // pods that wait
	running   *counter   // pods that are placed
	nodes     *counter
	victims   [preemptor.Triggers]*counter // evicted so far, by trigger
	releasing *counter                     // evicted, and charged still
	nominated *counter                     // pods that wait and are nominated to a node
	daemons   *counter                     // pods of daemonsets that wait
	queues    map[api.QueuePath]*queueBook
	order     []*queueBook // parents first, as configured; then those that rules made, beside their siblings
}

// A queueBook is what one queue is charged, with everything below.
type queueBook struct {
	path    api.QueuePath
	config  *api.QueueConfig
	parent  *queueBook
	leaf    bool
	made    bool // by a rule of placement
	used    []*counter
	pending *counter
	pods    podCounts
	waits   []time.Duration
}

// podCounts is what became of pods.
type podCounts struct {
	arrived, placed, ended, gaveUp, rejected, cancelled, lost int
	evicted, preempted                                        int // evicted counts the preempted too
	victims                                                   [preemptor.Triggers]int
}

func newBooks(config api.Config, kinds *resources.Kinds) *books {
	b := &books{
		meter:  newMeter(),
		kinds:  kinds,
		queues: map[api.QueuePath]*queueBook{},
	}
	b.capacity, b.occupied = b.row(), b.row()
	b.pending, b.running, b.nodes = b.counter(), b.counter(), b.counter()
	b.releasing, b.nominated, b.daemons = b.counter(), b.counter(), b.counter()
	for t := range b.victims {
		b.victims[t] = b.counter()
	}
	walkQueues(config, func(path api.QueuePath, q *api.QueueConfig) {
		book := &queueBook{path: path, config: q, leaf: isLeaf(q), used: b.row(), pending: b.counter()}
		if cut := strings.LastIndexByte(string(path), '.'); cut > 0 {
			book.parent = b.queues[path[:cut]]
		}
		b.queues[path] = book
		b.order = append(b.order, book)
	})
	return b
}

// queueOf is the book of a queue that is asked for, until the core says where an application
// is. That is the root if there is no such queue.
func (b *books) queueOf(requested api.QueuePath) *queueBook {
	if book := b.queues[requested.Full()]; book != nil {
		return book
	}
	return b.queues["root"]
}

// placedIn is the book of a queue where the core put an application. Rules of placement may
// have made the queue and those above it. Its book stays when it goes.
func (b *books) placedIn(path api.QueuePath) *queueBook {
	if book := b.queues[path]; book != nil {
		return book
	}
	cut := strings.LastIndexByte(string(path), '.')
	if cut < 0 {
		return b.queues["root"]
	}
	parent := b.placedIn(path[:cut])
	parent.leaf = false
	book := &queueBook{path: path, config: new(api.QueueConfig), parent: parent, leaf: true, made: true, used: b.row(), pending: b.counter()}
	b.queues[path] = book
	at := slices.Index(b.order, parent) + 1
	for at < len(b.order) && strings.HasPrefix(string(b.order[at].path), string(parent.path)+".") {
		at++
	}
	b.order = slices.Insert(b.order, at, book)
	return book
}

// move counts what an application has waiting in another queue than before.
func (b *books) move(app *application, to *queueBook) {
	for _, step := range []struct {
		queue *queueBook
		sign  int
	}{{app.queue, -1}, {to, 1}} {
		for q := step.queue; q != nil; q = q.parent {
			b.change(q.pending, int64(step.sign*app.pending))
			q.pods.arrived += step.sign * app.arrived
		}
	}
	app.queue = to
}

// row is a counter for each kind.
func (b *books) row() []*counter {
	row := make([]*counter, b.kinds.Len())
	for i := range row {
		row[i] = b.counter()
	}
	return row
}

// book adds the amounts to a row, or takes them away.
func (b *books) book(row []*counter, amounts resources.Amounts, sign int64) {
	for i, v := range amounts {
		b.change(row[i], sign*v)
	}
}

// charge books amounts on a queue and those above it.
func (b *books) charge(q *queueBook, amounts resources.Amounts, sign int64) {
	b.change(b.running, sign)
	for ; q != nil; q = q.parent {
		b.book(q.used, amounts, sign)
	}
}

// wait counts a pod as pending, or no longer. Placeholders are no pods.
func (b *books) wait(p *pod, sign int64) {
	if p.placeholder {
		return
	}
	b.change(b.pending, sign)
	if p.daemon != nil {
		b.change(b.daemons, sign)
	}
	p.app.pending += int(sign)
	for q := p.app.queue; q != nil; q = q.parent {
		b.change(q.pending, sign)
	}
}

// count changes the counts of a queue and those above it.
func (q *queueBook) count(change func(*podCounts)) {
	for ; q != nil; q = q.parent {
		change(&q.pods)
	}
}

func values(row []*counter) resources.Amounts {
	amounts := make(resources.Amounts, len(row))
	for i, c := range row {
		amounts[i] = c.value
	}
	return amounts
}
