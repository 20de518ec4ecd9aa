package api

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/narwhal-scheduler/narwhal/pkg/core/preemptor"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// Tags with which a resource manager says more about an allocation than the
// interface has fields for.
const (
	// TagOwner marks, with "true", an allocation that owns others.
	TagOwner = "owner"
	// TagAllowPreemption says, with "false", that an allocation asks not to be
	// preempted. It may be written as the label of a pod.
	TagAllowPreemption = "yunikorn.apache.org/allow-preemption"
	// TagQoS is the class of service of a pod: BestEffort, Burstable, which it is
	// without the tag, or Guaranteed.
	TagQoS = "qosClass"
	// TagGrace is how many seconds an allocation may take to end once it is
	// evicted.
	TagGrace = "terminationGracePeriodSeconds"
	// TagTerminating says that an allocation is ending already: with "true", or with
	// the time since when, in seconds since 1970.
	TagTerminating = "terminating"
	// TagNominatedNode is the node that an ask was nominated to before the scheduler
	// or the resource manager restarted.
	TagNominatedNode = "nominatedNodeName"

	// TagNodeSelector is which attributes of nodes an ask needs, such as model=T4|P100,zone=a, and which
	// taints it tolerates, such as si/taint/gpu=|yes. It says what is scarce; whether an ask may run on a
	// node is for the resource manager to answer.
	TagNodeSelector = "nodeSelector"

	labelAllowPreemption = "kubernetes.io/label/" + TagAllowPreemption
)

// Origin says which scheduler placed an allocation.
type Origin uint8

// The origins: this scheduler; another one; the node itself, so that the allocation
// cannot be evicted.
const (
	Own Origin = iota
	Foreign
	Static
)

// An Allocation is amounts that run on a node, or, while Node is empty, an ask
// for them. It is immutable: binding and resizing make a copy. Its origin is decided
// when its key is first seen, and stays.
type Allocation struct {
	Key         AllocationKey
	Application ApplicationID // empty for foreign ones
	Node        NodeID        // empty while pending
	Amounts     resources.Amounts
	// Unknown are quantities of kinds that no node has, by name. Only an ask has any; they
	// are counted in Amounts as resources.UnknownKind.
	Unknown     map[string]int64
	Priority    int32     // that of its group, if that has one
	OwnPriority *int32    // where its group has one; else nil. It is never changed
	Created     time.Time // when the resource manager says it was, or first seen
	Placed      time.Time // zero while pending
	TaskGroup   string
	Placeholder bool
	Replaced    bool // it took the place of a placeholder of its task group
	Originator  bool // the driver, or owner, of the others of its application
	Preemptable Preemptable
	Required    NodeID // the only node it may run on; empty for any
	Origin      Origin
	// Settled says that an allocation has taken the place of an equal, and so is no victim
	// of an equal itself: otherwise equals that are created again take turns for ever.
	Settled bool
	// Kept is what its placement leaves to others that need it more; nil is nothing that is known.
	Kept *Kept
	Tags map[string]string // owned by the allocation, never changed
}

// Kept is room that an ask would have taken, were it not scarce.
type Kept struct {
	Selector string            // of the asks that need it, as in TagNodeSelector; empty for those that are large
	Percent  int64             // of all asks that arrived lately or wait
	Free     resources.Amounts // that those can use, of the kind that they make dearest
}

// Text is what is kept, and for how many.
func (k *Kept) Text(kinds *resources.Kinds) string {
	if k.Selector == "" {
		return fmt.Sprintf("keeps %s on nodes that are large enough for the %d %% of asks that fit on few", kinds.Format(k.Free), k.Percent)
	}
	return fmt.Sprintf("keeps %s where %s for the %d %% of asks that need it", kinds.Format(k.Free), k.Selector, k.Percent)
}

// Preemptable is the preemption policy an ask came with.
type Preemptable struct {
	Stated      bool // a policy was given at all
	AllowSelf   bool // it may be preempted
	AllowOthers bool // others may be preempted for it
}

// IsForeign reports whether another scheduler placed the allocation: it is
// charged to its node only.
func (a *Allocation) IsForeign() bool { return a.Origin != Own }

