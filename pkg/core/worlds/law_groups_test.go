package worlds

import (
	"fmt"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
)

// lawWhole says that members of a quorum run only with as many as must, those that are done counted: none is placed while too few are, but
// one that had a claim of its own.
const lawWhole = "a group starts whole"

// lawWaits says that a quorum that waits holds nothing: of all of them one has claims, whose turn it is.
const lawWaits = "a group that waits holds nothing"

func groupsStartWhole(g *game) (list []failure) {
	for _, key := range g.together {
		p := g.w.pod(key)
		g.saw("a quorum starts whole", g.w.Quorums[p.Quorum] > 1)
		if lacks := g.quorumLacks(p); lacks > 0 {
			list = append(list, failure{Ask: key, Cause: "placed", Detail: fmt.Sprintf("%d members are missing", lacks)})
		}
		if lacks := g.partLacks(p.Quorum, p.Part); lacks > 0 {
			list = append(list, failure{Ask: key, Cause: "placed", Detail: fmt.Sprintf("%d members of its subgroup are missing", lacks)})
		}
		if lacks := g.innerLacks(p.Quorum, p.Inner); lacks > 0 {
			list = append(list, failure{Ask: key, Cause: "placed", Detail: fmt.Sprintf("%d members of its part of a subgroup are missing", lacks)})
		}
		g.saw("a quorum of subgroups starts", g.w.PartLeast != nil)
		g.saw("a subgroup starts with its parts", p.Inner != "")
	}
	g.together = g.together[:0]
	return list
}

// waitsHoldsNothing looks at a claim when it is made.
func (g *game) waitsHoldsNothing(e *api.Claimed) {
	p := g.w.pod(string(e.Key))
	if p == nil || p.Quorum == "" || e.Lost || g.blind || e.Plan != nil || g.quorumLacks(p) <= 0 {
		return
	}
	if group := g.p.View().Groups[api.QuorumOf+p.Quorum]; group.KeptUntil.IsZero() {
		g.breaks(failure{Law: lawWaits, Ask: p.Key, Cause: "claimed", Detail: fmt.Sprintf("node %s is kept for it", e.Node)})
	}
}
