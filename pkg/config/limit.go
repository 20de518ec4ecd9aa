package config

import (
	"fmt"
	"maps"
	"slices"

	"github.com/narwhal-scheduler/narwhal/pkg/core/access"
)

// A Limit bounds what the named users and groups may have in a queue and below
// it, each of them by itself. The name * stands for all others.
type Limit struct {
	Text            string // what it is for
	Users, Groups   []string
	Max             Quantities // nil if there is none
	ApplicationsMax uint64     // zero is unlimited

	place      Place
	countPlace Place // of ApplicationsMax
	unsure     bool  // something in it could not be read
}

// others is the name of all that are not named.
const others = "*"

// limits reads the limits of a queue or partition.
func (r *reader) limits(c cursor) []Limit {
	var out []Limit
	users := named{what: "user", is: access.IsUserName, lines: map[string]int{}}
	groups := named{what: "group", is: access.IsGroupName, lines: map[string]int{}}
	for _, item := range c.items() {
		before := r.errors
		l := Limit{place: item.place}
		item.fields(
			field{"limit", func(c cursor) { l.Text = c.text() }},
			field{"users", func(c cursor) { l.Users = users.read(c) }},
			field{"groups", func(c cursor) { l.Groups = groups.read(c) }},
			field{"maxapplications", func(c cursor) {
				l.ApplicationsMax, _ = c.count()
				l.countPlace = c.place
			}},
			field{"maxresources", func(c cursor) { l.Max = c.quantities() }},
		)
		l.unsure = r.errors > before
		switch {
		case l.unsure:
		case len(l.Users) == 0 && len(l.Groups) == 0:
			item.fail("names no users and no groups")
		case l.ApplicationsMax == 0 && len(l.Max) == 0:
			item.fail("limits nothing: give maxapplications above 0, or maxresources")
		}
		out = append(out, l)
	}
	return out
}

// named checks the names in all limits of one queue, in their order.
type named struct {
	what  string
	is    func(text string) bool
	lines map[string]int // where a name stands
}

func (n *named) read(c cursor) []string {
	var out []string
	for _, item := range c.items() {
		name := item.text()
		line, twice := n.lines[name]
		wild, wildSeen := n.lines[others]
		switch {
		case name != others && !n.is(name):
			item.fail("%s is no name of a %s", quote(name), n.what)
		case twice:
			item.fail("%s %s is limited twice in this queue, first in line %d", n.what, quote(name), line)
		case wildSeen:
			item.fail("%s %s comes after * (line %d), which must be the last", n.what, quote(name), wild)
		case name == others && n.what == "group" && len(n.lines) == 0:
			item.fail("group * needs a named group before it")
		}
		if !twice {
			n.lines[name] = item.place.Line
		}
		out = append(out, name)
	}
	return out
}

// equalLimits reports whether two lists say the same in the same order.
func equalLimits(a, b []Limit) bool {
	return slices.EqualFunc(a, b, func(x, y Limit) bool {
		return x.Text == y.Text && x.ApplicationsMax == y.ApplicationsMax && x.Max.equal(y.Max) &&
			slices.Equal(x.Users, y.Users) && slices.Equal(x.Groups, y.Groups)
	})
}

// rootLimits gives the limits of a partition to its root.
func (r *reader) rootLimits(p *Partition) {
	switch {
	case len(p.limits) == 0:
	case len(p.Root.Limits) == 0:
		p.Root.Limits, p.Root.limitsPlace = p.limits, p.limitsPlace
	case !equalLimits(p.limits, p.Root.Limits):
		r.add(Problem{Place: p.limitsPlace, Message: fmt.Sprintf(
			"these limits and those of the root queue (line %d) mean the same queue and differ; keep one of them", p.Root.limitsPlace.Line)})
	}
}

// A grant is what a user or group may have at most, as far as named so far on
// the way from the root.
type grant struct {
	most         map[string]bound
	applications bound // a value of zero is unlimited
}

