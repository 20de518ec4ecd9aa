package group

import (
	"fmt"
	"slices"
	"time"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/core/ledger"
)

// What runs of a group that is below its minimum runs in vain. Where the group says so, it ends after some time, so that all of it may start
// anew, wherever there is room for all: unless room is being made for what it lacks.

// endLater has what runs of a group end when it has been below its minimum for long enough.
func (s *Groups) endLater(g *ledger.Group) {
	if !slices.Contains(s.broken, g) {
		s.broken = append(s.broken, g)
	}
	s.retryGroupsBy(s.endsAt(g))
}

// endsAt is when what runs of a group ends that is below its minimum.
func (s *Groups) endsAt(g *ledger.Group) time.Time { return s.at(g).below.Add(g.Terms.EndBelow) }

// endBroken ends what runs of groups that have been below their minimum for long enough.
func (s *Groups) endBroken() {
	s.broken = slices.DeleteFunc(s.broken, func(g *ledger.Group) bool {
		at := s.at(g)
		switch {
		case g.IsGone() || at.below.IsZero() || g.Terms.EndBelow <= 0:
			return true
		case !s.Settled: // its members may not all be told of
			return false
		case s.endsAt(g).After(s.Now):
			s.retryGroupsBy(s.endsAt(g))
			return false
		case s.awaitsRoom(g):
			s.retryGroupsBy(s.Now.Add(s.Options.RetryMax))
			return false
		}
		why := fmt.Sprintf("group %s has been below its minimum for %v", g.Quorum(), s.Now.Sub(at.below).Round(time.Second))
		for _, r := range g.Staying() {
			s.Evictions.Dismiss(r, api.CauseTimedOut, why)
		}
		s.keepLostOnly(g, 0, why)
		return false // others of it may run before it is whole
	})
}
