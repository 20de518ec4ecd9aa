package config

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
)

// A Change is what a reload would change.
type Change struct {
	Partition string
	Queue     api.QueuePath // empty for what is of the partition
	Message   string
}

// String is the change in one line.
func (c Change) String() string {
	return "partition " + c.Partition + ": " + c.Text()
}

// Text is the same without the partition.
func (c Change) Text() string {
	if c.Queue == "" {
		return c.Message
	}
	return string(c.Queue) + ": " + c.Message
}

// Compare says what a reload changes: partitions in the order of their names, what is of a
// partition before its queues, and queues from the root down by name. What a key inherits is
// said where it is written. It takes time linear in the size of both.
func Compare(before, after *Document) []Change {
	var d differences
	was, is := partitionsByName(before), partitionsByName(after)
	for _, name := range namesOf(was, is) {
		d.partition = name
		switch old, now := was[name], is[name]; {
		case old == nil:
			d.say("", "is new")
		case now == nil:
			d.say("", "goes, and what runs in it is released")
		default:
			d.partitions(old, now)
		}
	}
	return d.found
}

func partitionsByName(d *Document) map[string]*Partition {
	out := map[string]*Partition{}
	for i := range d.Definitions {
		out[d.Definitions[i].Name] = &d.Definitions[i]
	}
	return out
}

// namesOf are the keys of two maps, each once and in order.
func namesOf[V any](a, b map[string]V) []string {
	names := slices.AppendSeq(slices.Collect(maps.Keys(a)), maps.Keys(b))
	slices.Sort(names)
	return slices.Compact(names)
}

// differences are found between two configurations of a partition.
type differences struct {
	partition string
	makes     bool // a rule makes queues now, or did before
	found     []Change
}

func (d *differences) say(q api.QueuePath, format string, args ...any) {
	d.found = append(d.found, Change{d.partition, q, fmt.Sprintf(format, args...)})
}

// text says that a value differs, as it is written.
func (d *differences) text(q api.QueuePath, key, before, after string) {
	if before != after {
		d.say(q, "%s: %s -> %s", key, cmp.Or(before, "none"), cmp.Or(after, "none"))
	}
}

func (d *differences) partitions(was, is *Partition) {
	before, after := ruleTexts(was.Rules), ruleTexts(is.Rules)
	d.makes = strings.Contains(before+after, "create")
	d.text("", "placementrules", before, after)
	switch {
	case was.Closed && !is.Closed:
		d.say("", "no queue has an access list any more: every user may submit everywhere")
	case !was.Closed && is.Closed:
		d.say("", "there are access lists now: only users that they name may submit")
	}
	d.text("", "nodesortpolicy", fmt.Sprintf("%+v", was.Nodes), fmt.Sprintf("%+v", is.Nodes))
	d.text("", "topology.levels", levelsText(was.Levels), levelsText(is.Levels))
	d.text("", "preemption", fmt.Sprintf("%+v", was.Preemption), fmt.Sprintf("%+v", is.Preemption))
	d.text("", "usergroupresolver.type", was.Resolver, is.Resolver)
	d.queues(was.Root, is.Root)
}

func (d *differences) queues(was, is *Queue) {
	path := is.Path
	switch {
	case was.Parent && !is.Parent:
		d.say(path, "becomes a leaf; the reload is refused as long as there are queues below it")
	case !was.Parent && is.Parent:
		d.say(path, "becomes a parent; the reload is refused as long as it has applications")
	}
	d.quantities(path, "resources.guaranteed", was.Guaranteed, is.Guaranteed)
	d.quantities(path, "resources.max", was.Max, is.Max)
	d.text(path, "maxapplications", countText(was.ApplicationsMax), countText(is.ApplicationsMax))
	d.text(path, "adminacl", listText(was.AdminACL.String()), listText(is.AdminACL.String()))
	d.text(path, "submitacl", listText(was.SubmitACL.String()), listText(is.SubmitACL.String()))
	d.properties(path, "properties", was.Properties, is.Properties)
	d.templates(path, was.Template, is.Template)
	d.text(path, "limits", limitTexts(was.Limits), limitTexts(is.Limits))
	d.below(was, is)
}

