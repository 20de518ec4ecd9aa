package core

import (
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
			if other.Key == ask.Key || other.Nominated == "" && !other.promised() {
				continue
			}
			if h, holds := other.hold(v.standing(other.Priority, app.Queue)); holds && h.keeps(c) {
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

// hold is how what is kept for an ask of a standing is kept from others, if anything is.
func (a *AskView) hold(standing Standing) (hold, bool) {
	switch {
	case a.promised():
		return promiseHold(standing, a.KeptFromRequired), true
	case a.Nominated != "":
		return nominationHold(a.KeptFrom, standing, a.KeptFromRequired), true
	}
	return hold{}, false
}

// claimant is an ask as one that wants what is kept for others.
func (v *View) claimant(ask *AskView, leaf QueuePath) claimant {
	own := v.standing(ask.Priority, leaf)
	switch h, _ := ask.hold(own); {
	case ask.promised():
		return claimant{Standing: h.required, required: true}
	case ask.Required != "":
		return claimant{Standing: own, required: true}
	case ask.Nominated != "":
		return claimant{Standing: ask.KeptFrom}
	}
	return claimant{Standing: own}
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
