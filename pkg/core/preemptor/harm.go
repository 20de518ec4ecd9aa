package preemptor

import "fmt"

// This file is the table of what may be harmed for what: the filters read it, the page about
// preemption shows it, and a test plays each cell of it.

// A Relation is what an allocation is to the ask, or what protects it.
type Relation uint8

// The relations.
const (
	OwnQueue         Relation = iota // in the queue of the ask, or in the one that exceeds its max
	OtherQueue                       // in another queue, within the fence of the ask
	OutsideFence                     // in a queue that the fence of the ask keeps away
	ProtectedQueue                   // in a queue where preemption is disabled
	AtGuarantee                      // its end leaves its queue with less than is guaranteed
	LessImportant                    // of a lower priority than the ask
	EquallyImportant                 // of the same priority
	MoreImportant                    // of a higher priority
	ForeignLess                      // of another scheduler, and less important than the ask
	ForeignEqual                     // of another scheduler, and as important or more
	PartOfNode                       // of another scheduler, and static
	BoundToNode                      // it must run on its node, such as a daemonset's
	DrivesOthers                     // the owner of others
	AsksToStay                       // opted out
	WithinBudget                     // a budget allows no further end
	WithinHardBudget                 // the same, and budgets are hard
	GroupNeeds                       // its group has as many members as must run, and no more

	// Relations is how many relations there are.
	Relations = iota
)

// A Shortage is what an ask lacks.
type Shortage uint8

// The shortages.
const (
	Room     Shortage = iota // on the node
	OfQuota                  // of a queue
	OfLimit                  // of a user or group
	Conflict                 // the resource manager refuses the ask beside the allocation

	// Shortages is how many shortages there are.
	Shortages = iota
)

// A Harm says whether an allocation may be harmed.
type Harm uint8

// The harms, from none on.
const (
	Never   Harm = iota
	IfEqual      // where the configuration says so
	Last         // if no others are enough which are of the same importance or less
	May
)

// frees says what each trigger frees: the limit of a user never.
var frees = [Triggers][Shortages]bool{
	RequiredNode: {Room: true, OfQuota: true, Conflict: true},
	Priority:     {Room: true, OfQuota: true, Conflict: true},
	Guarantee:    {Room: true, OfQuota: true, Conflict: true},
	Quota:        {OfQuota: true},
}

// harms is the table. What is not in it is never harmed.
var harms = [Relations][Triggers]Harm{
	OwnQueue:         {RequiredNode: May, Priority: May, Quota: May},
	OtherQueue:       {RequiredNode: May, Priority: May, Guarantee: May},
	AtGuarantee:      {RequiredNode: Last},
	LessImportant:    {RequiredNode: May, Priority: May, Guarantee: May, Quota: May},
	EquallyImportant: {RequiredNode: May, Priority: IfEqual, Guarantee: May, Quota: May},
	MoreImportant:    {Quota: May},
	ForeignLess:      {RequiredNode: May},
	DrivesOthers:     {RequiredNode: Last, Priority: Last, Guarantee: Last, Quota: Last},
	AsksToStay:       {RequiredNode: Last, Priority: Last, Guarantee: Last, Quota: Last},
	WithinBudget:     {RequiredNode: Last, Priority: Last, Guarantee: Last, Quota: Last},
	GroupNeeds:       {RequiredNode: Last, Priority: Last, Guarantee: Last, Quota: Last},
	// The others are there to be seen.
	WithinHardBudget: {}, OutsideFence: {}, ProtectedQueue: {}, ForeignEqual: {}, PartOfNode: {}, BoundToNode: {},
}

var relations = [Relations]string{
	OwnQueue:         "in the queue of the ask, or that exceeds its max",
	OtherQueue:       "in another queue",
	OutsideFence:     "outside of the fence of the ask",
	ProtectedQueue:   "in a queue with `preemption.policy: disabled`",
	AtGuarantee:      "its queue would have less than is guaranteed to it",
	LessImportant:    "less important",
	EquallyImportant: "equally important",
	MoreImportant:    "more important",
	ForeignLess:      "of another scheduler, less important",
	ForeignEqual:     "of another scheduler, equally or more important",
	PartOfNode:       "of another scheduler, static",
	BoundToNode:      "must run on its node, such as a daemonset's",
	DrivesOthers:     "owner",
	AsksToStay:       "opted out",
	WithinBudget:     "its budget allows no end",
	WithinHardBudget: "its budget allows no end, `hard`",
	GroupNeeds:       "its group would have fewer members than must run",
}

// String is the relation in words.
func (r Relation) String() string {
	if int(r) >= len(relations) {
		return fmt.Sprintf("relation %d", uint8(r))
	}
	return relations[r]
}

var shortages = [Shortages]string{Room: "room", OfQuota: "quota", OfLimit: "limit", Conflict: "conflict"}

// String is the shortage in words.
func (s Shortage) String() string { return shortages[s] }

// String is the harm as the page has it.
func (h Harm) String() string { return [...]string{"no", "`equal`", "last", "yes"}[h] }

// HarmOf says whether an allocation of a relation may be harmed by a trigger for an ask that lacks
// something. What another scheduler placed holds no quota.
func HarmOf(t Trigger, r Relation, s Shortage) Harm {
	if !frees[t][s] || r == ForeignLess && s == OfQuota {
		return Never
	}
	return harms[r][t]
}

// spares reports whether a trigger never harms what has this relation.
func (t Trigger) spares(r Relation) bool { return harms[r][t] == Never }
