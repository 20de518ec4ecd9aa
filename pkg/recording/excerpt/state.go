package excerpt

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/narwhal-scheduler/narwhal/pkg/config"
	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/internal/scenario"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
	"github.com/narwhal-scheduler/narwhal/pkg/webservice/configuration"
)

// standing is a state as commands, as after a restart of the scheduler: what is evicted is terminating, and asks say where they were nominated.
func (h *history) standing(s state, said []scenario.Line, b *beginning) ([]scenario.Line, error) {
	text, err := configurationOf(s.Config, h.kinds)
	if err != nil {
		return nil, err
	}
	var out []scenario.Line
	for kind := range h.kinds.Len() {
		name := h.kinds.Name(resources.Kind(kind))
		if !scenario.IsKind(name) && name != resources.UnknownKind {
			out = append(out, scenario.Line{Verb: "kinds", Words: []string{name}})
		}
	}
	out = append(out, scenario.Line{Verb: "config", Words: h.settings(s), Below: text})
	clock := scenario.Clock{Kinds: h.kinds, Begin: s.now, Now: s.now}
	add := func(c api.Command) { out = append(out, clock.Line(c)) }
	for _, n := range s.Nodes {
		add(api.AddNode{ID: n.ID, Attributes: n.Attributes, Capacity: n.Capacity, Drained: !n.Schedulable})
	}
	quotas := map[api.QueuePath]*api.QueueQuota{}
	collectQuotas(s.Root, quotas)
	for _, app := range s.Applications {
		add(applicationOf(app, quotas[app.Queue]))
	}
	out = append(out, said...)
	for _, c := range h.allocations(s, b) {
		add(c)
	}
	return out, nil
}

// configurationOf is a configuration as lines that can be loaded.
func configurationOf(c api.Config, kinds *resources.Kinds) ([]string, error) {
	document := configuration.Of(&config.Document{Definitions: []config.Partition{config.Definition(c, kinds)}}, nil)
	text, err := document.YAML()
	lines := strings.Split(strings.TrimRight(string(text), "\n"), "\n")
	return slices.DeleteFunc(lines, func(line string) bool { return strings.HasPrefix(line, "checksum:") }), err
}

// settings are those with which the partition was made, as far as they differ from what holds without them. Nothing settles that is known whole.
func (h *history) settings(s state) (words []string) {
	o, usual := h.partition.Options.WithDefaults(), api.Options{}.WithDefaults()
	if o.BatchMax != usual.BatchMax {
		words = append(words, fmt.Sprint("batch=", o.BatchMax))
	}
	if s.SettlesAt.After(s.now) {
		words = append(words, "settle="+s.SettlesAt.Sub(s.now).String())
	}
	for _, one := range []struct {
		name      string
		is, usual time.Duration
	}{
		{"unused", max(o.UnusedDelay, 0), 0},
		{"reserve", o.ReserveDelay, usual.ReserveDelay},
		{"reserve-max", o.ReserveMax, usual.ReserveMax},
		{"ending-max", o.EndingMax, usual.EndingMax},
		{"completing", o.CompletingDelay, usual.CompletingDelay},
		{"retry", o.RetryDelay, usual.RetryDelay},
		{"retry-max", o.RetryMax, usual.RetryMax},
	} {
		if one.is != one.usual {
			words = append(words, one.name+"="+one.is.String())
		}
	}
	if o.KeepsForeign {
		words = append(words, "keeps-foreign")
	}
	if !o.Least.IsZero() {
		least := scenario.Clock{Kinds: h.kinds}.Line(api.AddNode{Capacity: o.Least}).Words[1:]
		words = append(words, "least="+strings.ReplaceAll(strings.Join(least, ","), "=", ":"))
	}
	return words
}

func collectQuotas(q *api.QueueView, quotas map[api.QueuePath]*api.QueueQuota) {
	quotas[q.Path] = q.Quota
	for _, below := range q.Queues {
		collectQuotas(below, quotas)
	}
}

func applicationOf(app *api.ApplicationView, quota *api.QueueQuota) api.AddApplication {
	c := api.AddApplication{
		ID: app.ID, Queue: app.Queue, User: app.User, Groups: app.Groups, Tags: app.Tags, Created: app.Submitted, Quota: quota,
		Forced: len(app.Allocations) > 0,
	}
	if g := app.Gang; g != nil {
		c.Placeholders, c.Style, c.GangTimeout = g.Placeholders, g.Style, g.Timeout
	}
	return c
}

