package api

// Reason says why an ask is still pending.
type Reason uint8

// The reasons: not tried yet; a queue has no room; no schedulable node has
// room; the resource manager refused every node with room; it could not bind
// and a new try is due later; the required node is not known; the required
// node has no room, or has not been schedulable yet; room is being made on a node; room
// was made too often; no node has a resource kind that it wants; the placeholders of its
// task group are not placed yet; the one whose place it takes has not ended yet; its gang
// starts whole, and not all of it has come or fits; its user or group has no room; no other
// application may run in a queue, of its user or of its group; no node can hold it, even when all
// has left that may leave; its group has started, and not enough of it runs for what is missing to start by itself.
const (
	NotTried Reason = iota
	QuotaExceeded
	NoNodeFits
	Infeasible
	BindFailed
	NodeUnknown
	NodeFull
	NodeHeld
	RoomIsMade
	LoopStopped
	KindUnknown
	AwaitsPlaceholder
	AwaitsReplacement
	AwaitsGang
	UserLimit
	GroupLimit
	QueueApplications
	UserApplications
	GroupApplications
	Impossible
	GroupBelow
)

// Reasons is how many reasons there are.
const Reasons = GroupBelow + 1

var reasons = [...]string{
	NotTried:      "not tried yet",
	QuotaExceeded: "queue quota exceeded",
	NoNodeFits:    "no node has room",
	Infeasible:    "refused on every node with room",
	BindFailed:    "binding failed",
	NodeUnknown:   "required node is not known",
	NodeFull:      "required node has no room",
	NodeHeld:      "required node has not been schedulable yet",
	RoomIsMade:    "room is being made",
	LoopStopped:   "preemption stopped, as it repeats itself",
	KindUnknown:   "no node has a resource kind of it",

	AwaitsPlaceholder: "waits for a placeholder of its task group",
	AwaitsReplacement: "its placeholder is being released",
	AwaitsGang:        "its group cannot start",
	UserLimit:         "user limit exceeded",
	GroupLimit:        "group limit exceeded",
	QueueApplications: "too many applications of a queue",
	UserApplications:  "too many applications of a user",
	GroupApplications: "too many applications of a group",
	Impossible:        "impossible",
	GroupBelow:        "its group is below its minimum",
}

func (r Reason) String() string { return reasons[r] }

// IsLimit reports whether that is a limit of users, groups or applications.
func (r Reason) IsLimit() bool {
	switch r {
	case UserLimit, GroupLimit, QueueApplications, UserApplications, GroupApplications:
		return true
	}
	return false
}
