package preemptor

import "fmt"

// Trigger is why somebody should make room. It says who may be taken from and
// in which order.
type Trigger uint8

// The triggers.
const (
	RequiredNode Trigger = iota // the ask may run on this node only
	Priority                    // the ask is more important than its victims
	Guarantee                   // the ask is due to its queue, and the victims are beyond what is due to theirs
	Quota                       // a queue uses more than its max, since that was lowered; there is no ask

	// Triggers is how many triggers there are, for counts by trigger.
	Triggers = iota
)

// terms is what a trigger means.
type terms struct {
	name       string
	filters    filterSet  // of those that do not always apply
	strategies []Strategy // none: those of the configuration
	minimalMax int        // most candidates for the strategy Minimal; more go by the next

	byPriority bool // before class, in the order of candidates and in the cost
	hasAsk     bool // without an ask nothing is short on the node
	configured bool // start, strategies and number of victims are bounded by the configuration
	foreigners bool // foreign ones may go
	simulated  bool // Node.Fits has a say
	partial    bool // what can be freed is freed, though it is not enough
}

// triggers is every trigger there is. Floors count where IsGuaranteed does, and
// budgets where IsBudgeted does.
var triggers = [Triggers]terms{
	RequiredNode: {
		name: "required node", filters: filtersOf(IsHigher),
		minimalMax: unbounded, hasAsk: true, configured: true, foreigners: true,
	},
	Priority: {
		name: "priority", filters: filtersOf(IsOutside, IsHigher, IsEqual, IsGuaranteed, IsBudgeted),
		strategies: []Strategy{Reprieve}, byPriority: true, hasAsk: true, simulated: true,
	},
	Guarantee: {
		name: "guarantee", filters: filtersOf(IsOutside, IsSameQueue, IsHigher, IsGuaranteed, IsBudgeted),
		strategies: []Strategy{Minimal, Reprieve}, minimalMax: VictimsLimit, hasAsk: true, simulated: true,
	},
	Quota: {
		name: "quota", filters: filtersOf(IsOutside, IsGuaranteed, IsBudgeted),
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
