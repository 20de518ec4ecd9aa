package timers

// What says what a timer is for. All there are in a partition stand here, in the order of the parts that set them.
type What uint8

// What timers are for.
const (
	Ask        What = iota // one of the moments of an ask has come
	Refused                // classes that were refused are asked about again on all nodes
	Freed                  // they are asked about on freed nodes
	Questions              // questions go on
	Slots                  // classes still fit no node: their asks get claims
	Eviction               // it should have ended
	Excess                 // a queue gives back what it uses beyond its max
	Hints                  // the resource manager hears of asks that fit no node
	Attempts               // failed attempts are repeated
	Settled                // evictions may begin
	Held                   // a node that was registered drained takes asks that require it
	Pause                  // a pause of an ask, an application or a node is over
	Groups                 // groups are tried again, and members of gangs, that fitted nowhere
	Gang                   // the placeholders of an application time out
	Bound                  // asks bound to a node are tried again, about which questions paused
	Completion             // an application completes
)
