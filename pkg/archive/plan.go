package archive

import (
	"time"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/core/preemptor"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// Outcome is what came of a plan.
type Outcome uint8

// The outcomes: some victims still run, or the ask waits for its turn; the ask was
// placed; it lost its nomination; another plan replaced this one; it waits no more;
// all victims of a quota have ended.
const (
	UnderWay Outcome = iota
	Placed
	Cleared
	Replaced
	Withdrawn
	Freed

	planOutcomes = iota
)

var outcomeTexts = [planOutcomes]string{
	UnderWay: "under way", Placed: "placed", Cleared: "cleared", Replaced: "planned anew", Withdrawn: "withdrawn", Freed: "freed",
}

// String is the outcome in words.
func (o Outcome) String() string { return outcomeTexts[o] }

// A Plan is which allocations were evicted, for which ask, and what came of it.
// Readers share it and everything in it.
type Plan struct {
	At          time.Time
	Trigger     preemptor.Trigger
	Application api.ApplicationID // of the ask; empty with the trigger Quota
	Key         api.AllocationKey // the ask; empty with the trigger Quota
	Queue       api.QueuePath     // of the ask, or the one over its max
	User        string            // of the application of the ask
	Priority    *int32            // of the ask; nil if the event did not say
	Node        api.NodeID        // where room is made; empty with the trigger Quota
	Decision    *preemptor.Decision
	Victims     []Victim // in the order of the decision; none if earlier evictions are enough

	Outcome Outcome
	Reason  string     // of an outcome, for people
	On      api.NodeID // where the ask was placed
	Until   time.Time  // of the outcome; zero while it is under way
}

// A Victim is an allocation that was evicted.
type Victim struct {
	Key         api.AllocationKey
	Pod         string            // as the resource manager names it; empty if it does not
	Application api.ApplicationID // empty for a foreign one
	Queue       api.QueuePath
	User        string // of its application
	Class       preemptor.Class
	Node        api.NodeID
	Amounts     resources.Amounts
	Priority    int32     // as the queue of the ask sees it, which decided
	OwnPriority int32     // what it has of its own, or of its group
	Started     time.Time // zero if that is not known
	Chosen      time.Time // for eviction
	Ended       time.Time // zero while it runs
	Wasted      string    // why no ask runs in its room; empty unless it is wasted
}

// Ran is how long a victim ran until it ended or, while it runs, until it was chosen; zero if it is
// not known when it started.
func (v *Victim) Ran() time.Duration {
	until := v.Ended
	if until.IsZero() {
		until = v.Chosen
	}
	if v.Started.IsZero() || until.Before(v.Started) {
		return 0
	}
	return until.Sub(v.Started)
}

// Lost is the work of a victim that is lost: what it held, times the seconds that it ran.
func (v *Victim) Lost() resources.Amounts { return overTime(v.Amounts, v.Ran()) }

// Victim is one of the victims; nil if it is none.
func (p *Plan) Victim(key api.AllocationKey) *Victim {
	for i := range p.Victims {
		if p.Victims[i].Key == key {
			return &p.Victims[i]
		}
	}
	return nil
}
