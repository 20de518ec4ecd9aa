package config

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
)

// A rankedQueue is a queue with what is seen of it from above.
type rankedQueue struct {
	*Queue
	above []rankedQueue // up to the root, the nearest first
}

// checkRanks warns of queues whose pods are more important than those of each queue with a
// guarantee: nothing of theirs is evicted by guarantee. Of many it warns once.
func (r *reader) checkRanks(p *Partition) {
	var all []rankedQueue
	var found []Problem
	var names []string
	collectRanked(p.Root, nil, &all)
	for i := range all {
		q := &all[i]
		if q.offset() <= 0 || q.isProtected() {
			continue
		}
		if first, outranked := q.outranksAll(all); outranked {
			place := q.place
			place.Key = "properties.priority.offset"
			names = append(names, string(q.Path))
			found = append(found, Problem{Place: place, Severity: Warning, Message: fmt.Sprintf(
				"its pods are more important than those of every queue with a guarantee, such as %s, if their own priorities are equal: none is evicted by guarantee", first)})
		}
	}
	if len(found) > ranksTold {
		found[0].Message += fmt.Sprintf("; this is so of %d queues more, such as %s", len(found)-1, names[1])
		found = found[:1]
	}
	for _, problem := range found {
		r.add(problem)
	}
}

// ranksTold is of how many queues that outrank all guarantees each has a warning of its own.
const ranksTold = 3

func collectRanked(q *Queue, above []rankedQueue, all *[]rankedQueue) {
	next := rankedQueue{q, above}
	*all = append(*all, next)
	for _, child := range q.Queues {
		collectRanked(child, append([]rankedQueue{next}, above...), all)
	}
}

// outranksAll reports whether a queue outranks each of those beside it that have a guarantee, of
// which there are some, and names one of them.
func (q *rankedQueue) outranksAll(all []rankedQueue) (first api.QueuePath, outranked bool) {
	for i := range all {
		other := &all[i]
		if len(other.Guaranteed) == 0 || other.isWithin(q.Queue) || q.isWithin(other.Queue) {
			continue
		}
		if !q.outranks(other) {
			return "", false
		}
		if first == "" {
			first = other.Path
		}
	}
	return first, first != ""
}

// offset is what a queue adds to priorities below it; what is not right is reported elsewhere.
func (q *rankedQueue) offset() int64 {
	offset, _ := strconv.ParseInt(q.Properties["priority.offset"], 10, 32)
	return offset
}

// isProtected reports whether nothing of a queue is evicted anyway.
func (q *rankedQueue) isProtected() bool {
	policy := q.Properties[preemptionPolicy]
	for i := 0; policy == "" && i < len(q.above); i++ {
		policy = q.above[i].Properties[preemptionPolicy]
	}
	return strings.EqualFold(policy, "disabled")
}

// isWithin reports whether a queue is another or below it.
func (q *rankedQueue) isWithin(other *Queue) bool {
	if q.Queue == other {
		return true
	}
	for i := range q.above {
		if q.above[i].Queue == other {
			return true
		}
	}
	return false
}

// outranks reports whether a pod of a queue is more important than one of another of the same
// priority, as the lowest queue above both sees them.
func (q *rankedQueue) outranks(other *rankedQueue) bool {
	for i := range q.above {
		if common := q.above[i].Queue; other.isWithin(common) {
			return q.seenAt(common) > other.seenAt(common)
		}
	}
	return false
}

// seenAt is how a queue above sees a pod of priority 0.
func (q *rankedQueue) seenAt(above *Queue) (priority int64) {
	for at := q; at.Queue != above; at = &at.above[0] {
		if strings.EqualFold(at.Properties["priority.policy"], "fence") {
			priority = 0
		}
		priority += at.offset()
	}
	return priority
}
