package core

import (
	"math"

	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// PriorityNone is the priority of a queue or application in which no ask waits.
const PriorityNone = math.MinInt32

// least is, for each kind, the least that any of some asks wants: room that does not
// hold it holds none of them. A kind beyond its amounts counts as zero.
type least struct {
	any     bool // there are asks at all
	amounts resources.Amounts
}

// become sets the least of up to three others, nil ones left out, and reports
// whether it changed. It keeps none of their memory.
func (l *least) become(a, b, c *least) bool {
	width := math.MaxInt
	for _, part := range [3]*least{a, b, c} {
		if part != nil && part.any {
			width = min(width, len(part.amounts))
		}
	}
	if width == math.MaxInt {
		was := l.any
		l.any = false
		return was
	}
	changed := !l.any || len(l.amounts) != width
	l.any = true
	if cap(l.amounts) < width {
		l.amounts = make(resources.Amounts, width)
	}
	l.amounts = l.amounts[:width]
	for i := range width {
		quantity := int64(math.MaxInt64)
		for _, part := range [3]*least{a, b, c} {
			if part != nil && part.any {
				quantity = min(quantity, part.amounts[i])
			}
		}
		changed = changed || l.amounts[i] != quantity
		l.amounts[i] = quantity
	}
	return changed
}

// A summary says what waits in a part of the backlog: all that a search needs to
// skip it. The zero value is not empty; emptySummary is.
type summary struct {
	top int32 // the highest priority
	// open is of the classes that may fit some node, closed of those that fit none
	// but nodes with new room; nominated is of nominated asks, whose quota is kept.
	open, closed, nominated least
	untried                 bool // a nominated class may fit some node
	attempts                bool // room may be made for some ask
}

var emptySummary = summary{top: PriorityNone}

// become sets the summary of a subtree to that of an item and of the subtrees left
// and right of it, which may be nil. It reports whether it changed.
func (s *summary) become(own, left, right *summary) bool {
	if left == nil {
		left = &emptySummary
	}
	if right == nil {
		right = &emptySummary
	}
	top := max(own.top, left.top, right.top)
	untried := own.untried || left.untried || right.untried
	attempts := own.attempts || left.attempts || right.attempts
	changed := top != s.top || untried != s.untried || attempts != s.attempts
	s.top, s.untried, s.attempts = top, untried, attempts
	changed = s.open.become(&own.open, &left.open, &right.open) || changed
	changed = s.closed.become(&own.closed, &left.closed, &right.closed) || changed
	return s.nominated.become(&own.nominated, &left.nominated, &right.nominated) || changed
}
