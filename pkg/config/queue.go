package config

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/narwhal-scheduler/narwhal/pkg/core/access"
	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
)

// A Queue is one queue as it was written, with what is below it.
type Queue struct {
	Name       string // in lower case
	Path       api.QueuePath
	Parent     bool       // may have queues below it; true of every queue that has some
	Guaranteed Quantities // nil if there are none
	Max        Quantities // nil if there are none
	Properties map[string]string
	Queues     []*Queue
	// AdminACL and SubmitACL are access lists; both let their users submit applications.
	AdminACL, SubmitACL access.List
	Template            *Template // nil if the one of the parent counts

	ApplicationsMax uint64 // zero is unlimited
	Limits          []Limit

	place       Place
	limitsPlace Place
	countPlace  Place  // of ApplicationsMax
	unsure      bool   // ApplicationsMax could not be read
	leaf        *Place // of "parent: false"
	quotaDelay  *Place // of a quota.preemption.delay that is longer than never
}

// A Template is what a queue gives to the leaf queues that are made below it
// while the scheduler runs.
type Template struct {
	ApplicationsMax uint64
	Guaranteed, Max Quantities
	Properties      map[string]string
}

// The names with a meaning of their own: the top of a tree, and the queue below
// it for applications whose queue was removed.
const (
	rootName     = "root"
	recoveryName = "@recovery@"
)

// queueName is what one element of a path may be.
var queueName = regexp.MustCompile(`^[a-zA-Z0-9_:#/@-]{1,64}$`)

// top reads the queues of a partition. If they are not exactly one with the
// name root, they go below a root of their own.
func (r *reader) top(c cursor) *Queue {
	items := c.items()
	if len(items) == 1 {
		name, ok := items[0].find("name")
		if ok && name.IsScalar() && strings.EqualFold(name.Node.Value, rootName) {
			return r.queue(items[0], nil)
		}
	}
	root := &Queue{Name: rootName, Path: rootName, Parent: true, place: c.atKey().place}
	root.Queues = r.queueList(items, root, 1)
	return root
}

// queueList reads the queues below a parent. Depth is the number of queues
// from the root to the parent.
func (r *reader) queueList(items []cursor, parent *Queue, depth int) []*Queue {
	if depth >= DepthMax && len(items) > 0 {
		items[0].fail("queues nest deeper than %d levels", DepthMax)
		return nil
	}
	var queues []*Queue
	seen := map[string]int{}
	for _, item := range items {
		r.queues++
		if r.queues > QueuesMax {
			r.giveUp(Problem{Place: item.place, Message: fmt.Sprintf("more than %d queues", QueuesMax)})
			return nil
		}
		q := r.queue(item, parent)
		if q == nil {
			r.unnamed++
			continue
		}
		if line, twice := seen[q.Name]; twice {
			again := item.atQueue(q.Path)
			again.place.Key = "name"
			again.fail("a queue with this name is below %s in line %d already; upper and lower case are the same",
				parent.Path, line)
		} else {
			seen[q.Name] = q.place.Line
		}
		queues = append(queues, q)
	}
	return queues
}

// queue reads one queue. It is nil if there is no name to call it by.
func (r *reader) queue(c cursor, parent *Queue) *Queue {
	if parent != nil {
		c.place.Queue = parent.Path
	}
	if !c.IsMapping() {
		c.fail("must be a queue with at least a name, not %s", c.Describe())
		return nil
	}
	name, ok := c.find("name")
	if !ok || !name.IsScalar() {
		c.fail("a queue without a name")
		return nil
	}
	q := &Queue{Name: strings.ToLower(clip(name.Node.Value))}
	q.Path = api.QueuePath(q.Name)
	if parent != nil {
		q.Path = parent.Path + "." + q.Path
	}
	c = c.atQueue(q.Path)
	q.place = c.place
	c.fields(r.queueKeys(q)...)
	if len(q.Queues) > 0 {
		q.Parent = true
		if q.leaf != nil {
			r.add(Problem{Place: *q.leaf, Severity: Warning, Message: "the queue is a parent all the same, there are queues below it"})
		}
	}
	if parent == nil {
		q.Parent = true
		rootResources(c, q)
	}
	return q
}

// queueKeys are the keys of a queue.
func (r *reader) queueKeys(q *Queue) []field {
	return []field{
		{"name", func(c cursor) { checkName(c, q) }},
		{"parent", func(c cursor) {
			parent, ok := c.boolean()
			q.Parent = q.Parent || parent
			if ok && !parent {
				q.leaf = &c.place
			}
		}},
		{"queues", func(c cursor) {
			q.Queues = r.queueList(c.items(), q, strings.Count(string(q.Path), ".")+1)
		}},
		{"resources", func(c cursor) { q.Guaranteed, q.Max = ofResources(c) }},
		{"adminacl", func(c cursor) { q.AdminACL = r.acl(c) }},
		{"submitacl", func(c cursor) { q.SubmitACL = r.acl(c) }},
		{"childtemplate", func(c cursor) { q.Template = template(c) }},
		{"maxapplications", func(c cursor) {
			n, ok := c.count()
			q.ApplicationsMax, q.unsure, q.countPlace = n, !ok, c.place
		}},
		{"limits", func(c cursor) {
			q.Limits, q.limitsPlace = r.limits(c), c.atKey().place
		}},
		{"properties", func(c cursor) {
			q.Properties = properties(c)
			if delay, err := duration(q.Properties[quotaDelay], 0); err == nil && delay > 0 {
				set, _ := c.find(quotaDelay)
				q.quotaDelay = &set.place
			}
		}},
	}
}

func checkName(c cursor, q *Queue) {
	name := c.text()
	switch {
	case !queueName.MatchString(name):
		c.fail("%s is no name of a queue: 1 to 64 letters, digits and _ : # / @ -, without dots", quote(name))
	case q.Path == rootName+"."+rootName:
		c.fail("the name root belongs to the top of the tree; if root is listed, it is the only queue there and the others are below it")
	case q.Path == rootName+"."+recoveryName:
		c.fail("the name %s belongs to the queue for applications whose own queue was removed", recoveryName)
	}
}

func rootResources(c cursor, q *Queue) {
	for _, of := range []Quantities{q.Guaranteed, q.Max} {
		for _, kind := range of.kinds() {
			c.place = of[kind].place
			c.fail("the root queue has no resources of its own, its max is what the nodes have; remove %s", show(kind, of[kind].Value))
		}
	}
}

// ofResources reads a mapping with guaranteed and max.
func ofResources(c cursor) (guaranteed, most Quantities) {
	c.fields(
		field{"guaranteed", func(c cursor) { guaranteed = c.quantities() }},
		field{"max", func(c cursor) { most = c.quantities() }},
	)
	return guaranteed, most
}

// acl reads an access list: users, a blank, groups; * is all.
func (r *reader) acl(c cursor) access.List {
	r.closed = true
	list, err := access.Parse(c.text())
	if err != nil {
		c.fail("%v", err)
		list, _ = access.Parse("*") // nothing is to be said of what follows from it
	}
	return list
}

func template(c cursor) *Template {
	t := &Template{}
	c.fields(
		field{"maxapplications", func(c cursor) { t.ApplicationsMax, _ = c.count() }},
		field{"properties", func(c cursor) { t.Properties = properties(c) }},
		field{"resources", func(c cursor) {
			t.Guaranteed, t.Max = ofResources(c)
			for _, kind := range t.Guaranteed.kinds() {
				checkBelow(c.read, "guaranteed", t.Guaranteed[kind], kind, t.Max)
			}
		}},
	)
	return t
}
