package ledger

// A changeSet is what happened to the ledger since react last ran. Booking and
// unbooking append to it and call nothing; react decides from it what is put in order,
// and which asks are tried again.
type changeSet struct {
	Nodes        []*Node // each once
	Queues       []*Queue
	Applications []*Application
	TaskGroups   []*TaskGroup
	Groups       []*Group
	Placed       []*Request // allocations that took room
	Freed        []*Account // of limits that may hold more again, each once
	Resized      bool       // the cluster: shares are measured against its size
}

// nodeChange says what happened to a node.
type nodeChange uint8

// What happened to a node.
const (
	nodeChanged nodeChange = 1 << iota // anything
	NodeRetry                          // asks that are bound to it are to be tried
	NodeFreed                          // it may have become of use to asks
	NodeYields                         // its allocations may make room for other asks
	NodeUpdated                        // a command updated it, or the configuration changed
)

// queueChange says what happened to a queue and to those above it.
type queueChange uint8

// What happened to a queue.
const (
	queueChanged queueChange = 1 << iota // what it uses, or what waits below
	QuotaFreed                           // there may be more quota for asks
	QuotaLowered                         // evictions free less than they did, or will not
	QuotaBooked                          // something was booked that no quota refuses
)

// Node records a change of a node.
func (c *changeSet) Node(n *Node, what nodeChange) {
	if n.Change == 0 {
		c.Nodes = append(c.Nodes, n)
	}
	n.Change |= what | nodeChanged
}

// Queue records a change of a leaf queue, which is one of all above it too.
func (c *changeSet) Queue(q *Queue, what queueChange) {
	if q.Change == 0 {
		c.Queues = append(c.Queues, q)
	}
	q.Change |= what | queueChanged
	for ; q != nil; q = q.Parent {
		q.View = nil
	}
}

// Reacted says that what happened to the quota of a queue was reacted to: its order is still to be settled.
func (q *Queue) Reacted() { q.Change = queueChanged }

// Application records that what an application has or wants has changed, and so
// has its queue.
func (c *changeSet) Application(a *Application, what queueChange) {
	a.View = nil
	if !a.Changed {
		a.Changed = true
		c.Applications = append(c.Applications, a)
	}
	c.Queue(a.Queue, what)
}

// None reports whether nothing is recorded.
func (c *changeSet) None() bool {
	return len(c.Nodes) == 0 && len(c.Queues) == 0 && len(c.Applications) == 0 && len(c.TaskGroups) == 0 && len(c.Groups) == 0 && len(c.Freed) == 0 && !c.Resized
}
