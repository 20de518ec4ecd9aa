package simulator

import (
	"fmt"
	"slices"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// A foreignPod is a pod of another scheduler on a node. It has ended a while
// before the core learns of it, and counts until then if its node is there.
type foreignPod struct {
	*Foreign
	key       api.AllocationKey
	amounts   resources.Amounts
	node      *node
	gone      bool
	releasing bool // evicted, and counted still
}

// foreignPods are those that were reported and not released.
type foreignPods struct {
	*simulation
	byKey map[api.AllocationKey]*foreignPod
}

// arrive reports the foreign pods of a group on those of the nodes that are there
// and have none yet.
func (fs *foreignPods) arrive(f *Foreign, nodes []*node) {
	var there []*node
	for _, n := range nodes {
		if n.up && n.in(f.Groups) {
			there = append(there, n)
		}
	}
	if f.Count == 0 {
		for _, n := range there {
			if !slices.ContainsFunc(n.foreign, func(p *foreignPod) bool { return p.Foreign == f }) {
				fs.add(f, n, n.keyOf(f.Name))
			}
		}
		return
	}
	random := stream(fs.seed, "foreign "+f.Name)
	for i := range f.Count {
		if len(there) > 0 {
			n := there[random.IntN(len(there))]
			fs.add(f, n, api.AllocationKey(fmt.Sprintf("%s/%d", f.Name, i+1)))
		}
	}
}

// reportOn reports the foreign pods that every node has, for one that joins.
func (fs *foreignPods) reportOn(n *node) {
	for i := range fs.scenario.Foreign {
		f := &fs.scenario.Foreign[i]
		if f.Count == 0 && f.At <= fs.now && n.in(f.Groups) {
			fs.add(f, n, n.keyOf(f.Name))
		}
	}
}

func (fs *foreignPods) add(f *Foreign, n *node, key api.AllocationKey) {
	p := &foreignPod{Foreign: f, key: key, amounts: f.Amounts, node: n}
	fs.byKey[key] = p
	n.foreign = append(n.foreign, p)
	fs.counts.foreignReported++
	if f.Static {
		fs.counts.foreignStatic++
	}
	fs.books.book(fs.books.occupied, p.amounts, 1)
	fs.announce(p)
	for _, r := range f.Resizes {
		fs.after(r.After, func() { fs.resize(p, r.Amounts) })
	}
	if runs, ends := f.Runs.draw(fs.delays); ends {
		fs.after(runs, func() { fs.end(p) })
	}
}

func (fs *foreignPods) announce(p *foreignPod) {
	origin := api.Foreign
	if p.Static {
		origin = api.Static
	}
	fs.report(&api.Allocation{
		Key:     p.key,
		Node:    p.node.ID,
		Amounts: p.amounts,
		Created: fs.time(),
		Origin:  origin,
	})
}

func (fs *foreignPods) resize(p *foreignPod, amounts resources.Amounts) {
	if p.gone {
		return
	}
	fs.counts.foreignResized++
	fs.books.book(fs.books.occupied, p.amounts, -1)
	fs.books.book(fs.books.occupied, amounts, 1)
	p.amounts = amounts
	fs.announce(p)
}

func (fs *foreignPods) end(p *foreignPod) {
	if !p.gone {
		p.gone = true
		fs.counts.foreignEnded++
		fs.release(p)
	}
}

// lose is what happens to the foreign pods of a node that vanishes: they are reported
// as gone a little later.
func (fs *foreignPods) lose(n *node) {
	for _, p := range n.foreign {
		fs.books.book(fs.books.occupied, p.amounts, -1)
		fs.endEviction(p)
		if !p.gone {
			p.gone = true
			fs.counts.foreignLost++
			fs.after(fs.pause(fs.scenario.Delays.Stop), func() { fs.release(p) })
		}
	}
}

// recharge is what happens to foreign pods whose node returns before their release
// was reported: the core charges them again.
func (fs *foreignPods) recharge(n *node) {
	for _, p := range n.foreign {
		fs.books.book(fs.books.occupied, p.amounts, 1)
	}
}

// release releases a foreign pod, perhaps once more.
func (fs *foreignPods) release(p *foreignPod) {
	if fs.byKey[p.key] == p {
		fs.forget(p)
	}
	fs.send(api.ReleaseAllocation{Key: p.key, Termination: si.TerminationType_STOPPED_BY_RM})
}

// forget takes a foreign pod off the books.
func (fs *foreignPods) forget(p *foreignPod) {
	delete(fs.byKey, p.key)
	p.node.foreign = slices.DeleteFunc(p.node.foreign, func(other *foreignPod) bool { return other == p })
	if p.node.up {
		fs.books.book(fs.books.occupied, p.amounts, -1)
	}
	fs.endEviction(p)
}

// endEviction ends the eviction of a foreign pod.
func (fs *foreignPods) endEviction(p *foreignPod) {
	if p.releasing {
		p.releasing = false
		fs.books.change(fs.books.releasing, -1)
	}
}