// below compares the queues below a queue.
func (d *differences) below(was, is *Queue) {
	before, after := queuesByName(was), queuesByName(is)
	for _, name := range namesOf(before, after) {
		old, now := before[name], after[name]
		switch {
		case old == nil && d.makes:
			d.say(now.Path, "is new%s; if a rule has made it, it is configured now", withBelow(now))
		case old == nil:
			d.say(now.Path, "is new%s", withBelow(now))
		case now == nil && d.makes:
			d.say(old.Path, "drains%s; if a rule made it before it was configured, it is dynamic again", withBelow(old))
		case now == nil:
			d.say(old.Path, "drains%s", withBelow(old))
		default:
			d.queues(old, now)
		}
	}
}

func queuesByName(q *Queue) map[string]*Queue {
	out := map[string]*Queue{}
	for _, child := range q.Queues {
		out[child.Name] = child
	}
	return out
}

// withBelow says how many queues are below one.
func withBelow(q *Queue) string {
	n := count(q) - 1
	if n == 0 {
		return ""
	}
	return ", with " + strconv.Itoa(n) + " below it"
}

func count(q *Queue) int {
	n := 1
	for _, child := range q.Queues {
		n += count(child)
	}
	return n
}

func (d *differences) quantities(q api.QueuePath, key string, was, is Quantities) {
	for _, kind := range namesOf(was, is) {
		d.text(q, key+"."+kind, was.text(kind), is.text(kind))
	}
}

// text is one quantity, empty if there is none.
func (q Quantities) text(kind string) string {
	quantity, ok := q[kind]
	if !ok {
		return ""
	}
	return show(kind, quantity.Value)
}

func (d *differences) properties(q api.QueuePath, key string, was, is map[string]string) {
	for _, name := range namesOf(was, is) {
		d.text(q, key+"."+name, was[name], is[name])
	}
}

// templates compares two templates, of which each may be nil. It reaches queues that rules
// have made.
func (d *differences) templates(q api.QueuePath, was, is *Template) {
	old, now := cmp.Or(was, &Template{}), cmp.Or(is, &Template{})
	switch {
	case was == nil && is != nil:
		d.say(q, "childtemplate: is new; the one above counts no more")
	case was != nil && is == nil:
		d.say(q, "childtemplate: goes; the one above counts")
	}
	d.text(q, "childtemplate.maxapplications", countText(old.ApplicationsMax), countText(now.ApplicationsMax))
	d.quantities(q, "childtemplate.resources.guaranteed", old.Guaranteed, now.Guaranteed)
	d.quantities(q, "childtemplate.resources.max", old.Max, now.Max)
	d.properties(q, "childtemplate.properties", old.Properties, now.Properties)
}

func countText(n uint64) string {
	if n == 0 {
		return ""
	}
	return strconv.FormatUint(n, 10)
}

// listText is an access list, in which blanks count.
func listText(text string) string {
	if text == "" {
		return ""
	}
	return strconv.Quote(text)
}

// limitTexts are limits in one line.
func limitTexts(limits []Limit) string {
	var texts []string
	for _, l := range limits {
		words := []string{"users " + strings.Join(l.Users, ","), "groups " + strings.Join(l.Groups, ",")}
		for _, kind := range l.Max.kinds() {
			words = append(words, kind+"="+l.Max.text(kind))
		}
		if l.ApplicationsMax > 0 {
			words = append(words, "maxapplications="+countText(l.ApplicationsMax))
		}
		texts = append(texts, "("+strings.Join(words, " ")+")")
	}
	return strings.Join(texts, " ")
}

// ruleTexts are rules in one line, each with those that it looks below.
func ruleTexts(rules []Rule) string {
	var texts []string
	for i := range rules {
		words := []string{}
		for rule := &rules[i]; rule != nil; rule = rule.Parent {
			words = append(words, ruleText(rule))
		}
		texts = append(texts, "("+strings.Join(words, " below ")+")")
	}
	return strings.Join(texts, " ")
}

func ruleText(rule *Rule) string {
	words := []string{rule.Name}
	if rule.Value != "" {
		words = append(words, rule.Value)
	}
	if rule.Create {
		words = append(words, "create")
	}
	f := rule.Filter
	if len(f.Users)+len(f.Groups) > 0 || f.Deny {
		kind := "allow"
		if f.Deny {
			kind = "deny"
		}
		words = append(words, kind+" users "+strings.Join(f.Users, ",")+" groups "+strings.Join(f.Groups, ","))
	}
	return strings.Join(words, " ")
}
