package preemption

import (
	"github.com/narwhal-scheduler/narwhal/pkg/core/ledger"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// placeAnew looks for fewer of the victims that are enough if the asks have other nodes: what ends for one ask may hold room
// for those for which less important ones ended before. It is for asks that are alike, and counts amounts; what comes
// of it is searched anew.
func (s *groupSearch) placeAnew() {
	if s.only != nil || len(s.ended) < 2 || len(s.shares) > 1 {
		return
	}
	for _, r := range s.asks {
		if s.ClassOf(r) != s.ClassOf(s.asks[0]) || r.App.Queue != s.asks[0].App.Queue {
			return
		}
	}
	p := placesLeft{groupSearch: s, room: map[*ledger.Node]resources.Amounts{}}
	p.count()
	only, fewer := map[string]bool{}, false
	for _, unit := range s.unitsEnded() {
		if p.sufficeWithout(unit) {
			fewer = true
			continue
		}
		for _, v := range unit {
			only[v.Key] = true
		}
	}
	if !fewer {
		return
	}
	other := s.search(s.trigger, s.shares, s.spares)
	if other.only = only; other.place(s.asks) && other.found.cost.compare(&s.found.cost, s.Preemption.Budgets) < 0 {
		s.found, s.ended = other.found, other.ended
	}
}

// placesLeft is how many asks fit on all nodes, and what is left for them on each once some victims have ended.
type placesLeft struct {
	*groupSearch
	room  map[*ledger.Node]resources.Amounts
	total int64
}

func (p *placesLeft) count() {
	r := p.asks[0]
	ended := map[*ledger.Node]resources.Amounts{}
	for i := range p.ended {
		n := p.runsOn(&p.ended[i])
		ended[n] = ended[n].Plus(p.ended[i].Amounts)
	}
	for n := range p.shares[0].nodes {
		if p.Costs.outOfReach(&p.costs.Key, n) != notEvaluated {
			continue
		}
		room := n.RoomToMake(r.Importance, p.trigger)
		if more := n.Releasing.Plus(ended[n]); !more.IsZero() {
			room = room.Plus(more)
		}
		p.total += r.Amounts.TimesIn(room)
		if ended[n] != nil {
			p.room[n] = room
		}
	}
}

// sufficeWithout has some victims stay that end together, if there are enough places all the same.
func (p *placesLeft) sufficeWithout(unit []victimOf) bool {
	r, total, left := p.asks[0], p.total, map[*ledger.Node]resources.Amounts{}
	for _, v := range unit {
		room, is := left[v.node]
		if !is {
			if room, is = p.room[v.node]; !is {
				continue
			}
		}
		total -= r.Amounts.TimesIn(room)
		left[v.node] = room.Minus(v.Amounts)
		total += r.Amounts.TimesIn(left[v.node])
	}
	if total < int64(len(p.asks)) {
		return false
	}
	for n, room := range left {
		p.room[n] = room
	}
	p.total = total
	return true
}
