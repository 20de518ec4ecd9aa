package archive

import (
	"time"

	"github.com/narwhal-scheduler/narwhal/pkg/core"
	"github.com/narwhal-scheduler/narwhal/pkg/core/preemptor"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// Outcome is what came of a plan.
type Outcome uint8

// The outcomes: some victims are there still, or the ask waits for its turn; the
// ask was placed; it lost the node that it had in view; another plan took the
// place of this one; it waits no more; all victims of a quota have gone.
const (
	UnderWay Outcome = iota
	Placed
	Cleared
	Replaced
	Withdrawn
	Freed

	outcomes = iota
)

var outcomeTexts = [outcomes]string{
	UnderWay: "under way", Placed: "placed", Cleared: "cleared", Replaced: "planned anew", Withdrawn: "withdrawn", Freed: "freed",
}

// String is the outcome in words.
func (o Outcome) String() string { return outcomeTexts[o] }

// A Plan is who was told to go, for whom, and what came of it. Readers share it and
// what is in it.
type Plan struct {
	At          time.Time
	Trigger     preemptor.Trigger
	Application core.ApplicationID // of the ask; empty where a queue gives back
	Key         core.AllocationKey // the ask; empty where a queue gives back
	Queue       core.QueuePath     // of the ask, or the one that gives back
	Node        core.NodeID        // where room is made; empty where a queue gives back
	Decision    *preemptor.Decision
	Victims     []Victim // the gentlest first; none if who goes already is enough

	Outcome Outcome
	Reason  string      // of an outcome, for people
	On      core.NodeID // where the ask was placed
	Until   time.Time   // of the outcome; zero while it is under way
}

// A Victim is an allocation that was told to go.
type Victim struct {
	Key         core.AllocationKey
	Application core.ApplicationID // empty for one of another scheduler
	Queue       core.QueuePath
	Node        core.NodeID
	Amounts     resources.Amounts
	Priority    int32
	Ended       time.Time // zero while it has not gone
}

// Victim is one of the victims; nil if it is none.
func (p *Plan) Victim(key core.AllocationKey) *Victim {
	for i := range p.Victims {
		if p.Victims[i].Key == key {
			return &p.Victims[i]
		}
	}
	return nil
}
