package preemption

import "github.com/narwhal-scheduler/narwhal/pkg/core/question"

// What timers of the preemption are for.
const (
	DueSlots         = question.DueQuestions + 1 + iota // classes still fit no node: their asks get claims
	DueEviction                                         // it should have ended
	DueExcess                                           // a queue gives back what it uses beyond its max
	DueUnschedulable                                    // the resource manager hears of asks that fit no node
	DueAttempts                                         // failed attempts are repeated
	DueSettled                                          // evictions may begin
	DueHeld                                             // a node that was registered drained takes asks that require it
	DueGuard                                            // a pause of an ask, an application or a node is over
)
