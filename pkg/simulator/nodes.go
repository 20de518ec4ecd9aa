package simulator

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"

	"github.com/narwhal-scheduler/narwhal/pkg/core"
)

// A node as the resource manager sees it.
type node struct {
	*Node
	up      bool
	lives   int // how often it joined
	drains  int // how many drains are in effect
	table   deviceTable
	pods    map[core.AllocationKey]*pod
	daemons []*pod
	foreign []*foreignPod // as reported to the core
}

// check says why a pod cannot run on the node beyond the amounts, or nil.
func (n *node) check(w *wants) error {
	if err := n.never(w); err != nil {
		return err
	}
	return n.table.check(w)
}

// never says why a pod can never run on the node, whatever ends there, or nil.
func (n *node) never(w *wants) error {
	for i := range w.labels {
		if l := &w.labels[i]; n.Attributes[l.name] != l.value {
			return l.refusal
		}
	}
	return n.table.never(w)
}

// A daemonSet is one application with a pod on every node of its groups.
type daemonSet struct {
	*DaemonSet
	spec  podSpec
	begun bool // its pods were asked for on the nodes that were there
}

// build makes the nodes, and plans when they join.
func (c *cluster) build() {
	for i := range c.scenario.Nodes {
		spec := &c.scenario.Nodes[i]
		n := &node{Node: spec, pods: map[core.AllocationKey]*pod{}}
		c.nodes[n.ID] = n
		c.order = append(c.order, n)
		c.groups[n.Group] = append(c.groups[n.Group], n)
		c.events.plan(n.Join, func() { c.join(n) })
	}
	for i := range c.scenario.DaemonSets {
		d := &daemonSet{DaemonSet: &c.scenario.DaemonSets[i]}
		d.spec = podSpec{amounts: d.Amounts, priority: d.Priority, daemon: d}
		c.daemonSets = append(c.daemonSets, d)
		if d.At > 0 {
			c.events.plan(d.At, func() { c.rollOut(d) })
		}
	}
	for i := range c.scenario.Changes {
		c.events.plan(c.scenario.Changes[i].At, func() { c.change(i) })
	}
	for i := range c.scenario.Budgets {
		c.budgets = append(c.budgets, &budget{Budget: &c.scenario.Budgets[i], down: c.books.counter()})
	}
	for i := range c.scenario.Foreign {
		f := &c.scenario.Foreign[i]
		c.events.plan(f.At, func() { c.foreignArrives(f) })
	}
	for i := range c.scenario.Incidents {
		one := &c.scenario.Incidents[i]
		random := stream(c.seed, fmt.Sprintf("incident %d", i))
		c.events.plan(one.At, func() { c.startIncident(one, random) })
	}
}

// join adds a node, and with it its daemon and foreign pods.
func (c *cluster) join(n *node) {
	if n.up {
		return
	}
	n.up, n.table = true, newDeviceTable(n.Devices)
	n.lives++
	if n.lives == 1 {
		c.tally.nodesJoined++
	} else {
		c.tally.nodesReturned++
	}
	c.books.change(c.books.nodes, 1)
	c.books.book(c.books.capacity, n.Capacity, 1)
	add := core.AddNode{ID: n.ID, Capacity: n.Capacity, Attributes: n.Attributes, Drained: n.drains > 0}
	c.rechargeForeign(n)
	if c.scenario.Faults.ForeignEarly.happens(c.faults) {
		before := len(c.inbox)
		c.foreignOf(n)
		c.tally.foreignEarly += len(c.inbox) - before
		c.send(add)
	} else {
		c.send(add)
		c.foreignOf(n)
	}
	for _, d := range c.daemonSets {
		if d.belongs(n) && (d.At == 0 || d.begun) {
			c.daemonOn(d, n)
		}
	}
}

// rollOut asks for the pods of a daemonset on all nodes that are there.
func (c *cluster) rollOut(d *daemonSet) {
	d.begun = true
	for _, n := range c.order {
		if n.up && d.belongs(n) {
			c.daemonOn(d, n)
		}
	}
}

