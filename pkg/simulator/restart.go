package simulator

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/outcomes"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// restart has the scheduler begin anew, with a clock that stands earlier. Messages on their way
// are lost, and it is told again what there is: nodes, applications, what runs, what waits.
func (c *cluster) restart(back time.Duration) {
	c.inbox = nil
	c.ahead -= back
	c.anew()
	c.outcomes = outcomes.Book{}
	c.preemption.step.clear()
	c.foreign.forgetGone()
	for _, n := range c.nodes.order {
		if n.up {
			c.send(n.command())
			for _, f := range n.foreign {
				c.foreign.announce(f)
			}
		}
	}
	runs, waits := c.pods.known(c.nodes)
	c.applications.tellAgain(runs, waits)
	for _, p := range runs {
		c.pods.tell(p, p.on)
		if c.adopts {
			c.pods.charge(p)
		}
	}
	for _, p := range waits {
		c.pods.tell(p, "")
		c.pods.unnominate(p)
	}
}

// known are the pods that the resource manager tells of again, those with a node and those without.
// What the core had booked is booked anew when it adopts it. Pods that have ended, which it was
// never told, it does not hear of again.
func (ps *pods) known(on *nodes) (runs, waits []*pod) {
	for _, p := range sortedPods(ps.byKey) {
		switch {
		case p.state == waiting:
			waits = append(waits, p)
		case p.state == over && (p.silent || !on.byID[p.on].up):
			ps.discharge(p)
		default:
			if p.charged { // otherwise it restarts before it heard of that
				p.charged = false
				ps.books.charge(p.app.queue, p.amounts, -1)
			}
			runs = append(runs, p)
		}
	}
	return runs, waits
}

// adopted takes in that the core has booked a pod which runs, as it was told at a restart.
func (c *cluster) adopted(a *api.Allocation) {
	p := c.pods.byKey[a.Key]
	if left := p == nil || p.unbound && p.state == waiting; left && len(c.inbox) > 0 {
		return // its release follows
	}
	if p == nil || p.charged || p.state == waiting || p.on != a.Node {
		c.breach("pod %s was adopted on %s and was not reported there", a.Key, a.Node)
		return
	}
	c.pods.charge(p)
}

// tell reports a pod that was there before, with its node if it has one.
func (ps *pods) tell(p *pod, node api.NodeID) {
	a := ps.allocation(p)
	a.Node = node
	tags := map[string]string{}
	if node != "" && (p.releasing || p.state == over) {
		tags[api.TagTerminating] = "true"
	}
	if node == "" && p.nominated != "" {
		tags[api.TagNominatedNode] = string(p.nominated)
	}
	if len(tags) > 0 {
		maps.Copy(tags, a.Tags)
		a.Tags = tags
	}
	ps.report(a)
}

// tellAgain registers the applications of some pods. Others are registered when their next pod comes.
func (as *applications) tellAgain(runs, waits []*pod) {
	placed, holds := map[*application]bool{}, map[*application]resources.Amounts{}
	for _, app := range as.byID {
		app.known = false
	}
	for _, p := range slices.Concat(runs, waits) {
		p.app.known = true
		placed[p.app] = placed[p.app] || p.on != "" && p.state != waiting
		if p.placeholder && p.state != over {
			holds[p.app] = holds[p.app].Plus(p.amounts)
		}
	}
	list := slices.SortedFunc(maps.Values(as.byID), func(a, b *application) int {
		return cmp.Or(cmp.Compare(a.created, b.created), cmp.Compare(a.id, b.id))
	})
	for _, app := range list {
		if !app.known {
			continue
		}
		command := app.command
		if left := holds[app]; left != nil {
			command = app.gathers
			if app.gang == nil {
				command.Placeholders = left // the others have made way
			}
		}
		app.runs = placed[app]
		command.Forced, command.Created = app.runs, epoch.Add(app.created)
		as.send(command)
		as.tellDone(app)
	}
}

// tellDone reports the members of a group that had succeeded, and that the core has not booked, if it knows the application.
func (as *applications) tellDone(app *application) {
	if !app.known {
		return
	}
	for _, p := range app.done {
		if p.charged {
			continue
		}
		tags := maps.Clone(p.tags)
		tags[api.TagQuorumDone] = "true"
		as.send(api.AddAllocation{Allocation: &api.Allocation{Key: p.key, Application: app.id, Amounts: p.amounts, Tags: tags}})
	}
}

// forgetGone takes foreign pods off the books that have ended, which the core was not told yet.
func (fs *foreignPods) forgetGone() {
	for _, key := range slices.Sorted(maps.Keys(fs.byKey)) {
		if p := fs.byKey[key]; p.gone {
			fs.forget(p)
		}
	}
}
