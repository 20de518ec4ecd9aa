package scenario

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// A Line is a command as a scenario has it: a verb, what stands beside it, the name first, and the text below it.
type Line struct {
	Verb  string
	Words []string
	Below []string
}

// A Clock is for commands that were given at some time, in a scenario that begins at another.
type Clock struct {
	Kinds      *resources.Kinds
	Begin, Now time.Time
}

// Line is how a scenario says a command other than Reconfigure.
func (k Clock) Line(c api.Command) Line {
	switch c := c.(type) {
	case api.AddNode:
		return line("node", string(c.ID), k.amounts(c.Capacity), pairs(attribute, c.Attributes), flag("drained", c.Drained))
	case api.UpdateNode:
		return line("update node", string(c.ID), k.amounts(c.Capacity), pairs(attribute, c.Attributes))
	case api.DrainNode:
		return line("drain", string(c.ID))
	case api.UndrainNode:
		return line("undrain", string(c.ID))
	case api.RemoveNode:
		return line("remove node", string(c.ID))
	case api.AddApplication:
		return k.application(c)
	case api.UpdateApplication:
		return line("update application", string(c.ID), pairs(tagged, c.Tags), k.quota(c.Quota))
	case api.RemoveApplication:
		return line("remove application", string(c.ID))
	case api.AddAllocation:
		return k.allocation(c.Allocation)
	case api.ReleaseAllocation:
		return release(c)
	default:
		panic(fmt.Sprintf("a line cannot say %T", c))
	}
}

// line is a command with a name and some words.
func line(verb, name string, words ...[]string) Line {
	return Line{Verb: verb, Words: append([]string{name}, slices.Concat(words...)...)}
}

func flag(word string, is bool) []string {
	if is {
		return []string{word}
	}
	return nil
}

// value is key=value, or nothing where the value is the zero value.
func value[T comparable](key string, of T) []string {
	var zero T
	return flag(fmt.Sprintf("%s=%v", key, of), of != zero)
}

func pairs(before string, of map[string]string) (words []string) {
	for _, key := range slices.Sorted(maps.Keys(of)) {
		words = append(words, before+key+"="+of[key])
	}
	return words
}

func (k Clock) amounts(a resources.Amounts) (words []string) {
	named := k.Kinds.Map(a)
	for _, kind := range slices.SortedFunc(maps.Keys(named), resources.CompareKinds) {
		if kind != resources.UnknownKind {
			words = append(words, kind+"="+quantity(kind, named[kind]))
		}
	}
	return words
}

func (k Clock) quota(q *api.QueueQuota) []string {
	if q == nil {
		return nil
	}
	var words []string
	named := k.Kinds.LimitMap(q.Max)
	for _, kind := range slices.Sorted(maps.Keys(named)) {
		words = append(words, kind+":"+quantity(kind, named[kind]))
	}
	if q.ApplicationsMax > 0 {
		words = append(words, fmt.Sprint("applications:", q.ApplicationsMax))
	}
	return value("quota", strings.Join(words, ","))
}

// created is when something was, unless it is now.
func (k Clock) created(at time.Time) []string {
	if at.IsZero() || at.Equal(k.Now) {
		return nil
	}
	return []string{"created=" + at.Sub(k.Begin).String()}
}

func (k Clock) application(c api.AddApplication) Line {
	return line("application", string(c.ID), value("queue", c.Queue), value("user", c.User), value("groups", strings.Join(c.Groups, ",")),
		k.amounts(c.Placeholders), value("timeout", c.GangTimeout), flag("hard", c.Style == api.Hard), flag("forced", c.Forced),
		k.quota(c.Quota), k.created(c.Created), pairs(tagged, c.Tags))
}

