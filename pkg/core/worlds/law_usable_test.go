package worlds

import "github.com/narwhal-scheduler/narwhal/pkg/core/api"

// lawUsable says that a claim is made only where its owner can run when all that may leave has
// left, and within its quotas and limits: static pods, pods that require the node and those of
// other schedulers that do so stay. One that takes the place of a placeholder has the quota of that.
const lawUsable = "claims are usable"

func claimsAreUsable(g *game) (list []failure) {
	for _, n := range g.p.View().Nodes {
		for _, r := range n.Reservations {
			if why := g.neverRuns(g.w.pod(string(r.Key)), string(n.ID)); why != "" {
				list = append(list, failure{Ask: string(r.Key), Cause: "a node is kept, " + why, Detail: string(n.ID)})
			}
		}
		for _, key := range n.Nominated {
			if why := g.neverRuns(g.w.pod(string(key)), string(n.ID)); why != "" {
				list = append(list, failure{Ask: string(key), Cause: "room is made, " + why, Detail: string(n.ID)})
			}
		}
	}
	return list
}

// stays reports whether a pod never leaves its node for others.
func (p *pod) stays() bool { return p.Foreign == api.Static || p.Required || p.Requires != "" }

// neverRuns says why an ask can never run on a node, or nothing.
func (g *game) neverRuns(ask *pod, node string) string {
	if ask == nil {
		return ""
	}
	free := g.w.node(node).Capacity
	for i := range g.w.Pods {
		if p := &g.w.Pods[i]; g.on[p.Key] == node && p.stays() && p != ask {
			free = free.plus(p.Amounts, -1)
		}
	}
	if !ask.Amounts.fits(free) {
		return "and what stays there leaves too little"
	}
	for _, key := range g.replaced {
		if key == ask.Key {
			return ""
		}
	}
	for _, q := range pathOf(ask.Queue) {
		for k, most := range g.w.queue(q).Max {
			if most > 0 && ask.Amounts[k] > most {
				return "and the ask is more than its queue may use"
			}
		}
	}
	for i := range g.w.Limits {
		for k, most := range g.w.Limits[i].Max {
			if g.w.Limits[i].applies(ask) && most > 0 && ask.Amounts[k] > most {
				return "and the ask is more than its user may use"
			}
		}
	}
	return ""
}