func (d *daemonSet) belongs(n *node) bool {
	return len(d.Groups) == 0 || slices.Contains(d.Groups, n.Group)
}

func (c *cluster) daemonOn(d *daemonSet, n *node) {
	p := &pod{podSpec: &d.spec, required: n.ID, attempt: n.lives, leave: -1, runs: -1}
	p.base = core.AllocationKey(d.Name + "/" + string(n.ID))
	p.key = p.base
	if n.lives > 1 {
		p.key = core.AllocationKey(fmt.Sprintf("%s~%d", p.base, n.lives))
	}
	p.app = c.application(core.ApplicationID(d.Name), d.Queue, d.User)
	n.daemons = append(n.daemons, p)
	c.arrive(p)
}

// fail takes a node away. Its pods are lost, its foreign pods are reported as
// ended a little later.
func (c *cluster) fail(n *node) {
	n.up = false
	c.tally.nodesFailed++
	for _, p := range n.daemons {
		if p.state == waiting {
			c.cancel(p)
		}
	}
	n.daemons = nil
	for _, p := range sortedPods(n.pods) {
		c.lose(p)
	}
	c.loseForeign(n)
	c.books.change(c.books.nodes, -1)
	c.books.book(c.books.capacity, n.Capacity, -1)
	c.send(core.RemoveNode{ID: n.ID})
}

// startIncident begins an incident.
func (c *cluster) startIncident(one *Incident, random *rand.Rand) {
	var hit []string
	for _, n := range c.pick(one, random) {
		hit = append(hit, string(n.ID))
		switch one.Kind {
		case Fails:
			c.fail(n)
			if one.For > 0 {
				c.after(one.For, func() { c.rejoin(n) })
			}
		case Drains:
			c.drain(n, one.Evicts)
			if one.For > 0 {
				c.after(one.For, func() { c.undrain(n) })
			}
		}
	}
	c.recordIncident(map[IncidentKind]string{Fails: "fail", Drains: "drain"}[one.Kind], hit)
}

// recordIncident keeps an incident for the summary, together with one of the same kind at the same
// moment.
func (c *cluster) recordIncident(what string, nodes []string) {
	if len(nodes) == 0 {
		return
	}
	if last := len(c.tally.incidents) - 1; last >= 0 {
		h := &c.tally.incidents[last]
		if h.At == seconds(c.now) && h.What == what {
			h.Nodes = append(h.Nodes, nodes...)
			slices.Sort(h.Nodes)
			return
		}
	}
	slices.Sort(nodes)
	c.tally.incidents = append(c.tally.incidents, IncidentRecord{At: seconds(c.now), What: what, Nodes: nodes})
}

func (c *cluster) rejoin(n *node) {
	if !n.up {
		c.join(n)
		c.recordIncident("return", []string{string(n.ID)})
	}
}

// pick is the nodes of an incident; of a group, random ones of those that are there.
func (c *cluster) pick(one *Incident, random *rand.Rand) []*node {
	var there []*node
	if one.Group == "" {
		for _, id := range one.Nodes {
			if n := c.nodes[id]; n != nil && n.up {
				there = append(there, n)
			}
		}
		return there
	}
	for _, n := range c.groups[one.Group] {
		if n.up && n.drains == 0 {
			there = append(there, n)
		}
	}
	random.Shuffle(len(there), func(i, j int) { there[i], there[j] = there[j], there[i] })
	return there[:min(one.Count, len(there))]
}

// drain keeps new pods off a node, and may end those on it.
func (c *cluster) drain(n *node, evicts bool) {
	n.drains++
	c.tally.nodesDrained++
	c.send(core.DrainNode{ID: n.ID})
	if !evicts {
		return
	}
	for _, p := range sortedPods(n.pods) {
		if p.daemon == nil {
			c.evict(p, si.TerminationType_STOPPED_BY_RM)
		}
	}
}

func (c *cluster) undrain(n *node) {
	n.drains--
	c.tally.nodesUndrained++
	if n.drains == 0 && n.up {
		c.send(core.UndrainNode{ID: n.ID})
	}
	c.recordIncident("undrain", []string{string(n.ID)})
}
