package api

import (
	"iter"
	"time"
)

// Feasible asks the resource manager whether an allocation may run on a node:
// affinity, taints, ports. With allocate it asks for a placement now, without it for
// a reservation. A nil error means yes; the text of an error is shown to people.
type Feasible func(allocation AllocationKey, node NodeID, allocate bool) error

// Simulate asks the resource manager whether an ask may run on a node to which
// some asks were added and from which some allocations were taken away. A nil error
// means yes. An error with a method Unresolvable that returns true says that it may
// not, whatever is taken away. An answer holds until the node changes or is updated (UpdateNode).
// The slices must not be changed.
type Simulate func(ask AllocationKey, node NodeID, add, remove []AllocationKey) error

// SelectVictims has the resource manager choose the victims that make room for an ask
// on a node, among candidates from the most important to the least; violating says of
// each whether its end would exceed a disruption budget. The victims must hold
// enough, or the node is refused. An error refuses the node too.
type SelectVictims func(ask AllocationKey, node NodeID, candidates []AllocationKey, violating []bool) ([]AllocationKey, error)

// DisruptionBudgets returns the budgets that any of the allocations count for, as they
// are now. The partition owns the slice that is returned.
type DisruptionBudgets func(allocations []AllocationKey) []DisruptionBudget

// A DisruptionBudget is how many of some allocations may be ended at once. In
// Kubernetes it is a PodDisruptionBudget.
type DisruptionBudget struct {
	Name        string
	Allowed     int // zero or more
	Allocations []AllocationKey
}

// A Question is a kind of question to the resource manager, by how urgent it is.
type Question uint8

// The questions: the first about an ask since it came or since everything was
// asked again; further ones about the same ask after nodes were refused; those
// about a node that was refused before.
const (
	FirstQuestion Question = iota
	FurtherQuestion
	RepeatedQuestion
)

// Pace says how long to wait before a question of a kind may be asked; zero or
// less is now.
type Pace func(Question) time.Duration

// FeasibleOn asks the same as Feasible about several nodes at once. It returns an
// answer for each node, in their order. The slice of nodes must not be kept.
type FeasibleOn func(allocation AllocationKey, nodes []NodeID, allocate bool) []error

// TiedTo names the constraints of asks about which the answers of Feasible may change on other nodes
// than that of an allocation when it comes or goes, as where pods are spread over zones. It is
// called when it was placed on a node, before the resource manager hears of that, and, with an
// empty node, when it came otherwise or has ended.
type TiedTo func(allocation AllocationKey, placed NodeID) []string

// Best chooses, of the nodes that have room for an ask, those that suit it best, the best first, and at
// most so many. It is shown the nodes in the order in which they would be tried otherwise, each once, with how
// well they suit that order, from 0 to 100. None is the answer if that order may decide.
type Best func(ask AllocationKey, nodes iter.Seq2[NodeID, int64], most int) []NodeID

// ConstraintsOf names what an ask requires of nodes beyond amounts: asks with the
// same name get the same answers from Feasible. An empty name says that no other ask
// gets the same answers.
type ConstraintsOf func(ask AllocationKey) string
