package preemptor

import "fmt"

// Trigger is the reason for a preemption. It decides which allocations are
// candidates and in which order.
type Trigger uint8

// The triggers.
const (
	RequiredNode Trigger = iota // the ask may run on this node only
	Priority                    // the ask is more important than its victims
	Guarantee                   // the ask's queue is below its guarantee, and the queues of the victims are above theirs
	Quota                       // a queue uses more than its max, since that was lowered; there is no ask

	// Triggers is how many triggers there are, for counts by trigger.
	Triggers = iota
)

// triggerRules are the rules of a trigger, beside what it may harm.
type triggerRules struct {
	name       string
	strategies []Strategy // none: those of the configuration
	minimalMax int        // most candidates for the strategy Minimal; with more the next is used

	byPriority bool // before class, in the order of candidates and in the cost
	hasAsk     bool // without an ask nothing is needed on the node
	configured bool // start, strategies and number of victims are bounded by the configuration
	simulated  bool // Node.Fits is asked
	partial    bool // what can be freed is freed even if it is not enough
}

// triggers holds every trigger. What each may harm is in the table of harms.
var triggers = [Triggers]triggerRules{
	RequiredNode: {
		name:       "required node",
		minimalMax: unbounded, hasAsk: true, configured: true, simulated: true,
	},
	Priority: {
		name:       "priority",
		strategies: []Strategy{Reprieve}, byPriority: true, hasAsk: true, simulated: true,
	},
	Guarantee: {
		name:       "guarantee",
		strategies: []Strategy{Minimal, Reprieve}, minimalMax: VictimsLimit, hasAsk: true, simulated: true,
	},
	Quota: {
		name:       "quota",
		strategies: []Strategy{Minimal, Reprieve}, minimalMax: ProvedMax, partial: true,
	},
}

const unbounded = 1<<31 - 1

// String is the trigger in words.
func (t Trigger) String() string {
	if int(t) >= len(triggers) {
		return fmt.Sprintf("trigger %d", uint8(t))
	}
	return triggers[t].name
}
