package core

import "github.com/narwhal-scheduler/narwhal/pkg/core/question"

// What timers of the preemption are for.
const (
	dueSlots         = question.DueQuestions + 1 + iota // classes still fit no node: their asks get claims
	dueEviction                                         // it should have ended
	dueExcess                                           // a queue gives back what it uses beyond its max
	dueUnschedulable                                    // the resource manager hears of asks that fit no node
	dueAttempts                                         // failed attempts are repeated
	dueSettled                                          // evictions may begin
	dueHeld                                             // a node that was registered drained takes asks that require it
	dueGuard                                            // a pause of an ask, an application or a node is over
)
