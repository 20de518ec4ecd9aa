package core_test

import (
	"cmp"
	"slices"

	"github.com/narwhal-scheduler/narwhal/pkg/core"
)

// A seenPriority is a priority as the root sees it, and as each fence around the ask does, the
// outermost first.
type seenPriority struct {
	root   int32
	fences []core.FencePriority
}

func seenStanding(s core.Standing) seenPriority { return seenPriority{s.Root, s.Fences()} }

func (w *world) seenOf(ask *core.AskView) seenPriority {
	seen := seenPriority{root: w.rootPriority(ask)}
	for _, q := range slices.Backward(w.upFrom(w.queueOf(ask.Allocation))) {
		if q.Properties.PriorityFence {
			inside, _ := w.seenInside(ask, q.Path)
			seen.fences = append(seen.fences, core.FencePriority{Fence: q.Path, Priority: inside})
		}
	}
	return seen
}

// compare compares priorities by the innermost fence that is around both.
func (s seenPriority) compare(other seenPriority) int {
	order := cmp.Compare(s.root, other.root)
	for i := 0; order == 0 && i < min(len(s.fences), len(other.fences)); i++ {
		if s.fences[i].Fence != other.fences[i].Fence {
			break
		}
		order = cmp.Compare(s.fences[i].Priority, other.fences[i].Priority)
	}
	return order
}
