package worlds

import (
	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/core/preemptor"
)

// lawKept says that an ask evicts only what it would still need if every claim without evictions
// on its way gave way to it.
const lawKept = "kept room before victims"

func evictsBesideKeptRoom(g *game) []failure {
	e := g.evicted
	ask := g.w.pod(e.For)
	if e.Trigger == preemptor.Quota || ask.Quorum != "" || ask.Group != "" || g.isRuled(ask) || g.backsOff(ask) {
		return nil
	}
	s := g.besideKept(e.Before, ask, func(*pod) bool { return true })
	for i := range g.w.Nodes { // a more important one that fits in its own place runs next
		n := &g.w.Nodes[i]
		reserved := g.books.Reserved(api.NodeID(n.Name))
		for j := range g.w.Pods {
			other := &g.w.Pods[j]
			if !reserved[api.AllocationKey(other.Key)] {
				continue
			}
			if s.outranks(other, ask) && s.fitsOnNode(other, n) {
				s.book(other, n.Name)
			}
		}
	}
	for i := range g.w.Nodes {
		if n := &g.w.Nodes[i]; s.fitsOnNode(ask, n) {
			cause := "the node is open"
			for key := range g.books.Reserved(api.NodeID(n.Name)) {
				less := s.outranks(ask, g.w.pod(string(key)))
				cause = "the node is kept for " + when(less, "a less important ask") + when(!less, "an ask that is not less important")
			}
			return []failure{{Ask: ask.Key, Trigger: e.Trigger, Cause: cause, Detail: e.Victim + " ends, and it fits on " + n.Name}}
		}
	}
	return nil
}
