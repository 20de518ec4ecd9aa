package excerpt

import (
	"fmt"
	"slices"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/core/preemptor"
	"github.com/narwhal-scheduler/narwhal/pkg/internal/scenario"
	"github.com/narwhal-scheduler/narwhal/pkg/recording"
)

// An outcome is what became of a pod, as it was.
type outcome struct {
	recording.Wanted
	key         api.AllocationKey
	application api.ApplicationID
	fact
	loosely bool // the fact does not count
}

// A fact is how something became of a pod: where it was placed, for what it was evicted, why it waits.
type fact struct {
	node    api.NodeID
	ask     api.AllocationKey
	trigger preemptor.Trigger
	reason  api.Reason
	detail  string
	could   bool // it would fit a node, or the queue, if that were empty
}

// outcome is that of the last step.
func (h *history) outcome(w recording.Wanted, key api.AllocationKey) outcome {
	o := outcome{Wanted: w, key: key}
	for _, s := range h.steps {
		o.see(s.Effects...)
	}
	if r := h.partition.Requests[key]; r != nil && r.App != nil {
		o.application = r.App.ID
	}
	if w.Outcome == recording.Waits {
		o.fact, _ = o.waits(h.partition.View())
	}
	return o
}

// see takes in what became of the pod first, and reports whether it was in the events.
func (o *outcome) see(events ...api.Event) (found bool) {
	for _, event := range events {
		switch e := event.(type) {
		case api.Placed:
			if o.Outcome == recording.Placed && e.Key == o.key {
				o.fact, found = fact{node: e.Node}, true
			}
		case *api.EvictionRequested:
			if o.Outcome == recording.Evicted && e.Key == o.key {
				o.fact, found = fact{ask: e.For, trigger: e.Trigger}, true
			}
		}
	}
	return found
}

// waits is why the pod waits, and whether it does. The detail counts where it names whose quota it is, and not where it counts.
func (o *outcome) waits(v *api.View) (fact, bool) {
	_, ask := v.Ask(o.application, o.key)
	if ask == nil {
		return fact{}, false
	}
	f := fact{reason: ask.Reason}
	if ask.Reason == api.NoNodeFits {
		f.could = slices.ContainsFunc(v.Nodes, func(n *api.NodeView) bool { return ask.Amounts.FitsIn(n.Capacity) })
	}
	if ask.Reason == api.QuotaExceeded || ask.Reason.IsLimit() {
		f.detail = ask.Detail
		q := v.Root
		for q != nil && string(q.Path) != ask.Detail {
			q = q.Towards(api.QueuePath(ask.Detail))
		}
		f.could = q != nil && ask.Amounts.Within(q.Max)
	}
	return f, true
}

// shown is what a scenario shows of an outcome: as it was, and at all.
func (o *outcome) shown(text string) (strict, loose bool, err error) {
	var facts []fact
	view, err := scenario.Try(text, func(event api.Event) {
		if one := *o; one.see(event) {
			facts = append(facts, one.fact)
		}
	})
	if err != nil {
		return false, false, err
	}
	if o.Outcome == recording.Waits {
		if f, is := o.waits(view); is && o.IsReason(f.reason) {
			facts = append(facts, f)
		}
	}
	for _, f := range facts {
		strict = strict || f == o.fact
	}
	return strict, len(facts) > 0, nil
}

// A showing reports whether a scenario shows an outcome.
type showing func(text string) bool

func (o outcome) asItWas() showing {
	return func(text string) bool { strict, _, err := o.shown(text); return strict && err == nil }
}

func (o outcome) atAll() showing {
	return func(text string) bool { _, loose, err := o.shown(text); return loose && err == nil }
}

// String says what became of the pod.
func (o outcome) String() string {
	switch {
	case o.loosely:
		return fmt.Sprintf("%s %s", o.key, o.Wanted)
	case o.Outcome == recording.Placed:
		return fmt.Sprintf("%s is placed on %s", o.key, o.node)
	case o.Outcome == recording.Waits:
		return fmt.Sprintf("%s waits: %s", o.key, o.reason)
	case o.ask == "":
		return fmt.Sprintf("%s is evicted by %s", o.key, o.trigger)
	}
	return fmt.Sprintf("%s is evicted for %s, by %s", o.key, o.ask, o.trigger)
}
