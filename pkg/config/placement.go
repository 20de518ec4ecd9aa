package config

import (
	"slices"
	"strings"

	"github.com/narwhal-scheduler/narwhal/pkg/core/access"
	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/core/placement"
)

// A Rule finds the queue of an application. Rules are tried in their order.
type Rule struct {
	Name   string // provided, user, tag, fixed or test
	Create bool   // a queue that does not exist is made
	Value  string // of fixed the queue, of tag the tag
	Filter Filter
	Parent *Rule // finds the queue below which this rule looks; nil is root

	valuePlace Place
	wrong      bool // something in it could not be read
}

// A Filter says to which users a rule applies.
type Filter struct {
	Deny          bool // applies to all but the named
	Users, Groups []string
}

// The names of rules.
const (
	ruleFixed = "fixed"
	ruleTag   = "tag"
)

var ruleNames = []string{"provided", "user", ruleTag, ruleFixed, "test"}

// ruleKinds are what rules do, by their names. YuniKorn has the rule test for its own tests;
// it is the one that takes the queue which the application asks for.
var ruleKinds = map[string]placement.Kind{
	"provided": placement.Provided, "user": placement.User, ruleTag: placement.Tag, ruleFixed: placement.Fixed, "test": placement.Provided,
}

func (r *reader) rules(c cursor) []Rule {
	var out []Rule
	for _, item := range c.items() {
		out = append(out, *r.rule(item, 1))
	}
	return out
}

// rule reads a rule and its parents, of which it is the one at the given depth.
func (r *reader) rule(c cursor, depth int) *Rule {
	before := r.errors
	rule := &Rule{}
	c.fields(
		field{"name", func(c cursor) {
			rule.Name = strings.ToLower(c.text())
			if !slices.Contains(ruleNames, rule.Name) {
				c.fail("unknown rule %s, known are %s", quote(c.Node.Value), strings.Join(ruleNames, ", "))
			}
		}},
		field{"create", func(c cursor) { rule.Create, _ = c.boolean() }},
		field{"value", func(c cursor) {
			rule.Value, rule.valuePlace = strings.ToLower(c.text()), c.place
		}},
		field{"filter", func(c cursor) { rule.Filter = filter(c) }},
		field{"parent", func(c cursor) {
			if depth == DepthMax {
				c.fail("rules nest deeper than %d levels", DepthMax)
				return
			}
			rule.Parent = r.rule(c, depth+1)
		}},
	)
	if c.IsMapping() {
		r.ruleValue(c, rule)
	}
	rule.wrong = r.errors > before
	return rule
}

// ruleValue checks what a rule needs beside its name.
func (r *reader) ruleValue(c cursor, rule *Rule) {
	value, _ := c.find("value")
	switch {
	case rule.Name == "":
		if _, ok := c.find("name"); !ok {
			c.fail("a rule without a name")
		}
	case rule.Name == ruleTag && rule.Value == "":
		c.fail("a tag rule needs a value, the name of the tag")
	case rule.Name == ruleFixed && rule.Value == "":
		c.fail("a fixed rule needs a value, the queue")
	case rule.Name == ruleFixed:
		for element := range strings.SplitSeq(rule.Value, ".") {
			if !queueName.MatchString(element) {
				value.fail("%s is no name of a queue", quote(element))
			}
		}
	}
}

func filter(c cursor) Filter {
	var f Filter
	c.fields(
		field{"type", func(c cursor) {
			kind := c.text()
			i, err := oneOf(kind, "allow", "deny")
			if kind != "" && err != nil {
				c.fail("%s is not right: %v", quote(kind), err)
			}
			f.Deny = i == 1
		}},
		field{"users", func(c cursor) { f.Users = filterNames(c, access.IsUserName) }},
		field{"groups", func(c cursor) { f.Groups = filterNames(c, access.IsGroupName) }},
	)
	return f
}

// filterNames reads names, or a single regular expression.
func filterNames(c cursor, is func(text string) bool) []string {
	items := c.items()
	names := make([]string, len(items))
	for i, item := range items {
		names[i] = item.text()
	}
	if placement.IsPattern(names) {
		if _, err := placement.NewNames(names); err != nil {
			items[0].fail("%s is no regular expression", quote(names[0]))
		}
		return names
	}
	for i, item := range items {
		if !is(names[i]) {
			item.fail("%s is no name; only a single entry may be a regular expression", quote(names[i]))
		}
	}
	return names
}

// qualified reports whether a path begins at the root.
func qualified(path string) bool {
	return path == rootName || strings.HasPrefix(path, rootName+".")
}

// checkRules follows the fixed rules to the queues they name.
func (r *reader) checkRules(p *Partition) {
	if r.unnamed > 0 {
		return // a queue that cannot be found may be one that could not be read
	}
	paths := map[api.QueuePath]*Queue{}
	collectPaths(p.Root, paths)
	for i := range p.Rules {
		if rule := &p.Rules[i]; !rule.wrong {
			r.checkRule(rule, paths)
		}
	}
}

func collectPaths(q *Queue, paths map[api.QueuePath]*Queue) {
	paths[q.Path] = q
	for _, child := range q.Queues {
		collectPaths(child, paths)
	}
}

// checkRule follows one rule from its outermost parent to itself, as far as
// the names are fixed.
func (r *reader) checkRule(rule *Rule, paths map[api.QueuePath]*Queue) {
	var chain []*Rule
	for next := rule; next != nil; next = next.Parent {
		chain = append(chain, next)
	}
	slices.Reverse(chain)
	path, open := api.QueuePath(rootName), false
	for i, next := range chain {
		if next.Name != ruleFixed {
			open = true
			continue
		}
		if i > 0 && qualified(next.Value) {
			r.ruleProblem(next, quote(next.Value)+" begins at the root, so the rule cannot have a parent")
			return
		}
		if open {
			continue // where it goes is known only when an application comes
		}
		path = below(path, next.Value)
		if problem := lookFor(path, next, paths); problem != "" {
			r.ruleProblem(next, problem)
			return
		}
		if i == len(chain)-1 {
			if q := paths[path]; q != nil && q.Parent {
				r.ruleProblem(next, string(path)+" is a parent, and applications go to leaf queues")
			}
		} else if q := paths[path]; q != nil && !q.Parent && chain[i+1].Name != ruleFixed {
			r.ruleProblem(next, string(path)+" is a leaf, and the rule it is the parent of needs queues below it")
		}
	}
}

// below is the path of a value, which may begin at the root by itself.
func below(path api.QueuePath, value string) api.QueuePath {
	if qualified(value) {
		return api.QueuePath(value)
	}
	return path + "." + api.QueuePath(value)
}

// lookFor says what is wrong with a path that a rule leads to, or nothing.
func lookFor(path api.QueuePath, rule *Rule, paths map[api.QueuePath]*Queue) string {
	if paths[path] != nil {
		return ""
	}
	if !rule.Create {
		return "there is no queue " + string(path) + "; configure it, or let the rule create it"
	}
	for above := string(path); ; {
		dot := strings.LastIndexByte(above, '.')
		if dot < 0 {
			return ""
		}
		above = above[:dot]
		if q := paths[api.QueuePath(above)]; q != nil {
			if !q.Parent {
				return string(path) + " cannot be made, because " + above + " is a leaf"
			}
			return ""
		}
	}
}

func (r *reader) ruleProblem(rule *Rule, message string) {
	r.add(Problem{Place: rule.valuePlace, Message: message})
}
