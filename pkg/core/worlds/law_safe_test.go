package worlds

// lawSafe says that what is placed fits on its node, within its queues and limits, and that the
// resource manager does not refuse it there: it was asked about this placement in the same batch. It is asked about
// placements only where there is room.
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
	case ask.Group == "" && len(g.w.Rules) > 0 && !g.agreed[[2]string{ask.Key, node}]:
		cause = "the resource manager was not asked about the placement"
	case ask.Group == "" && !g.isWithinQuota(o, ask):
		cause = "a queue or a user has no room"
	}
	if cause != "" {
		g.breaks(failure{Law: lawSafe, Ask: ask.Key, Cause: cause, Detail: node})
	}
}

// agrees answers whether an ask may run on a node: at once, if allocate is set, else once there is room. An attempt asks
// about the node as it is where the resource manager does not simulate.
func (g *game) agrees(key, node string, allocate bool) error {
	err := g.allows(key, node, nil, nil)
	if !allocate {
		return err
	}
	ask := g.w.pod(key)
	if (g.simulated || ask.Group != "") && !ask.Amounts.fits(g.oracle().free[node]) {
		g.breaks(failure{Law: lawSafe, Ask: key, Cause: "a placement without room is asked about", Detail: node})
	}
	g.agreed[[2]string{key, node}] = g.agreed[[2]string{key, node}] || err == nil
	return err
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
