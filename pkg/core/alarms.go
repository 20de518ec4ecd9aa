package core

import "github.com/narwhal-scheduler/narwhal/pkg/core/backlog"

// What timers are for: something about an ask, the eviction of an allocation, an application, a
// queue, or one of the things that a partition does from time to time.
const (
	dueSlots         = backlog.DueAsk + 1 + iota // classes still fit no node: their asks get claims
	dueEviction                                  // it should have ended
	dueCompletion                                // an application completes
	dueExcess                                    // a queue gives back what it uses beyond its max
	dueRefused                                   // refused classes are asked about again on all nodes
	dueFreed                                     // they are asked about on freed nodes
	dueQuestions                                 // questions go on
	dueUnschedulable                             // the resource manager hears of asks that fit no node
	dueAttempts                                  // failed attempts are repeated
	dueBound                                     // asks bound to a node are tried again, about which questions paused
	dueSettled                                   // evictions may begin
	dueGang                                      // the placeholders of an application time out
	dueGroups                                    // groups are tried again, and members of gangs, that fitted nowhere
	dueHeld                                      // a node that was registered drained takes asks that require it
	dueGuard                                     // a pause of an ask, an application or a node is over
)