// allocations are what runs and waits, in the order in which it was placed and came.
func (h *history) allocations(s state, b *beginning) (out []api.AddAllocation) {
	var running []*api.Allocation
	var asks []api.AskView
	for _, n := range s.Nodes {
		for _, e := range n.Evictions {
			if !e.Reported {
				b.notes = append(b.notes, note{string(e.Key), fmt.Sprintf("%s was being evicted by %s, and is terminating here", e.Key, e.By())})
			}
		}
		running = append(append(running, ending(n.ForeignAllocations, n)...), ending(n.Allocations, n)...)
		for _, r := range n.Reservations {
			b.notes = append(b.notes, note{string(r.Key), fmt.Sprintf("%s was kept for %s since %s", n.ID, r.Key, r.At.Sub(s.now))})
		}
	}
	running = append(running, s.ForeignUnknownNode...)
	for _, app := range s.Applications {
		asks = append(asks, app.Asks...)
	}
	slices.SortStableFunc(running, func(a, b *api.Allocation) int { return cmp.Or(a.Placed.Compare(b.Placed), cmp.Compare(a.Key, b.Key)) })
	slices.SortFunc(asks, func(a, b api.AskView) int { return cmp.Compare(a.Number, b.Number) })
	for _, a := range running {
		out = append(out, api.AddAllocation{Allocation: a})
	}
	for _, ask := range asks {
		a := ask.Allocation
		if ask.Nominated != "" {
			a = withTag(a, api.TagNominatedNode, string(ask.Nominated))
		}
		out = append(out, api.AddAllocation{Allocation: a})
	}
	return out
}

// ending are allocations of a node, of which those say that they are terminating that are being evicted.
func ending(list []*api.Allocation, n *api.NodeView) []*api.Allocation {
	out := slices.Clone(list)
	for i, a := range out {
		at := slices.IndexFunc(n.Evictions, func(e api.Eviction) bool { return e.Key == a.Key })
		if at >= 0 && a.Tags[api.TagTerminating] == "" {
			out[i] = withTag(a, api.TagTerminating, fmt.Sprint(n.Evictions[at].Since.Unix()))
		}
	}
	return out
}

func withTag(a *api.Allocation, name, value string) *api.Allocation {
	tagged := *a
	tagged.Tags = maps.Clone(a.Tags)
	if tagged.Tags == nil {
		tagged.Tags = map[string]string{}
	}
	tagged.Tags[name] = value
	return &tagged
}

// saidBefore is what the resource manager had said before a beginning, as far as it is of what is there then.
func (h *history) saidBefore(at int, s state) []scenario.Line {
	var out []scenario.Line
	there := map[string]string{} // for what is asked, an ask or allocation that is there
	for _, n := range s.Nodes {
		for _, a := range n.Allocations {
			there[string(a.Key)] = string(a.Key)
		}
	}
	for _, app := range s.Applications {
		for _, ask := range app.Asks {
			key := string(ask.Key)
			there[key] = key
			if class := s.classes[ask.Key]; class != "" {
				there["alike "+class] = key
				out = append(out, scenario.Line{Verb: "alike", Words: []string{h.answers.nameOf(class), key}})
			}
		}
	}
	last := map[string]int{}
	for _, step := range h.steps[:at] {
		for _, l := range step.said {
			if l.Verb == "alike" {
				continue
			}
			if l.Verb != "budget" {
				who := there[h.answers.asked(api.AllocationKey(l.Words[0]), "").who]
				if who = cmp.Or(there[l.Words[0]], who); who == "" {
					continue
				}
				l.Words = append([]string{who}, l.Words[1:]...)
			}
			subject := l.Verb + " " + l.Words[0]
			if l.Verb == "refuse" || l.Verb == "allow" || l.Verb == "conflict" {
				subject = strings.Replace(l.Verb, "allow", "refuse", 1) + " " + l.Words[0] + " " + l.Words[1]
			}
			if before, is := last[subject]; is {
				out[before].Verb = "" // it is said otherwise
			}
			last[subject] = len(out)
			out = append(out, l)
		}
	}
	return slices.DeleteFunc(out, func(l scenario.Line) bool { return l.Verb == "" || l.Verb == "allow" })
}
