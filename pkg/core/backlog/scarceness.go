package backlog

import (
	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/core/devices"
	"github.com/narwhal-scheduler/narwhal/pkg/core/ledger"
	"github.com/narwhal-scheduler/narwhal/pkg/core/scarcity"
	"github.com/narwhal-scheduler/narwhal/pkg/core/tables"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// scarceness is what is known of what is scarce: the nodes by class, and the asks that wait.
type scarceness struct {
	*scarcity.Cluster
	places []placeOfClass      // by the slots of nodes
	waits  []*scarcity.Profile // by the slots of asks
}

// placeOfClass is a node as far as it is counted there.
type placeOfClass struct {
	scarcity.Place
	of      *ledger.Node // another one may have had its slot
	updated uint64
}

// newScarceness counts with the kinds of a policy.
func newScarceness(policy *devices.Policy) *scarceness {
	var kinds []resources.Kind
	var sizes []int64
	for _, k := range policy.Devices {
		kinds, sizes = append(kinds, k.Kind), append(sizes, k.Size)
	}
	for _, kind := range policy.Beside {
		kinds, sizes = append(kinds, kind), append(sizes, 0)
	}
	return &scarceness{Cluster: scarcity.New(kinds, sizes)}
}

// note takes in that a node has changed.
func (s *scarceness) note(n *ledger.Node, free resources.Amounts) {
	at := tables.At(&s.places, n.Slot)
	switch {
	case n.Gone && at.of != n:
		return
	case n.Gone:
		s.Leave(&at.Place)
		at.of = nil
		return
	case at.of != n || at.updated != n.UpdatedAt:
		s.Enter(&at.Place, n.Capacity, n.Attributes)
		at.of, at.updated = n, n.UpdatedAt
	}
	s.SetFree(&at.Place, free)
}

// freeOn is what is free on a node; nothing where none may be placed.
func (o *NodeOrder) freeOn(n *ledger.Node) resources.Amounts {
	if !o.has(n) {
		return nil
	}
	return n.Free
}

// price works out the prices for an order, if they have changed.
func (s *scarceness) price(ranked *rankedNodes) {
	if ranked.weighed == s.Weighed() && len(ranked.prices) == s.Classes() {
		return
	}
	worth := s.WorthOf(ranked.amounts)
	ranked.prices, ranked.weighed = ranked.prices[:0], s.Weighed()
	for class := range s.Classes() {
		ranked.prices = append(ranked.prices, s.Price(class, worth))
	}
}

// classOf is the class of a node.
func (d *deviceOrder) classOf(n *ledger.Node) int {
	if d.scarce == nil {
		return 0
	}
	return d.scarce.places[n.Slot].Class
}

// Arrives counts an ask, or what runs already, with what arrives.
func (o *NodeOrder) Arrives(r *ledger.Request) {
	if s := o.scarce(); s != nil {
		s.Arrive(r.Tags[api.TagNodeSelector], r.Amounts)
	}
}

// Waits counts an ask that begins to wait with what arrives, and with what waits.
func (o *NodeOrder) Waits(r *ledger.Request) {
	s := o.scarce()
	if s == nil {
		return
	}
	if p := s.Arrive(r.Tags[api.TagNodeSelector], r.Amounts); p != nil {
		s.Wait(p, 1)
		*tables.At(&s.waits, r.Slot) = p
	}
}

// WaitsNoMore is the opposite of Waits.
func (o *NodeOrder) WaitsNoMore(r *ledger.Request) {
	s := o.scarce()
	if s == nil {
		return
	}
	if p := tables.At(&s.waits, r.Slot); *p != nil {
		s.Wait(*p, -1)
		*p = nil
	}
}

// scarce is what is known of what is scarce; nil if that does not count.
func (o *NodeOrder) scarce() *scarceness {
	if o.Devices == nil {
		return nil
	}
	return o.Devices.scarce
}

// WeighAgain has what is scarce weighed again, if enough has changed. No search is under way.
func (o *NodeOrder) WeighAgain() {
	s := o.scarce()
	if s == nil {
		return
	}
	for s.TakeRelabel() {
		for i := range s.places {
			s.Leave(&s.places[i].Place)
		}
		for i := range s.places {
			if at := &s.places[i]; at.of != nil {
				s.Enter(&at.Place, at.of.Capacity, at.of.Attributes)
				s.SetFree(&at.Place, o.freeOn(at.of))
			}
		}
		clear(o.Devices.ByAsk)
	}
	s.Weigh()
}

// PriceOf is the number of the class of a node, and what that costs an ask beside waste.
func (o *NodeOrder) PriceOf(n *ledger.Node, ask resources.Amounts) (class int, price int64) {
	class = o.Devices.classOf(n)
	return class, o.Devices.of(ask).prices.of(class)
}

// KeptBy is what an ask leaves to others that is placed on a node: the room of another node that it
// would have taken, were nothing scarce; nil if there is none.
func (o *NodeOrder) KeptBy(r *ledger.Request, n *ledger.Node) *api.Kept {
	s := o.scarce()
	if s == nil || r.Required != "" || r.Claim() != nil {
		return nil // there was no choice
	}
	ranked := o.Devices.of(r.Amounts)
	chosen := *tables.At(&ranked.bySlot, n.Slot)
	if chosen == nil || chosen.node != n {
		return nil
	}
	other := chosen
	for class := range ranked.byClass {
		if is := ranked.firstOf(class, false); is != nil && is.tie.score < other.tie.score {
			other = is
		}
	}
	if ranked.prices.of(other.class) <= ranked.prices.of(chosen.class) {
		return nil
	}
	reason, found := s.Reason(other.class, chosen.class)
	if !found {
		return nil
	}
	return &api.Kept{Selector: reason.Selector, Percent: reason.Percent, Free: reason.Free}
}
