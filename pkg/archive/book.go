package archive

import (
	"slices"
	"sync"
	"time"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"

	"github.com/narwhal-scheduler/narwhal/pkg/core"
	"github.com/narwhal-scheduler/narwhal/pkg/core/preemptor"
	"github.com/narwhal-scheduler/narwhal/pkg/events"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// A Book is what one partition has been. One goroutine writes it, with Take; any
// number read it, and a nil one reads as empty.
//
//	running of a life = its allocations in running, used = their sum
//	counts            = lives that run, and all of running
type Book struct {
	config Config
	kinds  *resources.Kinds

	mu         sync.Mutex
	now        time.Time // of the last step
	began      time.Time
	lives      map[core.ApplicationID]*life
	last       *life // that was looked up last
	running    map[core.AllocationKey]run
	instances  map[core.NodeID]string // types of nodes, where they are known
	lately     lately
	ended      ring[*ApplicationRecord]
	rejections ring[*ApplicationRecord]
	plans      plans
	counts     counts
	over       []*ApplicationRecord // that ended with the last step
}

func newBook(config Config, kinds *resources.Kinds) *Book {
	return &Book{
		config: config, kinds: kinds, lives: map[core.ApplicationID]*life{}, running: map[core.AllocationKey]run{},
		instances: map[core.NodeID]string{}, plans: newPlans(),
	}
}

// Take writes down a step. All steps must be taken, in order, from the first on. It
// returns the applications that ended, in a slice that is good until the next one.
func (b *Book) Observe(step events.Step) (ended []*ApplicationRecord) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.now, b.over = step.Now, b.over[:0]
	if b.began.IsZero() {
		b.began = step.Now
	}
	b.counts.pass(minuteOf(step.Now))
	if c, ok := step.Command.(core.ReleaseAllocation); ok {
		b.released(c)
	}
	for _, effect := range step.Effects {
		b.caused(step.Command, effect)
	}
	b.done(step.Command, step.Effects)
	return b.over
}

func (b *Book) caused(command core.Command, effect any) {
	switch e := effect.(type) {
	case *si.Allocation:
		b.placed(e)
	case *si.AllocationRelease:
		// Any other type asks for the end, which comes with a release.
		if e.TerminationType == si.TerminationType_STOPPED_BY_RM {
			b.stopped(core.AllocationKey(e.AllocationKey), e.TerminationType)
		}
	case *si.AcceptedApplication:
		if c, ok := command.(core.AddApplication); ok {
			b.accepted(c)
		}
	case *si.RejectedApplication:
		b.rejected(command, e)
	case *si.UpdatedApplication:
		b.entered(e)
	case *si.UpdateContainerSchedulingStateRequest:
		b.hinted(e)
	case *si.EventRecord:
		b.recorded(e)
	case core.Nomination:
		b.nominated(e)
	case core.Preemption:
		b.planned(&Plan{Application: e.Application, Key: e.Key, Queue: e.Queue, Node: e.Node, Decision: e.Plan})
	}
}

// done is what a command has changed that is not told, or told last.
func (b *Book) done(command core.Command, effects core.Effects) {
	switch c := command.(type) {
	case core.AddAllocation:
		if !refused(effects) {
			b.added(c.Allocation)
		}
	case core.RemoveApplication:
		b.removed(c.ID)
	case core.AddNode:
		if !refused(effects) {
			b.typed(c.ID, c.Attributes)
		}
	case core.UpdateNode:
		if !refused(effects) && c.Attributes != nil {
			b.typed(c.ID, c.Attributes)
		}
	case core.RemoveNode:
		delete(b.instances, c.ID)
		b.plans.lost(b.now, c.ID)
	}
}

// refused reports whether a command was not carried out.
func refused(effects core.Effects) bool {
	for _, effect := range effects {
		switch effect.(type) {
		case *si.RejectedAllocation, *si.RejectedNode:
			return true
		}
	}
	return false
}

// typed notes the type of a node.
func (b *Book) typed(id core.NodeID, attributes map[string]string) {
	delete(b.instances, id)
	if instance := attributes[attributeInstance]; instance != "" {
		b.instances[id] = instance
	}
}

func (b *Book) nominated(n core.Nomination) {
	b.waits(n.Application, n.Key, n.Reason)
	if n.Node == "" {
		b.plans.close(b.now, n.Key, Cleared, n.Reason)
		return
	}
	p := &Plan{Application: n.Application, Key: n.Key, Node: n.Node, Decision: n.Plan}
	if l := b.life(n.Application); l != nil {
		p.Queue = l.Queue
	}
	b.planned(p)
}

// planned keeps a plan and notes who was told to go. Who is of no application here
// is of another scheduler, and on the node of the plan.
func (b *Book) planned(p *Plan) {
	p.At, p.Trigger = b.now, p.Decision.Trigger
	if p.Decision.Reason == preemptor.Chosen {
		for _, v := range p.Decision.Victims {
			victim := Victim{Key: core.AllocationKey(v.Key), Node: p.Node, Amounts: v.Amounts, Priority: v.Priority}
			if r, ok := b.running[victim.Key]; ok {
				victim.Application, victim.Queue, victim.Node = r.life.ID, r.life.Queue, r.node
				r.victim = true
				b.running[victim.Key] = r
			}
			p.Victims = append(p.Victims, victim)
		}
	}
	b.plans.add(b.now, p, b.config.PlansMax)
}

// Over is the applications that ended and those that were rejected, the oldest
// first, without what is too old at this time.
func (b *Book) Finished(now time.Time) (ended, rejected []*ApplicationRecord) {
	if b == nil {
		return nil, nil
	}
	b.mu.Lock()
	ended, rejected = slices.Clone(b.ended.all()), slices.Clone(b.rejections.all())
	b.mu.Unlock()
	return b.config.recent(ended, now), b.config.recent(rejected, now)
}

// recent is those who have not ended too long ago.
func (c Config) recent(lives []*ApplicationRecord, now time.Time) []*ApplicationRecord {
	i := slices.IndexFunc(lives, func(l *ApplicationRecord) bool { return !l.Finished.Add(c.Keep).Before(now) })
	if i < 0 {
		return nil
	}
	return lives[i:]
}

// Life is the life of an application that goes on; nil if there is none.
func (b *Book) Application(id core.ApplicationID) *ApplicationRecord {
	if b == nil {
		return nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if l := b.lives[id]; l != nil {
		return l.viewed()
	}
	return nil
}

// Waits is why an ask of an application waits; nothing if nothing was said of it.
func (b *Book) PendingReasons(id core.ApplicationID, key core.AllocationKey) PendingReasons {
	if b == nil {
		return PendingReasons{}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if l := b.lives[id]; l != nil && l.waits[key] != nil {
		return PendingReasons{slices.Clone(l.waits[key].Reasons), l.waits[key].ScaleUp}
	}
	return PendingReasons{}
}

// Began is when the partition did; zero if that is not known.
func (b *Book) Since() time.Time {
	if b == nil {
		return time.Time{}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.began
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

// Told is the last plan by which an allocation was told to go; nil if none did. The
// application is empty for one of another scheduler.
func (b *Book) PlanOf(application core.ApplicationID, key core.AllocationKey) *Plan {
	if b == nil {
		return nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.plans.told(application, key)
}
