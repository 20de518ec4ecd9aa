package archive

import (
	"slices"
	"sync"
	"time"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/events"
	"github.com/narwhal-scheduler/narwhal/pkg/outcomes"
	"github.com/narwhal-scheduler/narwhal/pkg/reports"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// A Book is what one partition has been. One goroutine writes it, with Observe; any
// number read it, and a nil one reads as empty.
//
// A book does not keep what runs and what waits: events say how long an allocation
// ran, and with what. It keeps sums for each application, and of single
// allocations only what an event about their end does not say: when their amounts
// changed, why an ask waits, which plan evicts an allocation, and the lives of some that waited.
//
//	used of an application = the amounts of its allocations without placeholders
//	counts                 = applications in state Running, and all allocations
type Book struct {
	config Config

	mu           sync.Mutex
	now          time.Time // of the last step
	since        time.Time // of the first step
	applications map[api.ApplicationID]*application
	last         *application                // that was looked up last
	resized      map[api.AllocationKey]int64 // when running allocations got other amounts, in nanoseconds
	instances    map[api.NodeID]string       // types of nodes, where they are known
	ended        ring[*ApplicationRecord]
	rejected     ring[*ApplicationRecord]
	plans        plans
	wasted       outcomes.WasteCount
	counts       counts
	arrivals     arrivals
	history      history
	lives        lives
	runs         map[api.QueuePath]*queueRuns
	finished     []*ApplicationRecord // that ended with the last step
	expired      []*ApplicationRecord // that were forgotten with the last step
	changes      *changeLog
	capacity     resources.Amounts // of all nodes
	accounts     accounts
}

func newBook(config Config) *Book {
	return &Book{
		config: config, applications: map[api.ApplicationID]*application{},
		resized: map[api.AllocationKey]int64{}, instances: map[api.NodeID]string{}, plans: newPlans(), arrivals: newArrivals(),
		history: newHistory(config.History), lives: newLives(), runs: map[api.QueuePath]*queueRuns{}, changes: new(changeLog), accounts: newAccounts(config.Accounts),
	}
}

// Observe takes in a step. All steps must be observed, in order, from the first on.
// It returns the applications that ended, in a slice that is good until the next
// call.
func (b *Book) Observe(step events.Step) (ended []*ApplicationRecord) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.now, b.finished, b.expired = step.Now, b.finished[:0], b.expired[:0]
	if b.since.IsZero() {
		b.since = step.Now
		b.changes.began(step.Now)
	}
	b.counts.pass(minuteOf(step.Now))
	b.arrivals.pass(minuteOf(step.Now))
	for i, event := range step.Effects {
		if removed, ok := event.(api.ForeignRemoved); ok && !removed.StaysIn(step.Effects[i+1:]) {
			b.foreignGone(removed.Allocation)
		}
		b.observe(event)
	}
	b.forget()
	return b.finished
}

// Expired is the applications, ended and rejected, that were forgotten with the last step, as
// they are too old or too many. The slice is good until the next call of Observe.
func (b *Book) Expired() []*ApplicationRecord {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.expired
}

func (b *Book) observe(event api.Event) {
	b.lived(event)
	switch e := event.(type) {
	case api.AskAdded:
		b.asked(e.Allocation)
		b.arrive(e.Allocation)
	case api.Placed:
		b.placed(e.Allocation)
		b.history.count(b.queueOf(e.Application), flow{placements: 1})
	case api.Adopted:
		b.asked(e.Allocation)
		b.placed(e.Allocation)
	case *api.Ended:
		b.end(e)
	case *api.AskEnded:
		b.withdrawn(e)
	case *api.Resized:
		b.resize(e)
	case *api.Claimed:
		if e.Plan != nil {
			b.explain(e.Allocation, e.Reason)
			b.nominated(e)
		}
	case *api.ClaimEnded:
		if e.Nominated && e.Waits() {
			b.explain(e.Allocation, e.Text())
			b.plans.close(b.now, e.Key, Cleared, e.Text())
		}
	case *api.PreemptionPlanned:
		b.planned(&Plan{Application: e.Application, Key: e.Key, Queue: e.Queue, Node: e.Node, Decision: e.Plan})
	case *api.EvictionRequested:
		b.plans.evicted(e.Allocation, b.queueOf(e.Application), b.userOf(e.Application))
		b.history.count(b.queueOf(e.Application), flow{preemptions: 1})
	case *outcomes.VictimsWasted:
		b.wasted[e.Trigger][e.Cause] += uint64(len(e.Victims))
		b.plans.wasted(e)
	case *api.Unschedulable:
		if w := b.explain(e.Allocation, e.Reason); w != nil {
			w.ScaleUp = true
		}
	case *api.AskReport:
		b.explain(e.Allocation, e.Message)
	case *reports.AskWaits:
		b.explain(e.Allocation, e.Message)
	case *api.ApplicationAccepted:
		b.accepted(e)
	case *api.ApplicationRejected:
		b.reject(e)
	case *api.ApplicationChanged:
		b.changed(e)
	case *api.ApplicationGone:
		b.gone(e)
	default:
		b.observeNode(event)
	}
}

