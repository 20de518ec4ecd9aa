// Package stage names the stages of scheduling whose time is measured. It is apart from package
// metrics, so that what measures needs nothing of Prometheus.
package stage

// Stage is a part of the way from a request to its answer.
type Stage uint8

// The stages.
const (
	InboxWait  Stage = iota // a request waits for the owner of its partition
	Apply                   // one command is carried out and its answers are handed over
	Decision                // one call of Schedule, whatever it places
	OutboxWait              // answers wait for the goroutine that makes the callbacks
	Callback                // a resource manager takes one callback
	Predicate               // a resource manager answers whether one ask may run on one node

	// Stages is how many stages there are.
	Stages = iota
)

var names = [Stages]string{
	InboxWait:  "inbox_wait",
	Apply:      "apply",
	Decision:   "decision",
	OutboxWait: "outbox_wait",
	Callback:   "callback",
	Predicate:  "predicate",
}

// String is the value of the label stage.
func (s Stage) String() string { return names[s] }
