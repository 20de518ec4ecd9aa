package core

import (
	"math"
	"slices"
	"strings"

	"github.com/narwhal-scheduler/narwhal/pkg/core/preemptor"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// KeptFrom is how much quota of a queue is kept from an ask of a leaf below it, for others of
// the same view. It looks at all asks below the queue.
func (v *View) KeptFrom(ask *AskView, leaf, path QueuePath) (kept resources.Amounts) {
	c := v.claimant(ask, leaf)
	for _, app := range v.Applications {
		if app.Queue != path && !strings.HasPrefix(string(app.Queue), string(path)+".") {
			continue
		}
		for i := range app.Asks {
			other := &app.Asks[i]
			if h, holds := other.hold(); holds && other.Key != ask.Key && h.keeps(c) {
				kept.Add(other.Amounts)
			}
		}
	}
	return kept
}

// promised reports whether quota is kept for an ask with a required node.
func (a *AskView) promised() bool {
	return a.Required != "" && a.Reserved != "" && a.Plan != nil && a.Plan.Reason != preemptor.TooYoung
}

// hold is how what is kept for an ask is kept from others, if anything is.
func (a *AskView) hold() (hold, bool) {
	switch {
	case a.promised():
		return hold{Standing{Root: math.MaxInt32}, max(a.Priority, a.KeptFromRequired)}, true
	case a.Nominated != "":
		return hold{a.KeptFrom, max(max(a.Priority, math.MinInt32+1)-1, a.KeptFromRequired)}, true
	}
	return hold{}, false
}

// claimant is an ask as one that wants what is kept for others.
func (v *View) claimant(ask *AskView, leaf QueuePath) claimant {
	h, _ := ask.hold()
	switch {
	case ask.promised():
		return claimant{Standing: Standing{Root: h.overRequired}, required: true}
	case ask.Required != "":
		return claimant{Standing: Standing{Root: ask.Priority}, required: true}
	case ask.Nominated != "":
		return claimant{Standing: ask.KeptFrom}
	}
	return claimant{Standing: v.standing(ask.Priority, leaf)}
}

// standing is that of an ask of a leaf.
func (v *View) standing(priority int32, leaf QueuePath) (s Standing) {
	path := []*QueueView{v.Root}
	for q := v.Root; q.Path != leaf; path = append(path, q) {
		i := slices.IndexFunc(q.Queues, func(child *QueueView) bool {
			return child.Path == leaf || strings.HasPrefix(string(leaf), string(child.Path)+".")
		})
		if i < 0 {
			break
		}
		q = q.Queues[i]
	}
	for _, q := range slices.Backward(path) {
		if q.Properties.PriorityFence {
			s = s.within(FencePriority{q.Path, priority})
		}
		priority = q.Properties.seenFromAbove(priority)
	}
	s.Root = priority
	return s
}
