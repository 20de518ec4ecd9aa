package core

import (
	"fmt"
	"time"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/core/backlog"
	"github.com/narwhal-scheduler/narwhal/pkg/core/group"
	"github.com/narwhal-scheduler/narwhal/pkg/core/ledger"
	"github.com/narwhal-scheduler/narwhal/pkg/core/preemption"
	"github.com/narwhal-scheduler/narwhal/pkg/core/question"
	"github.com/narwhal-scheduler/narwhal/pkg/core/tables"
	"github.com/narwhal-scheduler/narwhal/pkg/core/timers"
	"github.com/narwhal-scheduler/narwhal/pkg/core/topology"
)

// A Partition is the ledger of one cluster, or of a part of one that shares
// nothing with the rest, with the parts that decide. Every allocation is booked on
// the node where it runs and on the accounts of its queue and the queues above,
// foreign ones and what does not end on a node that is not ready on the node only, and Verify says whether the two sides agree.
//
// A Partition belongs to one goroutine: no two of its methods may run at once. Other
// goroutines read Views.
type Partition struct {
	backlog.Backlog // and with it the ledger

	topology   *topology.Topology
	order      backlog.NodeOrder
	predicates question.Predicates
	refused    question.Refused
	kept       preemption.Claims
	slots      preemption.Slots
	evictions  preemption.Evictions
	costs      preemption.CostCache
	attempts   preemption.Attempts
	retries    preemption.Retries
	quotas     preemption.Quotas
	hints      preemption.Hints
	settling   preemption.Settling

	renominations preemption.Renominations
	groups        group.Groups

	counts      api.Preempted
	trials      tables.Table[*ledger.Request, trial] // by the slots of asks
	dirty       []dirtyNode                          // whose bound asks are to be tried
	isDirty     tables.Table[*ledger.Node, bool]
	completions tables.Table[*ledger.Application, timers.Timer] // when applications end by themselves
	ranked      int                                             // how many of them are in order
	bound       timers.Timer                                    // set while questions about them pause
	round       round                                           // scratch
	skips       backlog.Skips                                   // in this batch
	visit       uint64                                          // of all that may be tried, until nothing was left
}

// NewPartition makes an empty partition, which owns the configuration from then on. The
// configuration must have passed the validation of package config.
func NewPartition(options api.Options, config api.Config) *Partition {
	options = options.WithDefaults()
	p := &Partition{Backlog: backlog.NewBacklog(options)}
	b := &p.Backlog
	p.topology = topology.New(p.AllNodes, p.order.Used)
	p.order = backlog.NewNodeOrder(&p.Work.Nodes, p.topology)
	p.predicates = question.Predicates{Backlog: b}
	p.refused = question.Refused{Backlog: b, Predicates: &p.predicates, Order: &p.order, WithoutQuota: p.retries.WithoutQuota}
	p.kept = preemption.Claims{Backlog: b, Counts: &p.counts, Undecided: &p.round.together}
	p.slots = preemption.Slots{Backlog: b, Kept: &p.kept, Predicates: &p.predicates}
	p.evictions = preemption.Evictions{Backlog: b, Counts: &p.counts}
	p.renominations = preemption.Renominations{Backlog: b, Kept: &p.kept, Evictions: &p.evictions, Predicates: &p.predicates}
	p.costs = preemption.CostCache{Backlog: b, Predicates: &p.predicates, Bounds: preemption.CostLimits{Keys: preemption.KeysMax, Heaps: preemption.HeapsMax, Evaluations: preemption.EvaluationsMax}}
	p.retries = preemption.Retries{Backlog: b, Predicates: &p.predicates}
	p.attempts = preemption.Attempts{
		Backlog: b, Predicates: &p.predicates, Costs: &p.costs, Kept: &p.kept, Evictions: &p.evictions,
		Retries: &p.retries, Counts: &p.counts,
	}
	p.quotas = preemption.Quotas{
		Backlog: b, Predicates: &p.predicates, Costs: &p.costs, Evictions: &p.evictions, Retries: &p.retries,
		Counts: &p.counts,
	}
	p.hints = preemption.Hints{Backlog: b, Refused: &p.refused}
	p.settling = preemption.Settling{Backlog: b}
	p.groups = group.Groups{
		Backlog: b, Order: &p.order, Predicates: &p.predicates, Refused: &p.refused, Kept: &p.kept, Attempts: &p.attempts, Hints: &p.hints,
		Evictions: &p.evictions,
	}
	p.configure(config)
	p.TakeEffects()
	return p
}

// Apply carries out one command and returns what it did, refusals included. It makes
// no placement; Schedule is to be called after one or more commands. Its cost is that
// of what the command names, and logarithmic in the size of the partition; Reconfigure
// alone is linear in that size.
func (p *Partition) Apply(now time.Time, c api.Command) api.Effects {
	p.BeginCommand(now)
	p.apply(c)
	return p.TakeEffects()
}

