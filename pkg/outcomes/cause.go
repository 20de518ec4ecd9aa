package outcomes

import (
	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/core/preemptor"
)

// A Cause is why victims are wasted: the ask for which they were told to end does not run in
// the room that was made, nor does one like it.
type Cause uint8

// The causes: the ask was removed; it asks for other amounts; it was placed on another node,
// or nominated there; the node was resized, drained or removed; something came to the node that
// no node refuses; the resource manager refused the ask on the node; it could not bind it;
// another ask took the room or the quota; a victim did not end in time; none of these.
const (
	AskRemoved Cause = iota
	AskChanged
	RanElsewhere
	NodeChanged
	RoomBooked
	NotFeasible
	NotBound
	MoreImportant
	VictimOverdue
	OtherCause
)

// Causes is how many causes there are.
const Causes = int(OtherCause) + 1

var causeTexts = [Causes]string{
	AskRemoved:    "ask removed",
	AskChanged:    "ask changed",
	RanElsewhere:  "ran elsewhere",
	NodeChanged:   "node changed",
	RoomBooked:    "room booked",
	NotFeasible:   "refused",
	NotBound:      "not bound",
	MoreImportant: "more important ask",
	VictimOverdue: "victim overdue",
	OtherCause:    "other",
}

func (c Cause) String() string { return causeTexts[c] }

// Counts are how many victims of asks came to which end.
type Counts struct {
	// Served are the victims of asks that run in their room, so far as they have ended.
	// Undecided are those that have not ended, or whose room is not taken yet.
	Served, Undecided uint64
	Wasted            WasteCount // victims that ended for an ask which does not run in their room
}

// A WasteCount counts victims that were wasted by trigger and cause.
type WasteCount [preemptor.Triggers][Causes]uint64

// By is how many victims of a cause there are.
func (c *WasteCount) By(cause Cause) (sum uint64) {
	for t := range c {
		sum += c[t][cause]
	}
	return sum
}

// Total is how many victims there are.
func (c *WasteCount) Total() (sum uint64) {
	for cause := range Cause(Causes) {
		sum += c.By(cause)
	}
	return sum
}

// Named is how many victims of each cause there are, by its text; nil if there are none.
func (c *WasteCount) Named() map[string]uint64 {
	var named map[string]uint64
	for cause := range Cause(Causes) {
		if count := c.By(cause); count > 0 {
			if named == nil {
				named = map[string]uint64{}
			}
			named[cause.String()] = count
		}
	}
	return named
}

// VictimsWasted says that victims ended for an ask that does not run in the room that was
// made, and why. Each victim is named once at most.
type VictimsWasted struct {
	api.Remark
	For         api.AllocationKey
	Application api.ApplicationID
	Node        api.NodeID
	Trigger     preemptor.Trigger
	Cause       Cause
	Victims     []api.AllocationKey // shared and never changed
	Message     string              // for people
}
