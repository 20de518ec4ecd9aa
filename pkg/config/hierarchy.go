package config

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
)

// checkPartition compares what the queues of a partition say with each other.
func (r *reader) checkPartition(p *Partition) {
	if r.gaveUp {
		return
	}
	r.rootLimits(p)
	r.checkResources(p.Root, nil)
	r.checkApplications(p.Root)
	r.checkLimits(p.Root, nil)
	r.checkRules(p)
	r.checkRanks(p)
	if p.Closed {
		r.checkAccess(p.Root)
	}
	switch {
	case p.Preemption.Disabled:
		r.warnQuota(p.Root, "enabled")
	case !p.Preemption.Quota:
		r.warnQuota(p.Root, "quotapreemptionenabled")
	}
	if !hasLeaf(p.Root) && !slices.ContainsFunc(p.Rules, func(rule Rule) bool { return rule.Create }) {
		place := p.Root.place
		place.Key = ""
		r.add(Problem{Place: place, Severity: Warning, Message: "no queue of the partition takes applications: every one is a parent"})
	}
}

// checkAccess tells of leaf queues to which no user may submit, the lists above included.
func (r *reader) checkAccess(q *Queue) {
	if !q.SubmitACL.IsNobody() || !q.AdminACL.IsNobody() {
		return
	}
	if !q.Parent {
		place := q.place
		place.Key = "submitacl"
		r.add(Problem{Place: place, Severity: Warning, Message: "no user may submit to this queue: there are access lists in the partition, and none here or above names a user or group"})
	}
	for _, child := range q.Queues {
		r.checkAccess(child)
	}
}

func hasLeaf(q *Queue) bool {
	return !q.Parent || slices.ContainsFunc(q.Queues, hasLeaf)
}

// A bound is the tightest max on the way from the root, and the queue that has it.
type bound struct {
	value int64
	queue api.QueuePath
	line  int
}

// checkResources compares guaranteed and max of a queue and those below with
// the bounds from above. It returns what the queue counts for where its parent
// guarantees: what is guaranteed to it, or else to those below it. A kind that
// one side does not name is not compared.
func (r *reader) checkResources(q *Queue, above map[string]bound) map[string]int64 {
	for _, kind := range q.Guaranteed.kinds() {
		checkBelow(r, "guaranteed", q.Guaranteed[kind], kind, q.Max)
	}
	bounds := above
	if len(q.Max) > 0 {
		bounds = make(map[string]bound, len(above)+len(q.Max))
		maps.Copy(bounds, above)
	}
	for _, kind := range q.Max.kinds() {
		most := q.Max[kind]
		if b, ok := above[kind]; ok && most.Value > b.value {
			r.add(Problem{Place: most.place, Message: fmt.Sprintf("%s is more than the max of %s, which is %s (line %d)",
				show(kind, most.Value), b.queue, show(kind, b.value), b.line)})
			continue
		}
		bounds[kind] = bound{value: most.Value, queue: q.Path, line: most.place.Line}
	}
	sums := guarantees{total: map[string]int64{}, parts: map[string][]string{}}
	for _, child := range q.Queues {
		sums.add(child, r.checkResources(child, bounds))
	}
	r.checkGuarantees(q, sums, bounds)
	if len(q.Guaranteed) > 0 {
		return q.Guaranteed.values()
	}
	return sums.total
}

// checkBelow reports a quantity that is more than the max beside it.
func checkBelow(r *reader, what string, q Quantity, kind string, most Quantities) {
	if limit, ok := most[kind]; ok && q.Value > limit.Value {
		r.add(Problem{Place: q.place, Message: fmt.Sprintf("%s %s is more than the max beside it, which is %s (line %d)",
			what, show(kind, q.Value), show(kind, limit.Value), limit.place.Line)})
	}
}

// guarantees are what the queues below one queue are guaranteed together.
type guarantees struct {
	total map[string]int64
	parts map[string][]string // the queues and how much is guaranteed to each, to show
}

// partsMax is how many queues are named where a sum is too large.
const partsMax = 4

func (p *guarantees) add(child *Queue, guaranteed map[string]int64) {
	for kind, v := range guaranteed {
		if v == 0 {
			continue
		}
		if p.total[kind] > math.MaxInt64-v {
			p.total[kind] = math.MaxInt64
		} else {
			p.total[kind] += v
		}
		p.parts[kind] = append(p.parts[kind], child.Name+" "+show(kind, v))
	}
}

// checkGuarantees compares what the queues below are guaranteed with what the
// queue itself is guaranteed and may use.
func (r *reader) checkGuarantees(q *Queue, below guarantees, bounds map[string]bound) {
	for _, kind := range slices.Sorted(maps.Keys(below.total)) {
		total, parts := below.total[kind], below.parts[kind]
		if more := len(parts) - partsMax; more > 0 {
			parts = append(parts[:partsMax:partsMax], fmt.Sprintf("and %d more", more))
		}
		sum := fmt.Sprintf("%s together (%s)", show(kind, total), strings.Join(parts, ", "))
		b, bounded := bounds[kind]
		switch own, ok := q.Guaranteed[kind]; {
		case ok && total > own.Value:
			r.add(Problem{Place: own.place, Message: fmt.Sprintf("guaranteed %s is less than the queues below are guaranteed, %s",
				show(kind, own.Value), sum)})
		case bounded && total > b.value:
			r.add(Problem{Place: q.maxPlace(kind), Message: fmt.Sprintf("the queues below are guaranteed %s, more than the max of %s, which is %s (line %d)",
				sum, b.queue, show(kind, b.value), b.line)})
		}
	}
}

// maxPlace is where the max of a kind stands, or else the queue.
func (q *Queue) maxPlace(kind string) Place {
	if own, ok := q.Max[kind]; ok {
		return own.place
	}
	place := q.place
	place.Key = "resources.guaranteed." + kind
	return place
}

// checkApplications compares how many applications may run in a queue with how
// many may in the queue above.
func (r *reader) checkApplications(q *Queue) {
	for _, child := range q.Queues {
		r.checkApplications(child)
		if q.ApplicationsMax == 0 || q.unsure || child.unsure {
			continue
		}
		place := child.countPlace
		if place.Line == 0 {
			place = child.place
			place.Key = "maxapplications"
		}
		switch {
		case child.ApplicationsMax == 0:
			r.add(Problem{Place: place, Message: fmt.Sprintf("must be set and above zero, since %s has maxapplications %d (line %d)",
				q.Path, q.ApplicationsMax, q.countPlace.Line)})
		case child.ApplicationsMax > q.ApplicationsMax:
			r.add(Problem{Place: place, Message: fmt.Sprintf("%d is more than the maxapplications of %s, which is %d (line %d)",
				child.ApplicationsMax, q.Path, q.ApplicationsMax, q.countPlace.Line)})
		}
	}
}
