package worlds

import (
	"fmt"
	"time"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
)

// lawLiveness says that an ask which fits a node without what comes and goes there runs in the
// end, if nothing but that holds it back for long enough.
const lawLiveness = "what comes again does not starve an ask"

// endlessAsks notes since when asks are held back by what comes again only. It breaks the law for
// the first that was for the time of two reservations for each that may come before it.
func endlessAsks(g *game) (list []failure) {
	if g.w.ReserveMax == 0 || !g.w.Reserve {
		return nil
	}
	o, rivals := g.oracle(), g.rivals()
	for i := range g.w.Pods {
		p := &g.w.Pods[i]
		if !g.waits[p.Key] || p.Again || p.Requires != "" {
			continue
		}
		since, ok := g.since[p.Key]
		node := g.heldBackOnlyOn(o, p)
		switch {
		case node == "":
			delete(g.since, p.Key)
		case !ok:
			g.since[p.Key] = g.now
		case g.now.Sub(since) > time.Duration(2*rivals*g.w.ReserveMax)*time.Second:
			list = append(list, failure{Ask: p.Key, Cause: "it starves", Detail: fmt.Sprintf("since %v beside %s", since.Sub(start), node)})
		}
	}
	return list
}

// rivals is how many may have a claim before an ask: each of those that come once, and each size of
// what comes again.
func (g *game) rivals() int {
	once, sizes := 0, map[string]bool{}
	for i := range g.w.Pods {
		switch p := &g.w.Pods[i]; {
		case p.Again:
			sizes[fmt.Sprint(p.Amounts, p.Priority)] = true
		case p.Requires == "" && g.came[p.Key]:
			once++
		}
	}
	return once + len(sizes)
}

// heldBackOnlyOn is a node on which an ask waits only for what comes again and is not more
// important, or nothing.
func (g *game) heldBackOnlyOn(o *oracle, ask *pod) string {
	if g.held(ask) != "" || g.mayWaitForPlace(ask) || g.backsOff(ask) || g.isRuled(ask) || g.fails[ask.Key] || !g.isWithinQuota(o, ask) {
		return ""
	}
	for _, n := range g.w.Nodes {
		free := n.Capacity
		for _, p := range o.running {
			leaves := p.Again && p.Foreign == api.Own && !o.outranks(p, ask)
			if o.on[p.Key] == n.Name && !leaves {
				free = free.plus(p.Amounts, -1)
			}
		}
		if !n.Drained && ask.Amounts.fits(free) {
			return n.Name
		}
	}
	return ""
}
