package explain

import (
	"slices"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/core/preemptor"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// keptFrom is how much quota of some applications is kept from an ask of a leaf, for others of
// the same view: for those that are at least as important. It looks at all asks of these.
func keptFrom(v *api.View, ask *api.AskView, leaf api.QueuePath, counts func(*api.ApplicationView) bool) (kept resources.Amounts) {
	own := importance(v, ask.Priority, leaf)
	for _, app := range v.Applications {
		if !counts(app) {
			continue
		}
		for i := range app.Asks {
			other := &app.Asks[i]
			if other.Key != ask.Key && (other.Nominated != "" || promised(other)) && importance(v, other.Priority, app.Queue) >= own {
				kept.Add(other.Amounts)
			}
		}
	}
	return kept
}

// promised reports whether quota is kept for an ask with a required node.
func promised(a *api.AskView) bool {
	return a.Required != "" && a.Reserved != "" && a.Plan != nil && a.Plan.Reason != preemptor.TooYoung
}

// importance is the priority of an ask of a leaf as the root sees it.
func importance(v *api.View, priority int32, leaf api.QueuePath) int32 {
	path := []*api.QueueView{v.Root}
	for q := v.Root.Towards(leaf); q != nil; q = q.Towards(leaf) {
		path = append(path, q)
	}
	for _, q := range slices.Backward(path) {
		priority = q.Properties.SeenFromAbove(priority)
	}
	return priority
}
