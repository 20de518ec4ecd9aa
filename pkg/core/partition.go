package core

import (
	"fmt"
	"time"

	"github.com/google/btree"

	"github.com/narwhal-scheduler/narwhal/pkg/core/order"
	"github.com/narwhal-scheduler/narwhal/pkg/core/preemptor"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// A Partition is the ledger of one cluster, or of a part of one that shares
// nothing with the rest. Every allocation is booked on the node where it runs
// and on the accounts of its queue and the queues above, foreign ones on the
// node only, and Verify says whether the two sides agree.
//
// A Partition belongs to one goroutine. What others may read is a View.
type Partition struct {
	options    Options
	kinds      *resources.Kinds
	name       string
	config     Config
	preemption PreemptionConfig

	root         *queue
	applications *btree.BTreeG[*application]
	nodes        *btree.BTreeG[*node]
	requests     map[AllocationKey]*request
	homeless     map[NodeID][]*request // foreign ones, by the node they name
	gone         gone                  // foreign ones that were released lately
	stranded     map[NodeID][]*request // asks whose required node is not known

	capacity resources.Amounts // of all nodes
	occupied resources.Amounts // by foreign allocations on nodes
	foreign  resources.Amounts // by all of them, those without a node included

	nodeSlots []int32           // of nodes that are gone
	open      order.Tree[*node] // nodes for ordinary asks
	weights   []weight
	packing   bool

	// flat says that between queues only priority counts: there are no
	// guarantees, fences or offsets; plain, that a priority is the same seen from
	// anywhere.
	flat, plain  bool
	plans        [preemptor.Triggers]preemptor.Config
	planner      preemptor.Planner
	running      tally // own allocations
	nominees     tally // nominated asks
	reservers    tally // ordinary asks that hold a reservation
	grounds      []*ground
	moves        uint64   // counts changes of nodes
	caughtUp     uint64   // the moves when a ground was last brought up to date
	trail        []*node  // that changed last
	vain         []*shape // that hunted in vain, where only nodes count
	hungry       []hungry // that did where more counts
	short        []*queue // that could not give back enough
	nominated    []*request
	huntAt       time.Time
	hunted       time.Time
	candidates   []preemptor.Candidate // scratch of quarry, as the next three
	floors       []preemptor.Floor
	floorNumbers []int32
	atStake      []resources.Amounts // by floors: what everybody holds

	shapes   *shapes
	dirty    []*node // whose bound asks are to be tried
	aside    aside
	changes  uint64    // counts how often nodes were relieved
	hintAt   time.Time // when the resource manager hears of asks that fit no node
	reserved int       // nodes reserved by ordinary asks
	alarms   alarms
	only     slots  // that are looked for in orders
	batch    uint64 // number of the Schedule call
	told     uint64 // the last one that told anybody to go
	left     int    // placements that it may still make
	consents int    // how often it has asked Feasible
	arrivals uint64
	asks     int // that wait
	// sharesStale says that what shares are measured against has changed.
	sharesStale bool
	work        Work
	preempted   Preempted
	// likeApplication and likeNode are what look-ups compare with, kept so that
	// a look-up allocates nothing.
	likeApplication application
	likeNode        node
	fx              Effects // of the step under way
	now             time.Time
}

// NewPartition makes an empty partition. The configuration must have passed the
// validation of package config.
func NewPartition(options Options, config Config) *Partition {
	options = options.withDefaults()
	p := &Partition{
		options:  options,
		kinds:    options.Kinds,
		requests: map[AllocationKey]*request{},
		homeless: map[NodeID][]*request{},
		stranded: map[NodeID][]*request{},
		shapes:   newShapes(options.Kinds),
		only:     allSlots,
		nodes: btree.NewG(32, func(a, b *node) bool {
			return a.id < b.id
		}),
		applications: btree.NewG(32, func(a, b *application) bool {
			return a.id < b.id
		}),
	}
	p.open.Looked = &p.work.Nodes
	p.configure(config)
	p.fx = nil
	return p
}

// Apply carries out one command. It returns what the outside must hear,
// refusals included. It makes no placement.
func (p *Partition) Apply(now time.Time, c Command) Effects {
	p.now, p.left = now, 0
	switch c := c.(type) {
	case AddNode:
		p.addNode(c)
	case UpdateNode:
		p.updateNode(c)
	case DrainNode:
		p.setSchedulable(c.ID, false)
	case UndrainNode:
		p.setSchedulable(c.ID, true)
	case RemoveNode:
		p.removeNode(c.ID)
	case AddApplication:
		p.addApplication(c)
	case RemoveApplication:
		p.removeApplication(c.ID)
	case AddAllocation:
		p.addAllocation(c.Allocation)
	case ReleaseAllocation:
		p.releaseAllocation(c)
	case Reconfigure:
		p.configure(c.Config)
	default:
		panic(fmt.Sprintf("partition %s: %T is not a command", p.name, c))
	}
	return p.takeEffects()
}

// Schedule makes placements until nothing more fits or the batch is full; more
// says that it should be called again at once. It also ends early, with more,
// before it would ask Feasible about a node that it placed something on in the
// same call, since the resource manager must hear of that first, and when it has
// asked often enough.
//
// One placement costs time logarithmic in the number of nodes, queues,
// applications and asks, and nothing for asks that are known not to fit.
func (p *Partition) Schedule(now time.Time) (fx Effects, more bool) {
	p.now = now
	p.batch++
	p.left, p.consents = p.options.BatchMax, 0
	p.ring()
	if p.sharesStale {
		p.remeasure()
	}
	more = p.placeBound() || p.placeOrdinary() || len(p.dirty) > 0
	return p.takeEffects(), more
}

// Due is when Schedule will have something to do although nothing is applied: a
// reservation is to be made or runs out, an application completes, a failed
// ask is tried again. False means never.
func (p *Partition) Due() (time.Time, bool) { return p.alarms.next() }

// tell adds what the outside must hear to the effects of this step. What
// placements of one batch say takes one slice.
func (p *Partition) tell(event Event) {
	if p.fx == nil {
		p.fx = make(Effects, 0, max(1, min(p.left, p.asks)))
	}
	p.fx = append(p.fx, event)
}

func (p *Partition) takeEffects() Effects {
	fx := p.fx
	p.fx = nil
	return fx
}
