package ledger

// A changeSet is what happened to the ledger since react last ran. Booking and
// unbooking append to it and call nothing; react decides from it what is put in order,
// and which asks are tried again.
type changeSet struct {
	nodes        []*Node // each once
	Queues       []*Queue
	Applications []*Application
	taskGroups   []*TaskGroup
	groups       []*Group
	placed       []*Request // allocations that took room
	freed        []*Account // of limits that may hold more again, each once
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
	if n.change == 0 {
		c.nodes = append(c.nodes, n)
	}
	n.change |= what | nodeChanged
	n.View = nil
	if what&NodeUpdated != 0 {
		n.Revision++
	}
}

// TookRoom records that an allocation took room which others might have had.
func (c *changeSet) TookRoom(r *Request) { c.placed = append(c.placed, r) }

// Queue records a change of a leaf queue, which is one of all above it too.
func (c *changeSet) Queue(q *Queue, what queueChange) {
	if q.Change == 0 {
		c.Queues = append(c.Queues, q)
	}
	q.Change |= what | queueChanged
	q.Unview()
}

// Reacted says that what happened to the quota of a queue was reacted to: its order is still to be settled.
func (q *Queue) Reacted() { q.Change = queueChanged }

// Application records that what an application has or wants has changed, and so
// has its queue.
func (c *changeSet) Application(a *Application, what queueChange) {
	a.View = nil
	if !a.changed {
		a.changed = true
		c.Applications = append(c.Applications, a)
	}
	c.Queue(a.Queue, what)
}

// None reports whether nothing is recorded.
func (c *changeSet) None() bool {
	return len(c.nodes) == 0 && len(c.Queues) == 0 && len(c.Applications) == 0 && len(c.taskGroups) == 0 && len(c.groups) == 0 && len(c.freed) == 0 && !c.Resized
}

// What has changed is taken once, by what reacts to it. The lists of queues, applications and accounts do not grow
// meanwhile.

// TakeNodes visits the nodes that have changed, with what happened to each. What changes meanwhile is taken the
// next time. From now on nothing holds that was known of a node before it changed.
func (l *Ledger) TakeNodes(yield func(*Node, nodeChange) bool) {
	c := &l.Changes
	taken := len(c.nodes)
	for _, n := range c.nodes[:taken] {
		what := n.change
		n.change = 0
		l.NodesChanged++
		n.ChangedAt = l.NodesChanged
		if what&NodeUpdated != 0 {
			l.NodesUpdated++
			n.UpdatedAt, n.View = l.NodesUpdated, nil
		}
		if what&NodeFreed != 0 && !n.Gone {
			l.NodesFreed++
			n.FreedAt = l.NodesFreed
		}
		yield(n, what)
	}
	c.nodes = append(c.nodes[:0], c.nodes[taken:]...)
}

// AnyNode reports whether any node has changed.
func (c *changeSet) AnyNode() bool { return len(c.nodes) > 0 }

// TakeQueues visits the queues that have changed.
func (c *changeSet) TakeQueues(yield func(*Queue) bool) {
	take(&c.Queues, yield, func(q *Queue) { q.Change = 0 })
}

// TakeApplications visits the applications that have changed.
func (c *changeSet) TakeApplications(yield func(*Application) bool) {
	take(&c.Applications, yield, func(app *Application) { app.changed = false })
}

// TakeTaskGroups visits the task groups that have changed, and those that do so meanwhile.
func (c *changeSet) TakeTaskGroups(yield func(*TaskGroup) bool) {
	take(&c.taskGroups, yield, func(g *TaskGroup) { g.changed = false })
}

// TakeGroups visits the groups that have changed.
func (c *changeSet) TakeGroups(yield func(*Group) bool) {
	take(&c.groups, yield, func(g *Group) { g.changed = false })
}

// TakePlaced visits the allocations that took room.
func (c *changeSet) TakePlaced(yield func(*Request) bool) { take(&c.placed, yield, func(*Request) {}) }

// TakeFreed visits the accounts that may hold more again.
func (c *changeSet) TakeFreed(yield func(*Account) bool) {
	take(&c.freed, yield, func(a *Account) { a.freed = false })
}

// TakeResized reports whether the size of the cluster has changed.
func (c *changeSet) TakeResized() (resized bool) {
	resized, c.Resized = c.Resized, false
	return resized
}

// take visits what is in a list, also what is added meanwhile, and empties it.
func take[T any](list *[]*T, yield func(*T) bool, taken func(*T)) {
	for next := 0; next < len(*list); {
		taken((*list)[next])
		yield((*list)[next])
		next++
	}
	clear(*list)
	*list = (*list)[:0]
}
