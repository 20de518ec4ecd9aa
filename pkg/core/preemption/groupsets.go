package preemption

import (
	"cmp"
	"iter"
	"math"
	"slices"
	"sort"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/core/ledger"
	"github.com/narwhal-scheduler/narwhal/pkg/core/preemptor"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// A share is asks that may get room on some nodes, as those of one domain.
type share struct {
	asks  []*ledger.Request
	nodes iter.Seq[*ledger.Node]
	sizes []lack // how many asks there are of which size
}

func (a *Attempts) shareOf(asks []*ledger.Request, nodes iter.Seq[*ledger.Node]) share {
	return share{asks, nodes, a.sizesOf(asks)}
}

func (a *Attempts) sharesOf(set iter.Seq2[[]*ledger.Request, iter.Seq[*ledger.Node]]) (list []share) {
	for asks, nodes := range set {
		list = append(list, a.shareOf(asks, nodes))
	}
	return list
}

// A nodeSet is where all of some asks may get room: each on the nodes of its share.
type nodeSet struct {
	shares []share
	place  int        // among the sets, in their order
	least  groupCost  // what room costs there, at least until it is known
	room   *GroupRoom // nil as long as it is not
}

// compare is below zero if room costs less in a set, or the same and it comes first.
func (s *nodeSet) compare(other *nodeSet, budgets preemptor.BudgetPolicy) int {
	return cmp.Or(s.least.compare(&other.least, budgets), cmp.Compare(s.place, other.place))
}

// setsOf are those of some sets that would have room for all of some asks if all that may go went, the one first in which it may
// cost least. It looks once at all that runs where anything may end. Where that is in vain it can stay so: attempts that fail are repeated
// after a pause that doubles up to RetryMax.
func (a *Attempts) setsOf(t preemptor.Trigger, sets iter.Seq[iter.Seq2[[]*ledger.Request, iter.Seq[*ledger.Node]]]) (list []*nodeSet) {
	place := 0
	for set := range sets {
		shares := a.sharesOf(set)
		if place++; a.haveRoom(t, shares, func(*ledger.Request) bool { return true }) {
			list = append(list, &nodeSet{shares: shares, place: place, least: groupCost{Trigger: t, Highest: api.PriorityNone}})
		}
	}
	if len(list) > 1 && a.Plain {
		for _, set := range list {
			levels := a.Running                               // the priorities that there are, the lowest first
			at := sort.Search(len(levels), func(i int) bool { // up to the level before this one
				return a.haveRoom(t, set.shares, func(r *ledger.Request) bool {
					return r.Foreign() || i > 0 && r.Priority <= levels[i-1].Priority
				})
			})
			if at > 0 {
				set.least.Highest = levels[at-1].Priority
			}
		}
		slices.SortStableFunc(list, func(x, y *nodeSet) int { return x.compare(y, a.Preemption.Budgets) })
	}
	return list
}

// A lack is how many asks of a size have no place, with one of them.
type lack struct {
	*ledger.Request
	count int64
}

// sizesOf counts asks by their amounts, as far as the same may end for them. What else their classes say does not matter to room.
func (a *Attempts) sizesOf(asks []*ledger.Request) (sizes []lack) {
	for _, r := range asks {
		isAlike := func(of lack) bool {
			return a.ClassOf(of.Request) == a.ClassOf(r) || of.Priority == r.Priority && of.Importance == r.Importance && of.Amounts.Equal(r.Amounts)
		}
		at := len(sizes) - 1
		if at < 0 || !isAlike(sizes[at]) {
			at = slices.IndexFunc(sizes, isAlike)
		}
		if at < 0 {
			at, sizes = len(sizes), append(sizes, lack{Request: r})
		}
		sizes[at].count++
	}
	return sizes
}

// lacks is what has no place on the nodes of its share if all went of which that may be said, by size. It looks at amounts only, and at each size by
// itself.
func (a *Attempts) lacks(t preemptor.Trigger, shares []share, goes func(*ledger.Request) bool) (list []lack) {
	for _, of := range shares {
		for _, is := range of.sizes {
			for n := range of.nodes {
				if is.count -= a.places(n, is.Request, t, goes); is.count <= 0 {
					break
				}
			}
			if is.count > 0 {
				list = append(list, is)
			}
		}
	}
	return list
}

// haveRoom reports whether nothing lacks a place then, and all have room by the sums of their amounts.
func (a *Attempts) haveRoom(t preemptor.Trigger, shares []share, goes func(*ledger.Request) bool) bool {
	return len(a.lacks(t, shares, goes)) == 0 && !slices.ContainsFunc(shares, func(of share) bool { return !a.sumsFit(t, of, goes) })
}

// sumsFit reports whether asks of several sizes want no more together than there is on the nodes of their share.
func (a *Attempts) sumsFit(t preemptor.Trigger, of share, goes func(*ledger.Request) bool) bool {
	if len(of.sizes) < 2 {
		return true
	}
	var want, room resources.Amounts
	for _, r := range of.asks {
		want.Add(r.Amounts)
	}
	for n := range of.nodes {
		var most resources.Amounts // for those of them for which most may end
		for _, is := range of.sizes {
			if n.Schedulable {
				most.Raise(a.roomIf(n, is.Request, t, goes))
			}
		}
		if room.Add(most); want.FitsIn(room) {
			return true
		}
	}
	return false
}

// MayHaveRoom reports whether some asks would have room on some nodes, by amounts, if all ended that is less important.
func (a *Attempts) MayHaveRoom(asks []*ledger.Request, nodes iter.Seq[*ledger.Node]) bool {
	return a.haveRoom(preemptor.Priority, []share{a.shareOf(asks, nodes)}, func(*ledger.Request) bool { return true })
}

// NearestRoom is for how many of some asks there would be room at most, by amounts, if all ended that is less important, in which of some
// sets of nodes, counted from zero, and the least priority of what runs there and may not end; that is math.MaxInt32 for none, or if it
// is another one for each queue.
func (a *Attempts) NearestRoom(asks []*ledger.Request, sets iter.Seq[iter.Seq2[[]*ledger.Request, iter.Seq[*ledger.Node]]]) (set, most int, above int32) {
	at, nearest := 0, []share(nil)
	for of := range sets {
		shares := a.sharesOf(of)
		has := len(asks)
		for _, is := range a.lacks(preemptor.Priority, shares, func(*ledger.Request) bool { return true }) {
			has -= int(is.count)
		}
		if nearest == nil || has > most {
			set, most, nearest = at, has, shares
		}
		at++
	}
	if above = math.MaxInt32; nearest == nil || !a.Plain {
		return set, most, above
	}
	for _, of := range nearest {
		for n := range of.nodes {
			for _, r := range n.Own {
				if !a.MayTake(asks[0].Priority, r.Priority) {
					above = min(above, r.Priority)
				}
			}
		}
	}
	return set, most, above
}

// mayGive reports whether places may be enough for what lacks one, if one group goes and no other.
func (a *Attempts) mayGive(g stopping, t preemptor.Trigger, lacking []lack) bool {
	on := map[*ledger.Node]bool{}
	for r := range g.in.Running {
		if minimumOf(r) == g.minimum {
			on[r.RunsOn] = true
		}
	}
	others := func(name string) bool { return name != g.of }
	for _, is := range lacking {
		for n := range on {
			is.count -= a.places(n, is.Request, t, a.allBut(others))
		}
		if is.count > 0 {
			return false
		}
	}
	return true
}

// places is how many asks like one a node has room for if all went of which that may be said, and that may end for it.
func (a *Attempts) places(n *ledger.Node, r *ledger.Request, t preemptor.Trigger, goes func(*ledger.Request) bool) int64 {
	if !n.Schedulable {
		return 0
	}
	return r.Amounts.TimesIn(a.roomIf(n, r, t, goes))
}

// roomIf is what a node has for an ask then. Where not even the least important may end, nothing that runs there is looked at.
func (a *Attempts) roomIf(n *ledger.Node, r *ledger.Request, t preemptor.Trigger, goes func(*ledger.Request) bool) resources.Amounts {
	room := n.RoomToMake(r.Importance, t).Plus(n.Releasing.Amounts)
	least := n.Weakest
	if t == preemptor.Priority && a.Plain && len(n.Foreign) == 0 && (least.Is == nil || !a.MayTake(r.Priority, least.Priority)) {
		return room
	}
	a.Work.Steps += uint64(len(n.Own) + len(n.Foreign))
	for other := range n.AllOn {
		if other.Eviction == nil && (!a.Plain || other.Foreign() || a.MayTake(r.Priority, other.Priority) || t == preemptor.Guarantee) && goes(other) {
			room.Add(other.Amounts)
		}
	}
	return room
}

// allBut is what goes if some groups may not stop.
func (a *Attempts) allBut(spares func(group string) bool) func(*ledger.Request) bool {
	stays := map[minimum]bool{}
	return func(r *ledger.Request) bool {
		m := minimumOf(r)
		if m.of == "" {
			return true
		}
		if _, known := stays[m]; !known {
			stays[m] = m.stopsWithout(1) && spares(m.of)
		}
		return !stays[m]
	}
}
