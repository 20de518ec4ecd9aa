package core

// A changeSet is what happened to the ledger since react last ran. Booking and
// unbooking append to it and call nothing; react decides from it what is put in order,
// and which asks are tried again.
type changeSet struct {
	nodes        []*node // each once
	queues       []*queue
	applications []*application
	taskGroups   []*taskGroup
	groups       []*group
	placed       []*request // allocations that took room
	freed        []*account // of limits that may hold more again, each once
	resized      bool       // the cluster: shares are measured against its size
}

// nodeChange says what happened to a node.
type nodeChange uint8

const (
	nodeChanged nodeChange = 1 << iota // anything
	nodeRetry                          // asks that are bound to it are to be tried
	nodeFreed                          // it may have become of use to asks
	nodeYields                         // its allocations may make room for other asks
	nodeUpdated                        // a command updated it, or the configuration changed
)

// queueChange says what happened to a queue and to those above it.
type queueChange uint8

const (
	queueChanged queueChange = 1 << iota // what it uses, or what waits below
	quotaFreed                           // there may be more quota for asks
	quotaLowered                         // evictions free less than they did, or will not
	quotaBooked                          // something was booked that no quota refuses
)

// node records a change of a node.
func (c *changeSet) node(n *node, what nodeChange) {
	if n.change == 0 {
		c.nodes = append(c.nodes, n)
	}
	n.change |= what | nodeChanged
}

// queue records a change of a leaf queue, which is one of all above it too.
func (c *changeSet) queue(q *queue, what queueChange) {
	if q.change == 0 {
		c.queues = append(c.queues, q)
	}
	q.change |= what | queueChanged
	for ; q != nil; q = q.parent {
		q.view = nil
	}
}

// application records that what an application has or wants has changed, and so
// has its queue.
func (c *changeSet) application(a *application, what queueChange) {
	a.view = nil
	if !a.changed {
		a.changed = true
		c.applications = append(c.applications, a)
	}
	c.queue(a.queue, what)
}

// none reports whether nothing is recorded.
func (c *changeSet) none() bool {
	return len(c.nodes) == 0 && len(c.queues) == 0 && len(c.applications) == 0 && len(c.taskGroups) == 0 && len(c.groups) == 0 && len(c.freed) == 0 && !c.resized
}
