package core

import (
	"cmp"
	"encoding/binary"
	"math"
	"strings"
)

// A Standing is the priority of an ask as everything sees it that it is compared with. A
// queue with a priority fence hides from the outside what is inside of it. So asks of
// different fences are compared as the root sees them, and asks inside the same ones as the
// innermost fence around both sees them.
type Standing struct {
	Root   int32  // as the root sees it
	fences string // the fences around the ask, the outermost first, with what each sees
}

// noStanding is that of no ask.
var noStanding = Standing{Root: PriorityNone}

// A FencePriority is a priority as a queue with a fence sees it from inside.
type FencePriority struct {
	Fence    QueuePath
	Priority int32
}

// within is a standing with one more fence around it.
func (s Standing) within(f FencePriority) Standing {
	level := binary.BigEndian.AppendUint32(append([]byte(f.Fence), 0), uint32(f.Priority))
	s.fences = string(level) + s.fences
	return s
}

// cutFence divides fences into the outermost and those inside of it.
func cutFence(fences string) (outermost FencePriority, inside string) {
	path, rest, _ := strings.Cut(fences, "\x00")
	return FencePriority{QueuePath(path), int32(binary.BigEndian.Uint32([]byte(rest[:4])))}, rest[4:]
}

// Fences are the fences around an ask, the outermost first.
func (s Standing) Fences() (list []FencePriority) {
	for s.fences != "" {
		var outermost FencePriority
		outermost, s.fences = cutFence(s.fences)
		list = append(list, outermost)
	}
	return list
}

// compare compares two standings, the higher one is more. Those that differ only where no
// fence is around both are equal, which is not transitive.
func (s Standing) compare(other Standing) int {
	order, _ := s.common(other)
	return order
}

// common compares two standings, and says how much of the fences is the same in both.
func (s Standing) common(other Standing) (order, same int) {
	order = cmp.Compare(s.Root, other.Root)
	a, b := s.fences, other.fences
	for order == 0 && a != "" && b != "" {
		x, restA := cutFence(a)
		y, restB := cutFence(b)
		if x.Fence != y.Fence {
			return 0, len(s.fences) - len(a)
		}
		order = cmp.Compare(x.Priority, y.Priority)
		a, b = restA, restB
	}
	return order, len(s.fences) - len(a)
}

// join is the standing to which just those asks are not above that are not above one of two.
func (s Standing) join(other Standing) Standing {
	switch order, same := s.common(other); {
	case order > 0:
		return s
	case order < 0:
		return other
	default:
		return Standing{s.Root, s.fences[:same]}
	}
}

// top is a priority, as the root sees it, below which a standing is above all: one more than
// its own if it may be above others of its own.
func (s Standing) top() int32 {
	if s.fences != "" && s.Root < math.MaxInt32 {
		return s.Root + 1
	}
	return s.Root
}

// inOrder orders asks by their standings and their own priorities, the higher first. Where no
// fence is around both, what theirs see is compared all the same: so the order is total.
func (s Standing) inOrder(own int32, other Standing, others int32) int {
	order := cmp.Compare(other.Root, s.Root)
	a, b := s.fences, other.fences
	for order == 0 && (a != "" || b != "") {
		x, y := FencePriority{Priority: own}, FencePriority{Priority: others}
		if a != "" {
			x, a = cutFence(a)
		}
		if b != "" {
			y, b = cutFence(b)
		}
		order = cmp.Compare(y.Priority, x.Priority)
	}
	return cmp.Or(order, cmp.Compare(others, own))
}
