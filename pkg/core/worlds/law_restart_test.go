package worlds

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/narwhal-scheduler/narwhal/pkg/core"
	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
)

// lawRestart says that a partition which is made from a view has the same books.
const lawRestart = "a restart keeps the books"

// restart makes the partition anew from its view.
func (g *game) restart() {
	before := g.p.View()
	for key := range g.nominated { // each of them may have the place of an equal one
		g.restored[key] = true
	}
	for i := range g.evictions {
		g.evictions[i].Forgot = g.evictions[i].Forgot || g.waits[g.evictions[i].For] && g.nominated[g.evictions[i].For].node == ""
	}
	g.p = core.Restore(g.options(), g.now, before)
	if err := g.p.Verify(); err != nil {
		g.breaks(failure{Law: lawRestart, Cause: "Verify", Detail: err.Error()})
	}
	after := g.p.View()
	if a, b := claimText(before), claimText(after); a != b {
		g.breaks(failure{Law: lawRestart, Cause: "other claims", Detail: a + " became " + b})
	}
}

// claimText is what is kept on nodes, what is evicted there, and how gangs and groups stand.
func claimText(v *api.View) string {
	var list []string
	for _, n := range v.Nodes {
		for _, r := range n.Reservations {
			list = append(list, fmt.Sprintf("%s keeps %s", r.Key, n.ID))
		}
		for _, key := range n.Nominated {
			list = append(list, fmt.Sprintf("%s gets room on %s", key, n.ID))
		}
		for _, e := range n.Evictions {
			list = append(list, fmt.Sprintf("%s ends for %s", e.Key, e.For))
		}
	}
	for _, app := range v.Applications {
		if app.Gang != nil {
			list = append(list, fmt.Sprintf("%s is %+v", app.ID, *app.Gang))
		}
	}
	for name, group := range v.Groups { // what it does is found out at the next step
		group.State, group.BelowSince, group.Detail = api.GroupWaits, time.Time{}, ""
		list = append(list, fmt.Sprintf("%s is %+v", name, group))
	}
	slices.Sort(list)
	return strings.Join(list, ", ")
}