func (b *Book) observeNode(event api.Event) {
	switch e := event.(type) {
	case *api.Reconfigured:
		b.changes.reconfigured(b.now, e)
	case *api.NodeAdded:
		b.typed(e.ID, e.Attributes)
		b.capacity = e.Total
		b.changes.node(b.now, NodesCame, e.ID, nil)
	case *api.NodeAttributes:
		b.typed(e.ID, e.Attributes)
	case *api.NodeRemoved:
		delete(b.instances, e.ID)
		b.changes.node(b.now, NodesWent, e.ID, b.capacity.Minus(e.Total))
		b.capacity = e.Total
	case *api.NodeResized:
		b.capacity = e.Total
		b.changes.node(b.now, NodesResized, e.ID, nil)
	case *api.NodeSchedulable:
		b.changes.schedulable(b.now, e)
	}
}

// typed notes the type of a node.
func (b *Book) typed(id api.NodeID, attributes map[string]string) {
	delete(b.instances, id)
	if instance := attributes[attributeInstance]; instance != "" {
		b.instances[id] = instance
	}
}

// find finds an application; nil if there is none. Placements come one after the
// other for the same application.
func (b *Book) find(id api.ApplicationID) *application {
	if b.last == nil || b.last.ID != id {
		b.last = b.applications[id]
	}
	return b.last
}

// queueOf is the queue of an application; empty if there is none.
func (b *Book) queueOf(id api.ApplicationID) api.QueuePath {
	if a := b.find(id); a != nil {
		return a.Queue
	}
	return ""
}

// userOf is the user of an application; empty if there is none.
func (b *Book) userOf(id api.ApplicationID) string {
	if a := b.find(id); a != nil {
		return a.User
	}
	return ""
}

// Finished is the applications that ended and those that were rejected, the oldest
// first, without those that are too old at this time.
func (b *Book) Finished(now time.Time) (ended, rejected []*ApplicationRecord) {
	if b == nil {
		return nil, nil
	}
	b.mu.Lock()
	ended, rejected = slices.Clone(b.ended.all()), slices.Clone(b.rejected.all())
	b.mu.Unlock()
	return b.config.recent(ended, now), b.config.recent(rejected, now)
}

// recent is the records of applications that have not ended too long ago.
func (c Config) recent(records []*ApplicationRecord, now time.Time) []*ApplicationRecord {
	i := slices.IndexFunc(records, func(r *ApplicationRecord) bool { return !r.Finished.Add(c.Keep).Before(now) })
	if i < 0 {
		return nil
	}
	return records[i:]
}

// Application is the record of an application that goes on; nil if there is none.
func (b *Book) Application(id api.ApplicationID) *ApplicationRecord {
	if b == nil {
		return nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if a := b.applications[id]; a != nil {
		return a.viewed()
	}
	return nil
}

// PendingReasons is why an ask of an application waits; empty if no event said.
func (b *Book) PendingReasons(id api.ApplicationID, key api.AllocationKey) PendingReasons {
	if b == nil {
		return PendingReasons{}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if a := b.applications[id]; a != nil && a.pending[key] != nil {
		return PendingReasons{slices.Clone(a.pending[key].Reasons), a.pending[key].ScaleUp}
	}
	return PendingReasons{}
}

// Since is when the partition began; zero if that is not known.
func (b *Book) Since() time.Time {
	if b == nil {
		return time.Time{}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.since
}

// Plans are the plans that are kept, the newest first.
func (b *Book) Plans() []*Plan {
	if b == nil {
		return nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.plans.list()
}

// Wasted counts the victims that were wasted.
func (b *Book) Wasted() outcomes.WasteCount {
	if b == nil {
		return outcomes.WasteCount{}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.wasted
}

// PlanOf is the last plan that evicted an allocation; nil if there is none. The
// application is empty for a foreign one.
func (b *Book) PlanOf(application api.ApplicationID, key api.AllocationKey) *Plan {
	if b == nil {
		return nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.plans.of(application, key)
}