func (p *Partition) apply(c api.Command) {
	switch c := c.(type) {
	case api.AddNode:
		p.addNode(c)
	case api.UpdateNode:
		p.updateNode(c)
	case api.DrainNode:
		p.setSchedulable(c.ID, false)
	case api.UndrainNode:
		p.setSchedulable(c.ID, true)
	case api.RemoveNode:
		p.removeNode(c.ID)
	case api.AddApplication:
		p.addApplication(c)
	case api.UpdateApplication:
		p.updateApplication(c)
	case api.RemoveApplication:
		p.removeApplication(c.ID)
	case api.AddAllocation:
		p.addAllocation(c.Allocation)
	case api.ReleaseAllocation:
		p.releaseAllocation(c)
	case api.Reconfigure:
		p.configure(c.Config)
	default:
		panic(fmt.Sprintf("partition %s: %T is not a command", p.Name, c))
	}
}

// Schedule makes placements until nothing more fits or the batch is full; more
// says that it should be called again at once. It also ends early, with more,
// before it would ask Feasible about a node that it placed something on in the
// same call, since the resource manager must hear of that first, and when it has
// asked often enough.
//
// One placement costs time logarithmic in the number of nodes, queues,
// applications and classes of asks, and nothing for asks that are known not to fit.
func (p *Partition) Schedule(now time.Time) (fx api.Effects, more bool) {
	p.BeginBatch(now, p.Options.BatchMax, p.Waiting)
	p.predicates.BeginBatch()
	p.groups.BeginBatch()
	p.costs.BeginBatch()
	p.skips = backlog.Skips{}
	p.react()
	for p.fireDue() {
		p.react()
	}
	p.retries.EndStep()
	if p.renominations.Due {
		p.renominations.Look()
		p.react()
	}

	replaces := false
	if p.groups.MayReplace() {
		replaces = p.groups.Replace()
		p.react()
	}
	more = len(p.dirty) > 0 && p.placeBound() || p.placeOrdinary() || len(p.dirty) > 0 && !p.bound.Set() || p.skips.Any()
	more = more || replaces || p.groups.MayReplace()
	if !more && p.SlotsDue {
		more = p.slots.Look()
	}
	p.hints.Later()
	p.EndBatch(!more)
	return p.TakeEffects(), more
}

// Due is when Schedule will have something to do although nothing is applied, such as
// an application that completes or an ask that is tried again. False means never. It
// costs the same however many timers there are.
func (p *Partition) Due() (time.Time, bool) { return p.Timers.Next() }

// fireDue does what has become due, and reports whether there was anything.
func (p *Partition) fireDue() (fired bool) {
	for {
		d, ok := p.Timers.Pop(p.Now)
		if !ok {
			return fired
		}
		fired = true
		switch d.What {
		case timers.Completion:
			p.complete(d.Of.(*ledger.Application))
		case timers.Pause:
			p.endPause(d.Of)
		case timers.Refused:
			p.refused.AskAgain()
		case timers.Freed:
			p.refused.Retry()
		case timers.Questions:
			p.refused.Resume()
		case timers.Hints:
			p.hints.Wake()
			p.groups.Hint()
		case timers.Attempts:
			for _, q := range p.retries.Retry() {
				p.quotas.ForgetLeft(q)
				p.quotas.GiveBack(q)
			}
		case timers.Excess:
			p.quotas.GiveBack(d.Of.(*ledger.Queue))
		case timers.Eviction:
			p.evictions.Expire(d.Of.(*ledger.Request))
		case timers.Settled:
			p.Settle()
			p.groups.SettleStates()
			p.reconsider()
		case timers.Held:
			p.settling.LetGo()
		case timers.Slots:
			p.MayHelpSlots()
		case timers.Gang:
			p.expireGang(d.Of.(*ledger.Application))
		case timers.Groups:
			p.groups.Wake()
		case timers.Ask:
			p.wake(d.Of.(*ledger.Request))
		case timers.Bound: // this Schedule goes on with them
		}
	}
}

// endPause ends a pause that is over.
func (p *Partition) endPause(of any) {
	if app, is := of.(*ledger.Application); is {
		app.Failures.Backoff.End()
		p.Changes.Application(app, 0)
		return
	}
	r := of.(*ledger.Request)
	if r.RunsOn != nil {
		r.Eviction.Guard.End()
		p.Changes.Node(r.RunsOn, ledger.NodeRetry|ledger.NodeYields)
		return
	}
	r.Wait.Guard.End()
	p.Reclassify(r)
	p.Changes.Application(r.App, 0)
}

// wake does what has become due about an ask.
func (p *Partition) wake(r *ledger.Request) {
	p.attempts.Wake(r)
	if timers.IsDue(p.MomentOf(r, backlog.Retry), p.Now) {
		p.tryAgain(r)
	}
	p.slots.Expire(r)
}
