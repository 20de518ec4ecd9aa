package worlds

import (
	"slices"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/core/preemptor"
)

// sights are what must come about in worlds: otherwise they would show nothing of it.
var sights = []string{
	"a limit holds back an ask", "a quorum waits", "a quorum runs", "a quorum has a priority", "a quorum starts whole", "a quorum of subgroups starts", "a subgroup starts with its parts", "a broken quorum ends", "a member of a quorum succeeds", "room is made for a member of a quorum", "a member of a quorum is a victim",
	"a member starts in a rack", "a rack is chosen", "room is made in a rack", "members run in two racks", "members take few racks", "a subgroup starts in a rack", "subgroups run in two racks", "room is made for a subgroup", "relabel",
	"a gang waits as a whole", "a placeholder is replaced", "a placeholder is a victim", "a placeholder times out", "room is made for a placeholder",
	"a pod of another scheduler is a victim", "pods of other schedulers are spared", "a queue gives back", "an application backs off",
	"a queue is made for an application", "applications are refused", "devices order nodes", "what is scarce orders nodes", "a rack is left to others", "it never refuses for good", "nothing is simulated",
	"a node is kept", "pods come again", "remove", "resize", "drain", "fail", "allow", "restart", "become", "leave", "questions are paced",
}

// see notes what an event shows.
func (g *game) see(e api.Event) {
	switch e := e.(type) {
	case *api.Ended:
		g.saw("a member of a quorum succeeds", e.Message == api.Succeeded)
	case *api.ApplicationGone:
		for key := range g.succeeded {
			if g.w.pod(key).application() == string(e.ID) {
				delete(g.succeeded, key)
			}
		}
	case *api.ClaimEnded:
		g.claimed[string(e.Key)] = g.now
		if e.End != api.EndPlaced { // its Placed follows
			delete(g.claims, string(e.Key))
		}
	case api.Placed:
		p := g.w.pod(string(e.Key))
		g.saw("a quorum runs", p.Quorum != "")
		g.saw("a rack is left to others", e.Kept != nil)
		g.saw("members take few racks", p.Quorum != "" && g.w.Prefers)
		if p.Quorum != "" && !g.claims[p.Key] {
			g.together = append(g.together, p.Key)
		}
		delete(g.claims, p.Key)
		g.saw("a quorum has a priority", e.OwnPriority != nil && p.Own != p.Priority)
	case *api.Claimed:
		g.waitsHoldsNothing(e)
		g.claims[string(e.Key)] = true
		g.saw("a node is kept", e.Plan == nil)
		g.saw("the room of a lost member is kept", e.Lost)
	case *api.QueueAdded:
		g.saw("a queue is made for an application", true)
	case *api.ReleaseRequested:
		g.saw("a placeholder is replaced", e.Cause == api.CauseReplaced)
		g.saw("a placeholder times out", e.Cause == api.CauseTimedOut)
	case *api.EvictionRequested:
		victim, ask := g.w.pod(string(e.Key)), g.w.pod(string(e.For))
		g.saw("a member of a quorum is a victim", victim.Quorum != "")
		g.saw("a placeholder is a victim", victim.Placeholder)
		g.saw("a pod of another scheduler is a victim", victim.Foreign == api.Foreign)
		g.saw("a queue gives back", e.Trigger == preemptor.Quota)
		g.saw("pods of other schedulers are spared", g.w.KeepsForeign)
		g.saw("nothing is simulated", g.w.Answers == answersNothing && len(g.w.Rules) > 0)
		g.saw("it never refuses for good", g.w.Answers == answersNever && len(g.w.Rules) > 0)
		g.saw("room is made for a member of a quorum", ask != nil && ask.Quorum != "")
		g.saw("room is made for a placeholder", ask != nil && ask.Placeholder)
	}
}

// seeWaiting notes why an ask waits.
func (g *game) seeWaiting(o *oracle, ask *pod) {
	g.saw("a limit holds back an ask", o.limited(ask))
	g.saw("a quorum waits", g.quorumLacks(ask) > 0)
	g.saw("a gang waits as a whole", ask.Placeholder && g.w.Whole && !g.started[ask.application()])
	g.saw("an application backs off", g.backsOff(ask))
}

func (g *game) saw(what string, is bool) {
	if is && !slices.Contains(g.seen, what) {
		g.seen = append(g.seen, what)
	}
}
