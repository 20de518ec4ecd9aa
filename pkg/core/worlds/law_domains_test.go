package worlds

import (
	"maps"
	"slices"
)

// lawDomain says that all members of a quorum that requires a rack, or of each part of one, run in one, as does what is kept and what is
// evicted for them: one that is placed is in the rack in which all others run, and if these are in two, since a label has changed, none
// is placed.
const lawDomain = "a group runs in one domain"

// racksOf are the racks in which members of the quorum of an ask run, of its part if it has one. The name of those that are in none is empty.
func (o *oracle) racksOf(ask *pod) (racks []string) {
	for i := range o.w.Pods {
		p := &o.w.Pods[i]
		if node := o.on[p.Key]; p != ask && p.Quorum == ask.Quorum && p.Part == ask.Part && node != "" && !slices.Contains(racks, o.w.node(node).Rack) {
			racks = append(racks, o.w.node(node).Rack)
		}
	}
	return racks
}

// where is an oracle that knows where everything runs, and no more.
func (g *game) where() *oracle { return &oracle{w: g.w, on: g.on} }

// mayRunIn reports whether an ask may run on a node because of those of its quorum.
func (o *oracle) mayRunIn(ask *pod, node string) bool {
	if ask.Quorum == "" || !o.w.isInRacks() {
		return true
	}
	rack := o.w.node(node).Rack
	return rack != "" && !slices.ContainsFunc(o.racksOf(ask), func(other string) bool { return other != rack })
}

// domainsFor are the nodes of each rack in which the quorum of an ask may start, or all nodes where it may run anywhere.
func (g *game) domainsFor(ask *pod) (list [][]node) {
	if !g.w.Racks {
		return [][]node{g.w.Nodes}
	}
	for _, rack := range []string{"r1", "r2"} {
		nodes := slices.DeleteFunc(slices.Clone(g.w.Nodes), func(n node) bool { return n.Rack != rack })
		if len(nodes) > 0 && g.where().mayRunIn(ask, nodes[0].Name) {
			list = append(list, nodes)
		}
	}
	return list
}

// staysInDomain looks at a member when it is placed.
func (g *game) staysInDomain(ask *pod, node string) {
	if ask.Quorum == "" || !g.w.isInRacks() {
		return
	}
	g.saw("a member starts in a rack", g.w.Racks)
	g.saw("a subgroup starts in a rack", g.w.Parts)
	g.saw("a rack is chosen", g.w.Racks && len(g.domainsFor(ask)) > 1)
	if !g.where().mayRunIn(ask, node) {
		g.breaks(failure{Law: lawDomain, Ask: ask.Key, Cause: "placed outside", Detail: node})
	}
}

// claimsAreInOneDomain looks at what is kept for members, and where room is made for them.
func claimsAreInOneDomain(g *game) (list []failure) {
	for i := range g.w.Pods {
		p := &g.w.Pods[i]
		g.saw("members run in two racks", p.Quorum != "" && g.w.Racks && g.waits[p.Key] && len(g.where().racksOf(p)) > 1)
		g.saw("subgroups run in two racks", p.Quorum != "" && g.w.Parts && g.runInTwo(p))
	}
	racks := map[string][]string{} // in which something is kept for a part of a quorum
	for _, n := range g.p.View().Nodes {
		keys := slices.Clone(n.Nominated)
		for _, r := range n.Reservations {
			keys = append(keys, r.Key)
		}
		for _, key := range keys {
			ask := g.w.pod(string(key))
			if ask == nil || ask.Quorum == "" || !g.w.isInRacks() {
				continue
			}
			rack := g.w.node(string(n.ID)).Rack
			if !g.where().mayRunIn(ask, string(n.ID)) || slices.ContainsFunc(racks[ask.Part], func(other string) bool { return other != rack }) {
				list = append(list, failure{Ask: ask.Key, Cause: "kept outside", Detail: string(n.ID)})
			}
			racks[ask.Part] = append(racks[ask.Part], rack)
		}
	}
	return list
}

// evictsInDomain looks at a victim: it ends in the rack where room is made for all of its quorum.
func evictsInDomain(g *game) (list []failure) {
	ask := g.w.pod(g.evicted.For)
	if ask == nil || ask.Quorum == "" || !g.w.isInRacks() {
		return nil
	}
	g.saw("room is made in a rack", g.w.Racks)
	g.saw("room is made for a subgroup", g.w.Parts)
	if !g.where().mayRunIn(ask, g.evicted.Target) || g.w.node(g.evicted.Node).Rack != g.w.node(g.evicted.Target).Rack {
		return []failure{{Ask: ask.Key, Trigger: g.evicted.Trigger, Cause: "a victim outside", Detail: g.evicted.Victim}}
	}
	for key, other := range g.nominated {
		if p := g.w.pod(key); p.Quorum == ask.Quorum && !g.where().mayRunIn(p, other.node) {
			list = append(list, failure{Ask: key, Cause: "room outside", Detail: other.node})
		}
	}
	return list
}

