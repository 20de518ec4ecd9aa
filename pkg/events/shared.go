package events

import (
	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"

	"github.com/narwhal-scheduler/narwhal/pkg/messages"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// Shared are amounts as messages. Asks that are alike share their amounts, so
// amounts are found by their place in memory, and records of such asks share one
// message. Messages are never changed.
type shared struct {
	of   map[*int64]amountsMessage
	last amountsMessage // that was asked for
}

// An amountsMessage is amounts, which it keeps at their place in memory, and their
// message.
type amountsMessage struct {
	amounts resources.Amounts
	message *si.Resource
}

// sharedMax is how many messages are remembered. Beyond it all are forgotten.
const sharedMax = 1024

// resource is amounts as a message.
func (c *conversion) resource(amounts resources.Amounts) *si.Resource {
	s := &c.shared
	switch {
	case len(amounts) == 0:
		return messages.ResourceOf(c.kinds, amounts)
	case s.last.at(amounts):
		return s.last.message
	}
	known, ok := s.of[&amounts[0]]
	switch {
	case ok && known.at(amounts):
		s.last = known
	case s.last.message != nil && s.last.amounts.Equal(amounts): // alike, though not shared
	default:
		s.last = amountsMessage{amounts, messages.ResourceOf(c.kinds, amounts)}
		if s.of == nil || len(s.of) >= sharedMax {
			s.of = map[*int64]amountsMessage{}
		}
		s.of[&amounts[0]] = s.last
	}
	return s.last.message
}

// at reports whether amounts are the very ones that are remembered.
func (m *amountsMessage) at(amounts resources.Amounts) bool {
	return len(m.amounts) == len(amounts) && &m.amounts[0] == &amounts[0]
}
