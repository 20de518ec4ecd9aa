package placement

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// Kind is where a rule takes the name of the queue from.
type Kind uint8

// The kinds of rules.
const (
	Provided Kind = iota // the queue that the application asks for
	User                 // the name of its user
	Tag                  // the value of one of its tags
	Fixed                // the rule itself
)

// String is the kind as it is written in a configuration.
func (k Kind) String() string { return [...]string{"provided", "user", "tag", "fixed"}[k] }

// A Rule leads an application to a queue, or to none.
type Rule struct {
	Kind   Kind
	Create bool   // a queue that does not exist is made
	Value  string // in lower case: of Fixed the queue, of Tag the tag
	Filter Filter
	Parent *Rule // finds the queue below which this one looks; nil is the root
}

// String is the rule for people.
func (r *Rule) String() string {
	if r.Value == "" {
		return r.Kind.String()
	}
	return r.Kind.String() + " " + r.Value
}

// rootName is the queue at the top.
const rootName = "root"

// queueName is one element of a path.
var queueName = regexp.MustCompile(`^[a-z0-9_:#/@-]{1,64}$`)

// path is where a rule leads, in lower case. The error says why it does not apply.
func (r *Rule) path(request *Request, tree Tree) (string, error) {
	name, err := r.name(request)
	if err != nil {
		return "", err
	}
	if !r.Filter.applies(request.User) {
		return "", fmt.Errorf("its filter leaves out user %s", request.User.Name)
	}
	full := isFull(name)
	if !full && r.Kind != Fixed {
		name = strings.ReplaceAll(name, ".", "_dot_")
	}
	if err := check(name); err != nil {
		return "", err
	}
	if full {
		return name, nil
	}
	above, err := r.above(request, tree)
	if err != nil {
		return "", err
	}
	return above + "." + name, nil
}

// name is what the rule takes from the application or itself: a full path, or a name below
// the parent.
func (r *Rule) name(request *Request) (string, error) {
	var name string
	switch r.Kind {
	case Provided:
		name = request.Queue
	case User:
		name = strings.ReplaceAll(request.User.Name, ".", "_dot_")
	case Tag:
		name = tag(request.Tags, r.Value)
	case Fixed:
		name = r.Value
	}
	if name = strings.ToLower(strings.TrimSpace(name)); name == "" {
		return "", fmt.Errorf("the application has no %s", map[Kind]string{
			Provided: "queue", User: "user", Tag: "tag " + r.Value, Fixed: "name",
		}[r.Kind])
	}
	return name, nil
}

// tag is the value of a tag, whose name may be in any case. Of several the first in order
// counts that has a value, but the one in lower case before all.
func tag(tags map[string]string, name string) string {
	if value := tags[name]; value != "" {
		return value
	}
	for _, key := range slices.Sorted(maps.Keys(tags)) {
		if strings.EqualFold(key, name) && tags[key] != "" {
			return tags[key]
		}
	}
	return ""
}

// above is the queue below which a rule looks. It may be one that does not exist, if its
// own rule makes queues.
func (r *Rule) above(request *Request, tree Tree) (string, error) {
	if r.Parent == nil {
		return rootName, nil
	}
	path, err := r.Parent.path(request, tree)
	if err != nil {
		return "", fmt.Errorf("parent rule %s: %w", r.Parent, err)
	}
	switch q := tree.Queue(path); {
	case q.Exists && q.Leaf:
		return "", fmt.Errorf("parent rule %s: queue %s is a leaf", r.Parent, path)
	case !q.Exists && !r.Parent.Create:
		return "", fmt.Errorf("parent rule %s: queue %s does not exist, and the rule makes none", r.Parent, path)
	}
	return path, nil
}

// isFull reports whether a path begins at the root.
func isFull(path string) bool { return path == rootName || strings.HasPrefix(path, rootName+".") }

// check returns what is wrong with the names in a path.
func check(path string) error {
	for element := range strings.SplitSeq(path, ".") {
		if !queueName.MatchString(element) {
			return fmt.Errorf("%q is no name of a queue: 1 to 64 letters, digits and _ : # / @ -", clip(element))
		}
	}
	return nil
}

// clip shortens a text of unknown length.
func clip(text string) string {
	const longest = 80
	if len(text) <= longest {
		return text
	}
	return strings.ToValidUTF8(text[:longest], "") + "..."
}