// runInTwo reports whether members of a part of a quorum run in a rack, and those of another part in another one.
func (g *game) runInTwo(ask *pod) bool {
	other := *ask
	other.Part = map[string]string{"a": "b", "b": "a"}[ask.Part]
	here, there := g.where().racksOf(ask), g.where().racksOf(&other)
	return len(here) == 1 && len(there) == 1 && here[0] != there[0]
}

// partsFit is a quorum that waits although each part of it could be given a rack, so that enough members start. A part of which none
// runs starts whole.
func (g *game) partsFit(asks []*pod) []failure {
	parts := map[string][]*pod{}
	for _, p := range asks {
		parts[p.Part] = append(parts[p.Part], p)
	}
	var fits func(names []string, o *oracle, lacks int) bool
	fits = func(names []string, o *oracle, lacks int) bool {
		if lacks <= 0 {
			return true
		}
		if len(names) == 0 {
			return false
		}
		for _, rack := range []string{"r1", "r2"} {
			for _, asks := range g.waysOf(parts[names[0]]) {
				now := g.oracle()
				now.free, now.used, now.limits = maps.Clone(o.free), maps.Clone(o.used), slices.Clone(o.limits)
				gives := len(asks)
				if g.w.PartLeast != nil {
					gives = 1
				}
				if g.placePart(now, asks, rack) && fits(names[1:], now, lacks-gives) {
					return true
				}
			}
		}
		return fits(names[1:], o, lacks)
	}
	lacks := g.quorumLacks(asks[0])
	if g.w.PartLeast != nil && lacks > 0 {
		lacks = g.w.Quorums[asks[0].Quorum]
		for part := range g.w.PartLeast {
			if g.partLacks(asks[0].Quorum, part) <= 0 {
				lacks--
			}
		}
	}
	if fits(slices.Sorted(maps.Keys(parts)), g.oracle(), max(lacks, 1)) {
		return []failure{{Ask: asks[0].Key, Cause: "a quorum of parts fits"}}
	}
	return nil
}

// waysOf are those asks of a part of a quorum that may start together.
func (g *game) waysOf(part []*pod) (ways [][]*pod) {
	first := part[0]
	switch {
	case g.w.PartLeast == nil && len(g.where().racksOf(first)) == 0:
		return [][]*pod{part}
	case g.w.PartLeast == nil:
		for count := len(part); count > 0; count-- {
			ways = append(ways, part[:count])
		}
		return ways
	case g.w.Inner != nil && first.Part == "a":
		return g.waysOfInner(part)
	}
	return g.waysOfLacking(part, g.partLacks(first.Quorum, first.Part))
}

// waysOfLacking is the only way to start a part that lacks some members, or any of it where it runs and so does its quorum.
func (g *game) waysOfLacking(part []*pod, lacks int) [][]*pod {
	if lacks > len(part) || len(part) == 0 || lacks <= 0 && g.quorumLacks(part[0]) > 0 {
		return nil
	}
	return [][]*pod{part[:max(lacks, 1)]}
}

// waysOfInner are those of a part that has parts: as many of them as must, or, where it runs, any.
func (g *game) waysOfInner(part []*pod) (ways [][]*pod) {
	of := func(inner string) [][]*pod {
		asks := slices.DeleteFunc(slices.Clone(part), func(p *pod) bool { return p.Inner != inner })
		return g.waysOfLacking(asks, g.innerLacks(part[0].Quorum, inner))
	}
	x, y := of("x"), of("y")
	runsX, runsY := g.innerLacks(part[0].Quorum, "x") <= 0, g.innerLacks(part[0].Quorum, "y") <= 0
	if both := g.w.PartLeast["a"] == 2 && !runsX && !runsY; both {
		for _, of := range x {
			for _, with := range y {
				ways = append(ways, slices.Concat(of, with))
			}
		}
		return ways
	}
	if g.partLacks(part[0].Quorum, "a") > 0 { // one that runs is joined later
		if runsX {
			x = nil
		}
		if runsY {
			y = nil
		}
	} else if g.quorumLacks(part[0]) > 0 {
		return nil
	}
	return append(x, y...)
}

// placePart books asks that are alike on nodes of a rack, if all of them fit there.
func (g *game) placePart(o *oracle, asks []*pod, rack string) bool {
	for _, p := range asks {
		at := slices.IndexFunc(g.w.Nodes, func(n node) bool {
			return (n.Rack == rack || g.w.Loose) && o.mayRunIn(p, n.Name) && o.fitsOnNode(p, &n) && g.kept(g.p.View(), n.Name, p) == ""
		})
		if at < 0 {
			return false
		}
		o.book(p, g.w.Nodes[at].Name)
	}
	return true
}