// PlacedOn is the allocation as it runs on a node from now on.
func (a *Allocation) PlacedOn(node NodeID, now time.Time) *Allocation {
	bound := *a
	bound.Node, bound.Placed = node, now
	return &bound
}

// Unplaced is the allocation as an ask again.
func (a *Allocation) Unplaced() *Allocation {
	ask := *a
	ask.Node, ask.Placed, ask.Settled, ask.Replaced, ask.Kept = "", time.Time{}, false, false, nil
	return &ask
}

// WithAmountsOf is the allocation with the amounts of another.
func (a *Allocation) WithAmountsOf(to *Allocation) *Allocation {
	other := *a
	other.Amounts, other.Unknown = to.Amounts, to.Unknown
	return &other
}

// QoS is the class of service, from the tag.
func (a *Allocation) QoS() preemptor.QoS {
	if a.Tags == nil {
		return preemptor.Burstable
	}
	switch a.Tags[TagQoS] {
	case "BestEffort":
		return preemptor.BestEffort
	case "Guaranteed":
		return preemptor.Guaranteed
	}
	return preemptor.Burstable
}

// TerminatingSince is since when an allocation with some tags is ending, at the latest
// now, and whether it is.
func TerminatingSince(tags map[string]string, now time.Time) (since time.Time, is bool) {
	text := tags[TagTerminating]
	if text == "" || text == "true" {
		return now, text != ""
	}
	seconds, err := strconv.ParseInt(text, 10, 64)
	if err != nil || seconds < 0 {
		return now, false
	}
	if seconds > now.Unix() {
		return now, true
	}
	return time.Unix(seconds, 0), true
}

// Grace is how long an allocation may take to end, and whether that is known.
func (a *Allocation) Grace() (time.Duration, bool) {
	seconds, err := strconv.ParseInt(a.Tags[TagGrace], 10, 32)
	return time.Duration(seconds) * time.Second, err == nil
}

// OptedOut reports whether an allocation asks not to be preempted. Having no
// policy is no such wish.
func (a *Allocation) OptedOut() bool {
	return a.Preemptable.Stated && !a.Preemptable.AllowSelf ||
		a.Tags[TagAllowPreemption] == "false" || a.Tags[labelAllowPreemption] == "false"
}

// Class is what an allocation is when it is a victim, or would be.
func (a *Allocation) Class() preemptor.Class {
	switch {
	case a.OptedOut():
		return preemptor.OptedOut
	case a.IsForeign():
		return preemptor.Foreign
	case a.Owns():
		return preemptor.Owner
	default:
		return preemptor.Regular
	}
}

// Owns reports whether others of its application depend on an allocation.
func (a *Allocation) Owns() bool { return a.Originator || a.Tags[TagOwner] == "true" }

// NeverPreempts reports whether an ask says that nothing is to be evicted for it, or is
// too large for that.
func (a *Allocation) NeverPreempts() bool {
	return a.Preemptable.Stated && !a.Preemptable.AllowOthers || a.Amounts.Above(PlanMax)
}

// PlanMax is the most of one kind that room is made of: sums of a few such quantities
// are exact in 64 bits, so that a plan and what comes of it agree.
const PlanMax = 1 << 60

// Unknowns is how much it wants of unknown kinds, all together.
func (a *Allocation) Unknowns() int64 {
	return resources.Total(slices.Collect(maps.Values(a.Unknown))...)
}

// WithKnown is the allocation in which those of its unknown kinds are known for which a
// condition holds; the table has those. It is the same one if there are none.
func (a *Allocation) WithKnown(kinds *resources.Kinds, is func(name string) bool) *Allocation {
	if len(a.Unknown) == 0 || !slices.ContainsFunc(slices.Collect(maps.Keys(a.Unknown)), is) {
		return a
	}
	known := *a
	known.Amounts, known.Unknown = a.Amounts.Clone(), nil
	for name, quantity := range a.Unknown {
		if kind, ok := kinds.Lookup(name); ok && is(name) {
			known.Amounts.Set(kind, quantity)
			continue
		}
		if known.Unknown == nil {
			known.Unknown = map[string]int64{}
		}
		known.Unknown[name] = quantity
	}
	if kind, ok := kinds.Lookup(resources.UnknownKind); ok {
		known.Amounts.Set(kind, known.Unknowns())
	}
	return &known
}
