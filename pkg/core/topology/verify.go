package topology

import (
	"strings"

	"github.com/narwhal-scheduler/narwhal/pkg/core/laws"
	"github.com/narwhal-scheduler/narwhal/pkg/core/ledger"
)

// Verify checks that each node is in the domains that its attributes name, and that sums are those of the nodes. It is for moments at which all changes of nodes were taken in.
func (t *Topology) Verify(v *laws.Check) {
	if !t.Active {
		return
	}
	known := 0
	for n := range t.nodes {
		known++
		t.verifyNode(v, n)
	}
	for _, p := range t.places {
		if p != nil {
			known--
		}
	}
	if known != 0 {
		v.Breaks("%d nodes more are there than the topology knows", known)
	}
	for _, tree := range t.trees {
		for depth := range tree.keys {
			for d := range (&Level{of: t, tree: tree.at, depth: depth}).Domains {
				t.verifyDomain(v, d)
			}
		}
	}
	for _, s := range t.slots {
		t.update(s)
		var all int64
		for _, p := range t.places {
			if p != nil {
				all += s.on(p.node.Slot)
			}
		}
		if all != s.all {
			v.Breaks("%d asks of %v fit on all nodes, and %d are counted", all, s.amounts, s.all)
		}
	}
}

func (t *Topology) verifyNode(v *laws.Check, n *ledger.Node) {
	p := t.placeOf(n)
	if p == nil {
		v.Breaks("node %s is not known to the topology", n.ID)
		return
	}
	for i, in := range t.trees {
		var values []string
		for _, key := range in.keys {
			if n.Attributes[key] == "" {
				break
			}
			values = append(values, n.Attributes[key])
		}
		is := ""
		if d := p.seats[i].domain; d != nil {
			is = d.Name
		}
		if want := strings.Join(values, "/"); is != want {
			v.Breaks("node %s is in domain %q of %v, and its attributes say %q", n.ID, is, in.keys, want)
		}
	}
	if is := usageOf(n, t.used(n)); is != p.is {
		v.Breaks("node %s adds %v to its domains, and %v is counted", n.ID, is, p.is)
	}
	for _, s := range t.slots {
		t.update(s)
		var fit int64
		if n.Schedulable {
			fit = min(s.amounts.TimesIn(n.RoomFor(s.importance)), nodeMax)
		}
		if fit != s.On(n) {
			v.Breaks("%d asks of %v fit on node %s, and %d are counted", fit, s.amounts, n.ID, s.On(n))
		}
	}
}

// verifyDomain checks the sums of a domain.
func (t *Topology) verifyDomain(v *laws.Check, d *Domain) {
	var is Domain
	slots := map[*Slots]int64{}
	for n := range d.AllNodes {
		p := t.placeOf(n)
		is.Nodes++
		is.Open, is.Busy, is.share = is.Open+p.is.open, is.Busy+p.is.busy, is.share+p.is.share
		for _, s := range t.slots {
			slots[s] += s.On(n)
		}
	}
	if is.Nodes == 0 || is.Nodes != d.Nodes || is.Open != d.Open || is.Busy != d.Busy || is.share != d.share {
		v.Breaks("domain %s has %d nodes, %d open, %d busy, and counts %d, %d, %d", d.Name, is.Nodes, is.Open, is.Busy, d.Nodes, d.Open, d.Busy)
	}
	for _, s := range t.slots {
		if slots[s] != s.In(d) {
			v.Breaks("%d asks of %v fit in domain %s, and %d are counted", slots[s], s.amounts, d.Name, s.In(d))
		}
	}
}
