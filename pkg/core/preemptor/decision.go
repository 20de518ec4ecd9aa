package preemptor

import (
	"fmt"
	"slices"
	"time"

	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// A Decision is the result of Plan, with everything that is needed to explain it.
// It belongs to the caller.
type Decision struct {
	Trigger  Trigger
	Cost     Cost
	Reason   Reason
	Strategy Strategy  // the strategy that chose, with Chosen unless Given
	Given    bool      // the victims are those that were given to Accept
	Victims  []Victim  // the least important first, with Chosen
	Proof    Proof     // with Chosen by Minimal
	Weight   int64     // of the victims: thousandths of the whole node, rounded up by victim and kind
	Together Together  // with Chosen, if others like the ask wait
	Failures []Failure // of the strategies that selected nothing, in their order
	Again    time.Time // with TooYoung, when to plan again

	Ask       string
	Asked     resources.Amounts
	Free      resources.Amounts
	Releasing resources.Amounts // what releasing allocations hold
	Needed    resources.Amounts // what must be freed in addition to Free and Releasing, of the kinds asked for
	Quota     resources.Amounts // what must be freed of the quota

	// What is missing of that even if all candidates are removed: the largest
	// part of a kind that is asked for, and how much on the node and of the
	// quota.
	Missing      resources.Share
	Lacking      resources.Amounts
	LackingQuota resources.Amounts
	Partial      bool   // with Chosen: the victims are the most that can be freed, and not enough
	Refusal      string // with Refused and NotEnough, why; empty with NotEnough if Lacking says so

	Violations int      // how many of the victims violate a budget
	Broken     []string // the budgets that the victims exceed, by name
	Stops      []string // the groups that run in vain without the victims, or end whole, by name
	Floors     []Floor  // those that excluded a candidate, by queue
	Below      []string // the queues that the victims leave with less than is guaranteed to them, by path

	Freed    resources.Amounts // what the victims hold
	Freeable resources.Amounts // what all eligible candidates hold, on any node

	ByClass  [Classes]int // how many candidates are eligible
	ByFilter [Filters]int // how many candidates are not
	Filtered []Filtered   // which are not, by filter and key
}

// SaysAs reports whether two decisions come out the same, by the same numbers, whichever the
// victims are.
func (d *Decision) SaysAs(other *Decision) bool {
	return d.Reason == other.Reason && d.Trigger == other.Trigger && d.Refusal == other.Refusal && slices.Equal(d.Broken, other.Broken) &&
		d.Needed.Equal(other.Needed) && d.Quota.Equal(other.Quota) && d.Releasing.Equal(other.Releasing) && d.Freed.Equal(other.Freed) &&
		d.Lacking.Equal(other.Lacking) && d.LackingQuota.Equal(other.LackingQuota) &&
		(d.Trigger != RequiredNode || d.Freeable.Equal(other.Freeable))
}

// A Victim is a candidate that was chosen.
type Victim struct {
	Candidate
	Class Class
	Of    string // the group of which it is a member; empty for none
}

// Filtered is a candidate that is no victim.
type Filtered struct {
	Key string
	Why Filter
}

// Proof says how good a result of the strategy minimal is known to be. When it is
// proved, there are no victims of a lower class or priority, fewer or lighter
// ones. Otherwise the search was stopped.
type Proof struct {
	Proved    bool
	Steps     int64 // of the search
	Stopped   bool  // with Reprieve: the search for better victims was stopped
	Contended bool  // budgets are too small for all candidates, so that violations were compared: before class, or
	Later     bool  // after priority
}

// Reason is the result of a decision in one word.
type Reason uint8

// The reasons.
const (
	NotPlanned        Reason = iota // the zero Decision
	RoomIsThere                     // the ask fits already
	WaitsForReleasing               // the ask fits once the releasing allocations have ended
	Disabled                        // nothing is preempted here
	NoCandidates                    // every candidate is filtered
	Impossible                      // all eligible candidates together hold too little
	TooYoung                        // the reservation may not preempt yet
	NothingHelps                    // no strategy selects victims within its bounds
	Chosen                          // the victims make room
	Refused                         // the ask cannot run there even without all candidates
	NotEnough                       // the victims given to Accept are not acceptable
)

var reasons = [...]string{
	NotPlanned:        "not planned",
	RoomIsThere:       "room is there",
	WaitsForReleasing: "waits for releasing allocations",
	Disabled:          "preemption is disabled",
	NoCandidates:      "no eligible candidate",
	Impossible:        "impossible",
	TooYoung:          "too young",
	NothingHelps:      "no strategy finds victims",
	Chosen:            "chosen",
	Refused:           "refused even without the candidates",
	NotEnough:         "not enough",
}

// String is the reason in words.
func (r Reason) String() string {
	if int(r) >= len(reasons) {
		return fmt.Sprintf("reason %d", uint8(r))
	}
	return reasons[r]
}

// A Failure is why a strategy selected no victims.
type Failure struct {
	Strategy Strategy
	Why      Bound
	Among    string // with NotOne, which candidates were looked at; empty if all
	Key      string // with TooLarge, the candidate that deviates least from the ask
	Kind     string // with TooLarge, of which kind, if that is not asked for
	PerMille int64  // with TooLarge, by how much, in thousandths of the ask, or of the node with Kind, rounded down
	Victims  int    // with TooMany, how many victims the strategy needs at least
	Most     int64  // what the configuration allows: percent with TooLarge, victims with TooMany, steps with TooLong, questions with TooManyQuestions
}

// Bound is what prevented a strategy from selecting victims.
type Bound uint8

// The bounds.
const (
	NotOne           Bound = iota // no single victim is enough
	TooLarge                      // one would be, but deviates too much
	TooMany                       // more victims are needed than are allowed
	TooLong                       // the search was stopped before it found victims
	TooLittle                     // floors leave too little
	NotFitting                    // the resource manager refuses
	OverBudget                    // budgets leave too little
	TooManyQuestions              // it is not known what the ask needs beside it
)
