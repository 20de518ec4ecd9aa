package core

import "fmt"

// commands carry out what is applied to a partition. They change the ledger and make
// no placement.
type commands struct{ *Partition }

func (p commands) apply(c Command) {
	switch c := c.(type) {
	case AddNode:
		p.addNode(c)
	case UpdateNode:
		p.updateNode(c)
	case DrainNode:
		p.setSchedulable(c.ID, false)
	case UndrainNode:
		p.setSchedulable(c.ID, true)
	case RemoveNode:
		p.removeNode(c.ID)
	case AddApplication:
		p.addApplication(c)
	case RemoveApplication:
		p.removeApplication(c.ID)
	case AddAllocation:
		p.addAllocation(c.Allocation)
	case ReleaseAllocation:
		p.releaseAllocation(c)
	case Reconfigure:
		p.configure(c.Config)
	default:
		panic(fmt.Sprintf("partition %s: %T is not a command", p.name, c))
	}
}
