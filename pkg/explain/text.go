package explain

import (
	"fmt"
	"strings"
	"time"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/wording"
)

// Text is the answer for people to read, a few lines without a last line end.
func (a *Answer) Text() string {
	t := &text{}
	if a.Allocation.Node != "" {
		a.writePlaced(t)
	} else {
		a.writeWaiting(t)
	}
	return strings.Join(t.lines, "\n")
}

// A text is lines with a name in the margin of the first of each kind.
type text struct {
	lines []string
	last  string
}

func (t *text) head(format string, args ...any) {
	t.lines = append(t.lines, fmt.Sprintf(format, args...))
}

func (t *text) add(name, format string, args ...any) {
	if name == t.last {
		name = ""
	} else {
		t.last = name
	}
	t.lines = append(t.lines, fmt.Sprintf("  %-10s", name)+fmt.Sprintf(format, args...))
}

func (a *Answer) writeWaiting(t *text) {
	why := a.Reason.String()
	if a.Detail != "" {
		why += ": " + a.Detail
	}
	t.head("%s of application %s waits in queue %s: %s", a.Allocation.Key, a.Allocation.Application, a.Queue, why)
	t.add("asks for", "%s, priority %d", a.Kinds.Format(a.Allocation.Amounts), a.Allocation.Priority)
	for _, g := range a.Nodes {
		t.add("nodes", "%s", a.group(g))
	}
	if len(a.Nodes) == 0 {
		t.add("nodes", "there are none")
	}
	for _, l := range a.Quota {
		t.add("quota", "%s", a.level(l))
	}
	for i := range a.Limits {
		t.add("limit", "%s", a.Limits[i].text(a.Kinds))
	}
	for _, l := range a.Lack.Queues {
		t.add("guarantee", "%s lacks %s of what is guaranteed to it", l.Queue, a.Kinds.Format(l.Lacking))
	}
	if why := a.Lack.NoEviction; why != "" {
		t.add("guarantee", "nothing is evicted by guarantee: %s", why)
	}
	if sentence := a.Remedies.Sentence(); sentence != "" {
		t.add("remedy", "%s", sentence)
	}
	if a.Before > 0 {
		come := "come"
		if a.Before == 1 {
			come = "comes"
		}
		t.add("order", "%s of its application %s before it", wording.Several(a.Before, "ask"), come)
	}
	if !a.SettlesAt.IsZero() {
		t.add("room", "nothing is evicted before %s, since nodes and what runs there are still being reported", a.SettlesAt.UTC().Format(time.RFC3339))
	}
	switch {
	case a.Nominated != "":
		t.add("room", "is being made on node %s", a.Nominated)
	case a.Reserved != "":
		t.add("room", "what becomes free on node %s is kept for it; only a more important ask takes that", a.Reserved)
	}
	for _, attempt := range a.Attempts {
		switch at := attempt.At.UTC().Format(time.RFC3339); {
		case !attempt.Succeeded():
			t.add("room", "at %s %s", at, Attempt(&attempt, a.Kinds))
		case attempt.Node != a.Nominated:
			t.add("room", "at %s room was made %s; the nomination has ended", at, Attempt(&attempt, a.Kinds))
		}
	}
	a.Plan.write(t)
}

func (a *Answer) group(g Group) string {
	if g.Why == OtherNode {
		nodes := "other node"
		if g.Nodes > 1 {
			nodes = "other nodes"
		}
		return fmt.Sprintf("%d %s, such as %s; it must run on %s", g.Nodes, nodes, joined(g.First), a.Allocation.Required)
	}
	verb := g.Why.String()
	if g.Nodes > 1 {
		verb = plural(verb)
	}
	line := fmt.Sprintf("%d %s", g.Nodes, verb)
	switch {
	case g.Lacking != nil && g.For != "":
		line += fmt.Sprintf("; nearest is %s, has %s free, and lacks %s beside what is kept for %s", g.Nearest, a.Kinds.Format(g.Free), a.Kinds.Format(g.Lacking), g.For)
	case g.Lacking != nil:
		line += fmt.Sprintf("; nearest is %s, lacks %s", g.Nearest, a.Kinds.Format(g.Lacking))
		if g.Text != "" {
			line += ", and was refused by the resource manager: " + g.Text
		}
	case g.Why == OtherDomain:
		line += fmt.Sprintf(", such as %s; %s", joined(g.First), g.Text)
	case g.Why == Refused:
		line += fmt.Sprintf(": %s, such as %s", g.Text, joined(g.First))
	case g.For != "":
		line += fmt.Sprintf(", such as %s for %s", g.Nearest, g.For)
	default:
		line += ", such as " + joined(g.First)
	}
	return line
}

// joined are nodes in words.
func joined(nodes []api.NodeID) string {
	names := make([]string, len(nodes))
	for i, id := range nodes {
		names[i] = string(id)
	}
	return strings.Join(names, ", ")
}

// plural turns the verb at the start of a text into that of several.
func plural(text string) string {
	verb, rest, _ := strings.Cut(text, " ")
	switch verb {
	case "is":
		verb = "are"
	case "was":
		verb = "were"
	case "has":
		verb = "have"
	case "takes":
		verb = "take"
	case "keeps":
		verb = "keep"
	}
	return verb + " " + rest
}

func (a *Answer) level(l Level) string {
	line := fmt.Sprintf("%s uses %s", l.Queue, a.Kinds.Format(l.Used))
	if l.Max.Equal(nil) {
		line += "; no max"
	} else {
		line += " of " + a.Kinds.FormatLimits(l.Max)
	}
	if !l.Nominated.IsZero() {
		line += "; nominated asks get " + a.Kinds.Format(l.Nominated)
	}
	if !l.Lacking.IsZero() {
		line += ", lacks " + a.Kinds.Format(l.Lacking)
	}
	if l.Full > 0 {
		line += fmt.Sprintf("; no more than %d applications may run", l.Full)
	}
	return line
}

func (a *Answer) writePlaced(t *text) {
	t.head("%s of application %s runs on node %s, in queue %s", a.Allocation.Key, a.Allocation.Application, a.Allocation.Node, a.Queue)
	t.add("holds", "%s, priority %d", a.Kinds.Format(a.Allocation.Amounts), a.Allocation.Priority)
	if kept := a.Allocation.Kept; kept != nil {
		t.add("why there", "%s", kept.Text(a.Kinds))
	}
	e := a.Eviction
	if e == nil {
		return
	}
	why := "by " + e.Trigger
	if e.For != "" {
		why += " for " + string(e.For)
	}
	t.add("evicted", "%s, since %s", why, e.Since.UTC().Format(time.RFC3339))
	if e.Overdue {
		t.add("evicted", "overdue: it has not ended in time")
	}
	e.Plan.write(t)
}

func (p *Plan) write(t *text) {
	if p == nil {
		return
	}
	for _, line := range p.Lines {
		t.add("plan", "%s", line)
	}
}
