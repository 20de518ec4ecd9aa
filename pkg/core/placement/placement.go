package placement

import (
	"errors"
	"fmt"
	"strings"

	"github.com/narwhal-scheduler/narwhal/pkg/core/access"
)

// Paths with a meaning of their own.
const (
	// Recovery is where applications go whose allocations already run and whose own
	// queue is gone. No rule leads there.
	Recovery = rootName + ".@recovery@"
	// Default is where an application goes that no rule places, if there is such a queue.
	Default = rootName + ".default"
)

// DepthMax is the most queues below each other, root included.
const DepthMax = 32

// A Request is what rules look at in an application.
type Request struct {
	Queue string // as the application asks for it; may be empty
	User  access.User
	Tags  map[string]string
	// Forced says that its allocations already run. It is placed where it would be if it came
	// anew, so that it is where it was before a restart, or in a queue that drains; else in a
	// queue that exists whichever users it is for; else in the recovery queue.
	Forced bool

	anyUser bool // whichever users a queue is for
}

// A Tree is the queues there are. Paths are full and in lower case.
type Tree interface {
	// Queue looks a queue up.
	Queue(path string) Queue
	// MaySubmit reports whether a user may use a queue that exists, by its own access
	// list or those above.
	MaySubmit(path string, user access.User) bool
}

// A Queue is what rules look at in a queue.
type Queue struct{ Exists, Leaf, Draining bool }

// A Placement is the queue of an application.
type Placement struct {
	Path   string
	Create bool  // it does not exist, and is made
	Rule   *Rule // that led there; nil for the default queue and the recovery queue
}

// Place tries rules in their order. The first counts that leads to a leaf queue which takes
// the application, or to one that can be made. If none does, an application goes to the
// default queue, if there is one that takes it. A forced application whose own queue is gone
// does not: it goes where it would if all queues were for its user, or to the recovery queue.
// The error names each rule and why it did not place the application.
//
// It takes time linear in the number of rules and the depth of the tree.
func Place(rules []Rule, request Request, tree Tree) (Placement, error) {
	place, reasons := byRules(rules, &request, tree)
	if place.Rule != nil {
		return place, nil
	}
	isGone := request.Forced && asksForNone(request.Queue, tree)
	_, err := takes(Default, false, &request, tree)
	switch {
	case err == nil && !isGone:
		return Placement{Path: Default}, nil
	case !request.Forced:
		return Placement{}, errors.New(strings.Join(append(reasons, err.Error()), "; "))
	}
	request.anyUser = true
	if place, _ = byRules(rules, &request, tree); place.Rule != nil {
		return place, nil
	}
	if _, err = takes(Default, false, &request, tree); err == nil && !isGone {
		return Placement{Path: Default}, nil
	}
	return Placement{Path: Recovery, Create: !tree.Queue(Recovery).Exists}, nil
}

// asksForNone reports whether a wish is a queue that does not exist.
func asksForNone(wish string, tree Tree) bool {
	path := strings.ToLower(strings.TrimSpace(wish))
	if path == "" {
		return false
	}
	if !isFull(path) {
		path = rootName + "." + path
	}
	return check(path) != nil || !tree.Queue(path).Exists
}

// byRules is the placement by the first rule that gives one, or why none does.
func byRules(rules []Rule, request *Request, tree Tree) (place Placement, reasons []string) {
	for i := range rules {
		rule := &rules[i]
		path, err := rule.path(request, tree)
		create := false
		if err == nil {
			create, err = takes(path, rule.Create, request, tree)
		}
		if err == nil {
			return Placement{Path: path, Create: create, Rule: rule}, nil
		}
		reasons = append(reasons, fmt.Sprintf("rule %s: %v", rule, err))
	}
	return Placement{}, reasons
}

// takes returns why the queue of a path does not take an application, and whether the queue
// has to be made.
func takes(path string, create bool, request *Request, tree Tree) (made bool, err error) {
	if path == Recovery || strings.HasPrefix(path, Recovery+".") {
		return false, fmt.Errorf("queue %s takes only applications whose queue is gone", Recovery)
	}
	q := tree.Queue(path)
	if !q.Exists {
		return true, mayBeMade(path, create, request, tree)
	}
	switch {
	case !q.Leaf:
		return false, fmt.Errorf("queue %s is not a leaf", path)
	case q.Draining && !request.Forced:
		return false, fmt.Errorf("queue %s is draining", path)
	case !request.anyUser && !tree.MaySubmit(path, request.User):
		return false, fmt.Errorf("user %s may not submit to queue %s", request.User.Name, path)
	}
	return false, nil
}

// mayBeMade returns why a queue that does not exist cannot be made.
func mayBeMade(path string, create bool, request *Request, tree Tree) error {
	if !create {
		return fmt.Errorf("queue %s does not exist", path)
	}
	if strings.Count(path, ".") >= DepthMax {
		return fmt.Errorf("queue %s is deeper than %d levels", clip(path), DepthMax)
	}
	above := path
	for !tree.Queue(above).Exists {
		dot := strings.LastIndexByte(above, '.')
		if dot < 0 {
			return fmt.Errorf("queue %s does not exist", path)
		}
		above = above[:dot]
	}
	switch q := tree.Queue(above); {
	case q.Leaf:
		return fmt.Errorf("queue %s cannot be made, because %s is a leaf", path, above)
	case q.Draining:
		return fmt.Errorf("queue %s cannot be made, because %s is draining", path, above)
	case !request.anyUser && !tree.MaySubmit(above, request.User):
		return fmt.Errorf("queue %s cannot be made, because user %s may not submit to %s", path, request.User.Name, above)
	}
	return nil
}
