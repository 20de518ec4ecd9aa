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

var triggers = [Triggers]string{
	RequiredNode: "required node",
	Priority:     "priority",
	Guarantee:    "guarantee",
	Quota:        "quota",
}

// String is the trigger in words.
func (t Trigger) String() string {
	if int(t) >= len(triggers) {
		return fmt.Sprintf("trigger %d", uint8(t))
	}
	return triggers[t]
}
