package scheduler

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/narwhal-scheduler/narwhal/pkg/core"
	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
)

// viewShare bounds what views may cost: one part of so many of the owner's time goes
// to them.
const viewShare = 10

// Replies that are made from views share the processors with the owner. If there were
// any, the next view is made when they took one part in replyShare of the time of a
// processor, but after a pause between these two: not so soon that every reply is a
// new one, and not so late that people notice.
const (
	replyShare   = 4
	replySoonest = 120 * time.Millisecond
	replyLatest  = 150 * time.Millisecond
)

// A viewBroker is where readers of a partition wait for its owner. Those that wait for a
// view at the same time get the same one.
//
// A view costs what has changed since the last one, so where much changes many readers
// would hold up scheduling; there they wait until enough time has gone to scheduling
// since. As long as nothing happens the last view is current, and is had without the
// owner.
type viewBroker struct {
	mu        sync.Mutex
	waiting   map[*readRequest]struct{} // for a view
	questions map[*readRequest]struct{}
	last      *api.View // never written again
	made      time.Time // when last was made

	current  atomic.Bool  // nothing has happened since last
	readCost atomic.Int64 // nanoseconds that replies took since

	// These belong to the owner.
	changed time.Time     // when the first thing happened since last
	cost    time.Duration // of making last
}

// A readRequest is a reader that waits for the owner: for a view or, with a question,
// until that was asked.
type readRequest struct {
	after    uint64 // it is served when so many messages are handled
	question func(*core.Partition)
	served   chan struct{} // closed when it is served
	view     *api.View     // the answer, without a question
}

func newViewBroker() *viewBroker {
	return &viewBroker{waiting: map[*readRequest]struct{}{}, questions: map[*readRequest]struct{}{}}
}

// add has a reader wait.
func (b *viewBroker) add(r *readRequest) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if r.question == nil {
		b.waiting[r] = struct{}{}
	} else {
		b.questions[r] = struct{}{}
	}
}

// withdraw is called for a reader that waits no longer, so that nothing of it is left.
func (b *viewBroker) withdraw(r *readRequest) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.waiting, r)
	delete(b.questions, r)
}

// latest is the last view and when it was made.
func (b *viewBroker) latest() (*api.View, time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.last, b.made
}

// currentView is the last view if it shows the partition as it is, else nil.
func (b *viewBroker) currentView() *api.View {
	if !b.current.Load() {
		return nil
	}
	view, _ := b.latest()
	return view
}

// reportReadCost says that it took so long to make a reply from a view.
func (b *viewBroker) reportReadCost(took time.Duration) { b.readCost.Add(int64(took)) }

// changes says that something happens to the partition.
func (b *viewBroker) changes() {
	if b.current.Load() {
		b.current.Store(false)
		b.changed = time.Now()
	}
}

// due is the moment before which no view is made of what has changed.
func (b *viewBroker) due() time.Time {
	pause := (viewShare - 1) * b.cost
	if replies := time.Duration(b.readCost.Load()); replies > 0 {
		pause = max(pause, replySoonest, min((replyShare-1)*replies, replyLatest))
	}
	return b.changed.Add(pause)
}

// next is when the owner is to make a view, and whether one is waited for.
func (b *viewBroker) next() (at time.Time, waits bool) {
	b.mu.Lock()
	waits = len(b.waiting) > 0
	b.mu.Unlock()
	return b.due(), waits
}

// serve answers the readers that wait for no more than the messages that are
// handled: questions at once, views unless it is too soon for one.
func (b *viewBroker) serve(now time.Time, p *core.Partition, handled uint64) {
	for _, r := range b.ready(handled) {
		r.question(p)
		close(r.served)
	}
	if _, waits := b.next(); waits && (b.current.Load() || !now.Before(b.due())) {
		b.show(p, handled)
	}
}

// ready takes the questions that may be asked.
func (b *viewBroker) ready(handled uint64) (questions []*readRequest) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for r := range b.questions {
		if r.after <= handled {
			questions = append(questions, r)
			delete(b.questions, r)
		}
	}
	return questions
}

// show gives a current view to the readers that wait for no more than the messages that
// are handled, if there are any. Those that come while it is made get it too.
func (b *viewBroker) show(p *core.Partition, handled uint64) {
	if !b.isWanted(handled) {
		return
	}
	b.refresh(p)
	b.mu.Lock()
	defer b.mu.Unlock()
	for r := range b.waiting {
		if r.after <= handled {
			r.view = b.last
			close(r.served)
			delete(b.waiting, r)
		}
	}
}

func (b *viewBroker) isWanted(handled uint64) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	for r := range b.waiting {
		if r.after <= handled {
			return true
		}
	}
	return false
}

// refresh makes a view if there is no current one.
func (b *viewBroker) refresh(p *core.Partition) {
	if b.current.Load() {
		return
	}
	b.readCost.Store(0)
	began := time.Now()
	view := p.View()
	made := time.Now()
	b.cost = made.Sub(began)
	b.mu.Lock()
	b.last, b.made = view, made
	b.mu.Unlock()
	b.current.Store(true)
}