// grants are those of one queue, by user and group.
type grants struct {
	above  *grants
	byName map[string]*grant // "user ann", "group dev"
}

// nearest is the grant of a name that stands nearest above.
func (g *grants) nearest(name string) *grant {
	for ; g != nil; g = g.above {
		if found, ok := g.byName[name]; ok {
			return found
		}
	}
	return nil
}

// checkLimits compares the limits of a queue with the queue itself and with the
// limits above. A user without a limit above is compared with the limit of *.
func (r *reader) checkLimits(q *Queue, above *grants) {
	here := above
	if len(q.Limits) > 0 {
		here = &grants{above: above, byName: map[string]*grant{}}
	}
	for _, l := range q.Limits {
		r.checkOwnLimit(q, l)
		for _, user := range l.Users {
			r.checkGrant(q, l, "user ", user, here)
		}
		for _, group := range l.Groups {
			r.checkGrant(q, l, "group ", group, here)
		}
	}
	for _, child := range q.Queues {
		r.checkLimits(child, here)
	}
}

// checkOwnLimit compares a limit with what the queue as a whole may have.
func (r *reader) checkOwnLimit(q *Queue, l Limit) {
	if q.ApplicationsMax > 0 && l.ApplicationsMax > q.ApplicationsMax {
		r.add(Problem{Place: l.countPlace, Message: fmt.Sprintf("%d is more than the maxapplications of the queue, which is %d (line %d)",
			l.ApplicationsMax, q.ApplicationsMax, q.countPlace.Line)})
	}
	for _, kind := range l.Max.kinds() {
		own, ok := q.Max[kind]
		if mine := l.Max[kind]; ok && mine.Value > own.Value && q.Path != rootName {
			r.add(Problem{Place: mine.place, Message: fmt.Sprintf("%s is more than the max of the queue, which is %s (line %d)",
				show(kind, mine.Value), show(kind, own.Value), own.place.Line)})
		}
	}
}

// checkGrant compares what a limit gives to one name with what is given above,
// and notes it for the queues below.
func (r *reader) checkGrant(q *Queue, l Limit, what, name string, here *grants) {
	own := &grant{most: map[string]bound{}}
	from := here.above.nearest(what + name)
	if from == nil {
		from = here.above.nearest(what + others)
	} else {
		maps.Copy(own.most, from.most)
		own.applications = from.applications
	}
	if from == nil {
		from = &grant{}
	}
	for _, kind := range l.Max.kinds() {
		mine := l.Max[kind]
		if b, ok := from.most[kind]; ok && mine.Value > b.value {
			r.add(Problem{Place: mine.place, Message: fmt.Sprintf("%s is more than %s%s may have in %s, which is %s (line %d)",
				show(kind, mine.Value), what, name, b.queue, show(kind, b.value), b.line)})
		}
		own.most[kind] = bound{value: mine.Value, queue: q.Path, line: mine.place.Line}
	}
	most := from.applications
	switch {
	case l.unsure || most.value == 0:
	case l.ApplicationsMax == 0:
		r.add(Problem{Place: l.place, Message: fmt.Sprintf("maxapplications must be set and above zero, since %s%s may have %d in %s (line %d)",
			what, name, most.value, most.queue, most.line)})
	case l.ApplicationsMax > uint64(most.value):
		r.add(Problem{Place: l.countPlace, Message: fmt.Sprintf("%d is more than %s%s may have in %s, which is %d (line %d)",
			l.ApplicationsMax, what, name, most.queue, most.value, most.line)})
	}
	if l.ApplicationsMax > 0 {
		own.applications = bound{value: clampCount(l.ApplicationsMax), queue: q.Path, line: l.place.Line}
	}
	here.byName[what+name] = own
}

// clampCount keeps a count in the range of a bound.
func clampCount(n uint64) int64 { return int64(min(n, 1<<62)) }
