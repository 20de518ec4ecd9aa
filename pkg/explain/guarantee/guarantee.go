// Package guarantee says how queues stand to what is guaranteed to them. Each kind of
// resource is looked at by itself. The dashboard, REST, the command, metrics with their
// alerts, and explanations all ask here.
package guarantee

import (
	"slices"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// A State is how a queue stands to what is guaranteed to it.
type State uint8

// The states, in the order in which people should look at them. None is that of a queue, or
// kind, to which nothing is guaranteed.
const (
	None   State = iota
	Under        // less is used than is guaranteed, and asks wait for it
	Over         // more is used than is guaranteed: others may get it back
	Within       // neither
)

var words = [...]string{"", "under and waiting", "over", "within"}

func (s State) String() string { return words[s] }

// States are the words for the states of queues with a guarantee, in their order.
func States() []string { return slices.Clone(words[Under:]) }

// Of is how a queue stands to what is guaranteed to it of a kind.
func Of(q *api.QueueView, kind resources.Kind) State {
	guaranteed, used := q.Guaranteed.Of(kind), q.Used.Of(kind)
	switch {
	case guaranteed <= 0:
		return None
	case used < guaranteed && q.Pending.Of(kind) > 0:
		return Under
	case used > guaranteed:
		return Over
	}
	return Within
}

// Lacking is how much of a kind asks of a queue wait for that is guaranteed to it and not used.
func Lacking(q *api.QueueView, kind resources.Kind) int64 {
	if Of(q, kind) != Under {
		return 0
	}
	return min(q.Pending.Of(kind), q.Guaranteed.Of(kind)-q.Used.Of(kind))
}

// A Standing is how a queue stands to all that is guaranteed to it.
type Standing struct {
	State State // Under if it is so in any kind, or else Over if it is so in any
	// Kind is the one that decides: of those that the queue is under in the one of which the
	// least part of what is guaranteed is used, and else that of which the greatest is. Share is
	// that part.
	Kind  resources.Kind
	Share resources.Share
}

// StandingOf is how a queue of any level stands.
func StandingOf(q *api.QueueView) (out Standing) {
	for k, guaranteed := range q.Guaranteed {
		kind := resources.Kind(k)
		at := Standing{State: Of(q, kind), Kind: kind, Share: resources.ShareOf(q.Used.Of(kind), guaranteed)}
		if at.State != None && (out.State == None || at.Compare(out) < 0) {
			out = at
		}
	}
	return out
}

// Compare orders standings by how urgent it is to look: first those that are under, the
// least part first, then those that are over and those that are neither, the greatest part
// first.
func (s Standing) Compare(other Standing) int {
	switch {
	case s.State != other.State:
		return int(s.State) - int(other.State)
	case s.State == Under:
		return s.Share.Compare(other.Share)
	}
	return other.Share.Compare(s.Share)
}
