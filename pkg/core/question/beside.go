package question

import (
	"errors"
	"strings"

	"github.com/narwhal-scheduler/narwhal/pkg/core/backlog"
	"github.com/narwhal-scheduler/narwhal/pkg/core/ledger"
	"github.com/narwhal-scheduler/narwhal/pkg/core/preemptor"
)

// BesideVictims asks whether another ask may run on a node beside an equal one, without what ends
// there and some victims.
func (p *Predicates) BesideVictims(r *ledger.Request, n *ledger.Node, victims []preemptor.Victim) error {
	other, c := p.other(r), p.ClassOf(r)
	switch {
	case other == nil:
		return nil
	case p.IsAlone(c):
		return errAlone
	}
	removed := n.OwnKeys((*ledger.Request).Releasing)
	for i := range victims {
		if !victims[i].Elsewhere {
			removed = append(removed, victims[i].Key)
		}
	}
	return p.answerOf(r, n, "beside\x00"+strings.Join(removed, "\x00"), func() error {
		p.Calls++
		err := p.Options.Simulate(other.Key, n.ID, append(r.ExpectedBefore(n), r.Key), KeysOf(removed))
		if times := p.alone.Of(c.Slot, c.Living()); err == nil {
			*times = 0
		} else {
			*times++
		}
		return err
	})
}

// other is an ask that waits with one in its queue; nil if there is none.
func (p *Predicates) other(r *ledger.Request) *ledger.Request {
	for _, leaf := range p.OfQueue(r.App.Queue).WaitSet.Alike(nil, p.ClassOf(r), 2) {
		for _, g := range leaf.Groups {
			for other := range g.All {
				if other != r {
					return other
				}
			}
		}
	}
	return nil
}

// IsAlone reports whether it is taken that no ask of a class runs beside another.
func (p *Predicates) IsAlone(c *backlog.Class) bool {
	return p.alone.Get(c.Slot, c.Living()) >= AloneMax
}

// AloneMax is how often, one after the other, the resource manager may refuse an ask
// beside another before it is taken that none of its class runs beside another.
const AloneMax = 4

// errAlone stands for the answer to a question that is not asked any more.
var errAlone = errors.New("no ask of its class runs beside it")
