package simulator

import (
	"errors"
	"math/rand/v2"
	"slices"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
)

// A node as the resource manager sees it.
type node struct {
	*Node
	up      bool
	lives   int // how often it joined
	drains  int // how many drains are in effect
	refuses int // how many times the resource manager refuses all pods here
	table   deviceTable
	pods    map[api.AllocationKey]*pod
	daemons []*pod
	foreign []*foreignPod // as reported to the core
}

// command is what the core is told of the node.
func (n *node) command() api.AddNode {
	return api.AddNode{ID: n.ID, Capacity: n.Capacity, Attributes: n.Attributes, Drained: n.drains > 0}
}

// check says why a pod cannot run on the node beyond the amounts, or nil.
func (n *node) check(w *wants) error {
	if err := n.never(w); err != nil {
		return err
	}
	return n.table.check(w)
}

// errRefuses is an answer that changes without a word: the core may know an older one.
var errRefuses = errors.New("the node takes no pods for now")

// answer is check, or that the resource manager refuses all pods on the node.
func (n *node) answer(w *wants) error {
	if n.refuses > 0 {
		return errRefuses
	}
	return n.check(w)
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

// in reports whether the node is of one of some groups; no groups are all.
func (n *node) in(groups []string) bool {
	return len(groups) == 0 || slices.Contains(groups, n.Group)
}

// keyOf names the pod that the node has of a daemonset or a foreign workload, anew
// each time the node joins.
func (n *node) keyOf(workload string) api.AllocationKey {
	return attemptKey(api.AllocationKey(workload+"/"+string(n.ID)), n.lives)
}

// A daemonSet is one application with a pod on every node of its groups.
type daemonSet struct {
	*DaemonSet
	spec  podSpec
	begun bool // its pods were asked for on the nodes that were there
}

// nodes are all of a scenario, with its daemonsets.
type nodes struct {
	*simulation
	pods       *pods
	foreign    *foreignPods
	byID       map[api.NodeID]*node
	groups     map[string][]*node // in the order of the scenario
	order      []*node
	daemonSets []*daemonSet
}

// add makes a node of the scenario, which is not there yet.
func (ns *nodes) add(spec *Node) *node {
	n := &node{Node: spec, pods: map[api.AllocationKey]*pod{}}
	ns.byID[n.ID] = n
	ns.order = append(ns.order, n)
	ns.groups[n.Group] = append(ns.groups[n.Group], n)
	return n
}

// addDaemonSet makes a daemonset of the scenario, which has no pods yet.
func (ns *nodes) addDaemonSet(spec *DaemonSet) *daemonSet {
	d := &daemonSet{DaemonSet: spec}
	d.spec = podSpec{amounts: d.Amounts, priority: d.Priority, daemon: d}
	ns.daemonSets = append(ns.daemonSets, d)
	return d
}

// join adds a node, and with it its daemon and foreign pods.
func (ns *nodes) join(n *node) {
	if n.up {
		return
	}
	n.up, n.table = true, newDeviceTable(n.Devices)
	n.lives++
	if n.lives == 1 {
		ns.counts.nodesJoined++
	} else {
		ns.counts.nodesReturned++
	}
	ns.books.change(ns.books.nodes, 1)
	ns.books.book(ns.books.capacity, n.Capacity, 1)
	add := n.command()
	ns.foreign.recharge(n)
	if ns.happens(ns.scenario.Faults.ForeignEarly) {
		before := len(ns.inbox)
		ns.foreign.reportOn(n)
		ns.counts.foreignEarly += len(ns.inbox) - before
		ns.send(add)
	} else {
		ns.send(add)
		ns.foreign.reportOn(n)
	}
	for _, d := range ns.daemonSets {
		if n.in(d.Groups) && (d.At == 0 || d.begun) {
			ns.daemonOn(d, n)
		}
	}
}

// rollOut asks for the pods of a daemonset on all nodes that are there.
func (ns *nodes) rollOut(d *daemonSet) {
	d.begun = true
	for _, n := range ns.order {
		if n.up && n.in(d.Groups) {
			ns.daemonOn(d, n)
		}
	}
}

func (ns *nodes) daemonOn(d *daemonSet, n *node) {
	p := &pod{podSpec: &d.spec, required: n.ID, attempt: n.lives, leave: -1, runs: -1}
	p.key = n.keyOf(d.Name)
	p.app = ns.pods.applications.register(newApplication(api.ApplicationID(d.Name), d.Queue, d.User, nil))
	n.daemons = append(n.daemons, p)
	ns.pods.arrive(p)
}

// fail takes a node away. Its pods are lost, its foreign pods are reported as
// ended a little later.
func (ns *nodes) fail(n *node) {
	n.up = false
	ns.counts.nodesFailed++
	for _, p := range n.daemons {
		if p.state == waiting {
			ns.pods.cancel(p)
		}
	}
	n.daemons = nil
	for _, p := range sortedPods(n.pods) {
		ns.pods.lose(p)
	}
	ns.foreign.lose(n)
	ns.books.change(ns.books.nodes, -1)
	ns.books.book(ns.books.capacity, n.Capacity, -1)
	ns.send(api.RemoveNode{ID: n.ID})
}

// startIncident begins an incident.
func (c *cluster) startIncident(one *Incident, random *rand.Rand) {
	switch one.Kind {
	case Restarts:
		c.restart(one.Back)
	case Jumps:
		c.ahead += one.By
	case Fails, Drains, Refuses:
		c.nodes.startIncident(one, random)
		return
	}
	c.counts.incidents = append(c.counts.incidents, IncidentRecord{At: seconds(c.now), What: one.Kind.String(), Detail: one.clock()})
}

// clock says what happens to the clock of the scheduler; empty for nothing.
func (one *Incident) clock() string {
	switch {
	case one.By > 0:
		return Clock(one.By) + " ahead"
	case one.Back > 0:
		return Clock(one.Back) + " back"
	}
	return ""
}

// startIncident begins an incident of nodes.
func (ns *nodes) startIncident(one *Incident, random *rand.Rand) {
	var hit []string
	for _, n := range ns.pick(one, random) {
		hit = append(hit, string(n.ID))
		switch one.Kind {
		case Fails:
			ns.fail(n)
			if one.For > 0 {
				ns.after(one.For, func() { ns.rejoin(n) })
			}
		case Drains:
			ns.drain(n, one.Evicts)
			if one.For > 0 {
				ns.after(one.For, func() { ns.undrain(n) })
			}
		case Refuses:
			n.refuses++
			if one.For > 0 {
				ns.after(one.For, func() { n.refuses-- })
			}
		case Restarts, Jumps: // not on nodes
		}
	}
	ns.record(one.Kind.String(), hit)
}

// record keeps an incident for the summary, together with one of the same kind at the
// same moment.
func (ns *nodes) record(what string, nodes []string) {
	if len(nodes) == 0 {
		return
	}
	if last := len(ns.counts.incidents) - 1; last >= 0 {
		h := &ns.counts.incidents[last]
		if h.At == seconds(ns.now) && h.What == what {
			h.Nodes = append(h.Nodes, nodes...)
			slices.Sort(h.Nodes)
			return
		}
	}
	slices.Sort(nodes)
	ns.counts.incidents = append(ns.counts.incidents, IncidentRecord{At: seconds(ns.now), What: what, Nodes: nodes})
}

func (ns *nodes) rejoin(n *node) {
	if !n.up {
		ns.join(n)
		ns.record("return", []string{string(n.ID)})
	}
}

// pick is the nodes of an incident; of a group, random ones of those that are there.
func (ns *nodes) pick(one *Incident, random *rand.Rand) []*node {
	var there []*node
	if one.Group == "" {
		for _, id := range one.Nodes {
			if n := ns.byID[id]; n != nil && n.up {
				there = append(there, n)
			}
		}
		return there
	}
	for _, n := range ns.groups[one.Group] {
		if n.up && n.drains == 0 {
			there = append(there, n)
		}
	}
	random.Shuffle(len(there), func(i, j int) { there[i], there[j] = there[j], there[i] })
	return there[:min(one.Count, len(there))]
}

// drain keeps new pods off a node, and may end those on it.
func (ns *nodes) drain(n *node, evicts bool) {
	n.drains++
	ns.counts.nodesDrained++
	ns.send(api.DrainNode{ID: n.ID})
	if !evicts {
		return
	}
	for _, p := range sortedPods(n.pods) {
		if p.daemon == nil {
			ns.pods.evict(p, si.TerminationType_STOPPED_BY_RM)
		}
	}
}

func (ns *nodes) undrain(n *node) {
	n.drains--
	ns.counts.nodesUndrained++
	if n.drains == 0 && n.up {
		ns.send(api.UndrainNode{ID: n.ID})
	}
	ns.record("undrain", []string{string(n.ID)})
}
