package core

import (
	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/core/ledger"
)

// followGroup has a request be as its group has it, and the other members where it has said something new: of
// what priority they are, and whether others may be evicted for them. The request is known to the ledger, and may be in no list yet.
func (p *Partition) followGroup(r *ledger.Request) {
	p.follow(r)
	if g := r.StartsWith; g != nil {
		p.restateGroup(g)
	}
}

// restateGroup has the members of a group be as it has them, where it has said something new.
func (p *Partition) restateGroup(g *ledger.Group) {
	for _, member := range g.TakeRestated() {
		if p.follow(member); member.RunsOn == nil && p.ClassOf(member) != nil {
			p.Reclassify(member)
		}
	}
}

func (p *Partition) follow(r *ledger.Request) {
	as, n := r.AsMember(), r.RunsOn
	switch {
	case as == r.Allocation:
	case n == nil && p.ClassOf(r) == nil: // it comes
		r.Becomes(as)
	case n == nil:
		p.waitAs(r, as)
	default:
		p.Unbook(r)
		r.Becomes(as)
		p.Book(r, n)
		p.Tell(&api.Resized{Allocation: r.Allocation, Before: r.Amounts})
	}
}