func (k Clock) allocation(a *api.Allocation) Line {
	how := slices.Concat(value("priority", a.Within()), value("required", a.Required), k.created(a.Created), k.tags(a.Tags))
	if a.IsForeign() {
		return line("foreign", string(a.Key), value("node", a.Node), k.amounts(a.Amounts), flag("static", a.Origin == api.Static), how)
	}
	var unknowns, policy []string
	for _, name := range slices.Sorted(maps.Keys(a.Unknown)) {
		unknowns = append(unknowns, fmt.Sprintf("%s%s=%d", unknown, name, a.Unknown[name]))
	}
	if p := a.Preemptable; p.Stated {
		policy = []string{fmt.Sprint("allow-preempt-self=", p.AllowSelf), fmt.Sprint("allow-preempt-other=", p.AllowOthers)}
	}
	return line("ask", string(a.Key), value("application", a.Application), value("node", a.Node), k.amounts(a.Amounts), unknowns,
		value("group", a.TaskGroup), flag("placeholder", a.Placeholder), flag("originator", a.Originator), policy, how)
}

func (k Clock) tags(tags map[string]string) (words []string) {
	for _, name := range slices.Sorted(maps.Keys(tags)) {
		text := tags[name]
		seconds, err := strconv.ParseInt(text, 10, 64)
		switch {
		case name == api.TagOwner && text == "true":
			words = append(words, "owner")
		case name == api.TagQoS:
			words = append(words, "qos="+text)
		case name == api.TagGrace && err == nil:
			words = append(words, "grace="+(time.Duration(seconds)*time.Second).String())
		case name == api.TagTerminating && err == nil:
			words = append(words, fmt.Sprint(tagged, name, "=", start.Unix()+seconds-k.Begin.Unix()))
		default:
			words = append(words, tagged+name+"="+text)
		}
	}
	return words
}

func release(c api.ReleaseAllocation) Line {
	of := value("application", c.Application)
	if c.Key == "" {
		return Line{Verb: "release", Words: of}
	}
	why := value("type", c.Termination.String())
	switch c.Termination {
	case si.TerminationType_STOPPED_BY_RM:
		why = nil
	case api.SchedulingFailed:
		why = value("type", schedulingFailed)
	}
	return line("release", string(c.Key), of, why, value("message", c.Message))
}

// listed are the verbs of which several lines are one command, with a name and arguments on each line below it.
var listed = map[string]bool{"node": true, "application": true, "ask": true, "foreign": true, "drain": true, "refuse": true, "conflict": true, "need": true}

// Write is lines as a scenario has them. What several in a row have in common stands beside the verb.
func Write(lines []Line) string {
	var b strings.Builder
	for len(lines) > 0 {
		count := 1
		for count < len(lines) && listed[lines[0].Verb] && lines[count].Verb == lines[0].Verb {
			count++
		}
		writeList(&b, lines[:count])
		lines = lines[count:]
	}
	return b.String()
}

func writeList(b *strings.Builder, lines []Line) {
	if len(lines) == 1 {
		b.WriteString(strings.Join(append([]string{lines[0].Verb}, quoted(lines[0].Words)...), " ") + "\n")
		for _, text := range lines[0].Below {
			b.WriteString("  " + text + "\n")
		}
		return
	}
	isCommon := func(word string) bool {
		return strings.Contains(word, "=") && !slices.ContainsFunc(lines, func(l Line) bool { return !slices.Contains(l.Words[1:], word) })
	}
	common := slices.DeleteFunc(slices.Clone(lines[0].Words[1:]), func(word string) bool { return !isCommon(word) })
	b.WriteString(strings.Join(append([]string{lines[0].Verb}, quoted(common)...), " ") + "\n")
	for _, l := range lines {
		own := slices.DeleteFunc(slices.Clone(l.Words), func(word string) bool { return slices.Contains(common, word) })
		b.WriteString("  " + strings.Join(quoted(own), " ") + "\n")
	}
}

// quoted are words as split takes them.
func quoted(words []string) []string {
	out := make([]string, len(words))
	for i, word := range words {
		key, text, isPair := strings.Cut(word, "=")
		if !isPair || strings.ContainsAny(key, " \t\"\n") {
			key, text = "", word
		}
		if out[i] = word; text == "" && !isPair || strings.ContainsAny(text, " \t\"\n") || strings.HasPrefix(word, "#") {
			out[i] = `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace(text) + `"`
			if key != "" {
				out[i] = key + "=" + out[i]
			}
		}
	}
	return out
}
