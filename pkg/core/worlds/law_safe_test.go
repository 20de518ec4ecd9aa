package worlds

// lawSafe says that what is placed fits on its node, within its queues and limits, and that the
// resource manager does not refuse it there.
const lawSafe = "what is placed fits"

// isSafe looks at a placement before it is booked. A member that takes the place of a placeholder
// has the room and quota of that.
func (g *game) isSafe(ask *pod, node string) {
	n, o := g.w.node(node), g.oracle()
	cause := ""
	switch {
	case ask.Group == "" && !ask.Amounts.fits(o.free[node]):
		cause = "the node has no room"
	case ask.Requires != "" && ask.Requires != node, n.Gone, n.Drained && ask.Requires != node && ask.Group == "":
		cause = "the node is closed to it"
	case g.allows(ask.Key, node, nil, nil) != nil:
		cause = "the resource manager refuses it"
	case ask.Group == "" && !g.isWithinQuota(o, ask):
		cause = "a queue or a user has no room"
	}
	if cause != "" {
		g.breaks(failure{Law: lawSafe, Ask: ask.Key, Cause: cause, Detail: node})
	}
}

// isWithinQuota reports whether the queues and limits of an ask have room for it.
func (g *game) isWithinQuota(o *oracle, ask *pod) bool {
	for _, q := range pathOf(ask.Queue) {
		for k, most := range g.w.queue(q).Max {
			if most > 0 && ask.Amounts[k] > 0 && o.used[q][k]+ask.Amounts[k] > most {
				return false
			}
		}
	}
	return !o.limited(ask)
}
