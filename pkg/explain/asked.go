package explain

import (
	"slices"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
)

// MayRun asks the resource manager whether an ask that waits may run on a node that there is;
// asked is false if there was no answer, and refused says why not.
type MayRun func(ask api.AllocationKey, node api.NodeID) (asked bool, refused error)

// askedMax is how many nodes the resource manager is asked about for one explanation.
const askedMax = 50

// A questioner asks the resource manager about one ask, about each node once.
type questioner struct {
	ask    *api.AskView
	mayRun MayRun // nil if it cannot be asked
	free   bool   // it refuses nothing
	told   map[api.NodeID]string
	alone  *api.View // in which nothing waits but the ask and what starts with it
}

// about is what the resource manager says of a node: empty if it accepts the ask there, or
// if it was not asked, as asked says.
func (q *questioner) about(node api.NodeID) (refusal string, asked bool) {
	if text, known := q.told[node]; known || q.free {
		return text, true
	}
	if q.mayRun == nil || len(q.told) == askedMax {
		return "", false
	}
	asked, refused := q.mayRun(q.ask.Key, node)
	if !asked {
		q.mayRun = nil // another question would wait as long
		return "", false
	}
	if refused != nil {
		refusal = refused.Error()
	}
	q.told[node] = refusal
	return refusal, true
}

// withRoom asks about nodes that have room for the ask, of which it was not asked before.
func (q *questioner) withRoom(a *Answer) {
	if q.ask.Reason == api.Infeasible || len(q.ask.Refusals) > 0 {
		return
	}
	for _, n := range a.view.Nodes {
		if why, _, _ := a.firstReason(n); why == HasRoom {
			if _, asked := q.about(n.ID); !asked {
				return
			}
		}
	}
}

// refusedNow are the nodes with room that the resource manager refuses now, one group for
// each reason, and then those that are left.
func (a *Answer) refusedNow(told map[api.NodeID]string) (list []Group) {
	left := Group{Why: HasRoom}
	for _, n := range a.view.Nodes {
		if why, _, _ := a.firstReason(n); why != HasRoom {
			continue
		}
		g := &left
		if text := told[n.ID]; text != "" {
			i := slices.IndexFunc(list, func(g Group) bool { return g.Text == text })
			if i < 0 {
				i, list = len(list), append(list, Group{Why: Refused, Text: text})
			}
			g = &list[i]
		}
		if g.Nodes == 0 {
			g.Nearest = n.ID
		}
		if g.Nodes++; len(g.First) < firstShown {
			g.First = append(g.First, n.ID)
		}
	}
	if left.Nodes > 0 {
		list = append(list, left)
	}
	return list
}
