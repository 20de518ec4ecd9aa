package preemptor

import (
	"fmt"
	"time"

	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// A Decision is what Plan came to, with everything that is needed to explain
// it. It belongs to whoever asked for it.
type Decision struct {
	Trigger  Trigger
	Cost     Cost
	Reason   Reason
	Strategy Strategy  // which chose, with Chosen unless Given
	Given    bool      // the victims are those that were given to Accept
	Victims  []Victim  // the gentlest first, with Chosen
	Proof    Proof     // with Chosen by Minimal
	Weight   int64     // of the victims: thousandths of all that is looked at, rounded up by victim and kind
	Failures []Failure // of the strategies that selected nothing, in their order
	Again    time.Time // with TooYoung, when to plan again

	Ask       string
	Asked     resources.Amounts
	Free      resources.Amounts
	Releasing resources.Amounts // what those hold that leave already
	Needed    resources.Amounts // what must be freed beyond Free and Leaving, of the kinds asked for
	Quota     resources.Amounts // what must be freed of the quota

	// What is missing of that even if everybody goes who may: the largest part of a
	// kind that is asked for, and how much on the node and of the quota.
	Missing      resources.Share
	Lacking      resources.Amounts
	LackingQuota resources.Amounts
	Partial      bool   // with Chosen: the victims are the most that can be freed, and not enough
	Refusal      string // with Refused and NotEnough, why

	Violations int      // how many of the victims violate a budget
	Broken     []string // the budgets that the victims exceed, by name
	Floors     []Floor  // those that kept somebody from going, by queue

	Freed    resources.Amounts // what the victims hold
	Freeable resources.Amounts // what all who are eligible hold, on any node

	ByClass  [Classes]int // how many are eligible
	ByFilter [Filters]int // how many are not
	Filtered []Filtered   // who is not, by filter and key
}

// A Victim is a candidate that was chosen.
type Victim struct {
	Candidate
	Class Class
}

// Filtered is a candidate that is no victim.
type Filtered struct {
	Key string
	Why Filter
}

// Proof says how good a result of the strategy minimal is known to be. When it
// is proved, nobody finds gentler, fewer or lighter victims. Otherwise the
// search was broken off: VictimsMin and WeightMin are then what any victims of
// the same classes and priorities come to at least.
type Proof struct {
	Proved     bool
	VictimsMin int
	WeightMin  int64 // of as many victims as were chosen
	Steps      int64 // of the search
}

// Reason is what a decision comes down to.
type Reason uint8

// The reasons.
const (
	NotPlanned        Reason = iota // the zero Decision
	RoomIsThere                     // the ask fits already
	WaitsForReleasing               // it fits once those are gone who leave already
	Disabled                        // nothing is preempted here
	NobodyEligible                  // every candidate is filtered
	Impossible                      // all who are eligible do not hold what is needed
	TooYoung                        // the reservation may not preempt yet
	NothingHelps                    // the bounds of all strategies are too tight
	Chosen                          // the victims make room
	Refused                         // it may not run there even if everybody goes who may
	NotEnough                       // those given to Accept are no good
)

var reasons = [...]string{
	NotPlanned:        "not planned",
	RoomIsThere:       "room is there",
	WaitsForReleasing: "waits for those who leave",
	Disabled:          "preemption is disabled",
	NobodyEligible:    "nobody is eligible",
	Impossible:        "impossible",
	TooYoung:          "too young",
	NothingHelps:      "nothing helps",
	Chosen:            "chosen",
	Refused:           "refused even without them",
	NotEnough:         "not enough",
}

// String is the reason in words.
func (r Reason) String() string {
	if int(r) >= len(reasons) {
		return fmt.Sprintf("reason %d", uint8(r))
	}
	return reasons[r]
}

// A Failure is why a strategy selected nobody.
type Failure struct {
	Strategy Strategy
	Why      Bound
	Key      string // with TooLarge, who deviates least from the ask
	PerMille int64  // with TooLarge, by how much, in thousandths of the ask, rounded down
	Victims  int    // with TooMany, how many it takes at least, of a strategy's own selection
	Most     int64  // what the configuration allows: percent with TooLarge, victims with TooMany, steps with TooLong
}

// Bound is what kept a strategy from choosing.
type Bound uint8

// The bounds.
const (
	NotOne     Bound = iota // no one victim is enough
	TooLarge                // one would be, but deviates too much
	TooMany                 // it takes more victims than are allowed
	TooLong                 // the search was broken off before it found any
	TooLittle               // floors leave too little
	NotFitting              // the resource manager refuses
	OverBudget              // budgets leave too little
)
