package core

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/narwhal-scheduler/narwhal/pkg/core/order"
	"github.com/narwhal-scheduler/narwhal/pkg/core/preemptor"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// DefaultQueue is where an application goes that names no queue, if there is
// such a queue.
const DefaultQueue QueuePath = "root.default"

// Full is the path that is meant by a wish for a queue: from the root, in small
// letters; the default queue if it is empty. Whether there is such a queue is
// another matter.
func (wish QueuePath) Full() QueuePath {
	path := strings.ToLower(string(wish))
	switch {
	case path == "":
		return DefaultQueue
	case path != "root" && !strings.HasPrefix(path, "root."):
		path = "root." + path
	}
	return QueuePath(path)
}

// configure brings the partition in line with a configuration. Queues that are
// no longer in it drain, and go when nothing is left in them.
func (p *Partition) configure(config Config) {
	timeout := p.preemption.VictimTimeout
	p.tell(&Reconfigured{p.config.Root, config.Root, p.capacity.Clone()})
	p.config = config
	p.name, p.preemption = config.Name, config.Preemption.withDefaults()
	for t := range p.plans {
		p.plans[t] = p.preemption.planFor(preemptor.Trigger(t))
	}
	p.packing = config.Nodes.Packing
	p.setWeights(config.Nodes.Weights)
	if p.root == nil {
		p.root = p.newQueue(nil, &config.Root)
	}
	p.setQueue(p.root, &config.Root)
	p.flat, p.plain = p.root.flat(), p.root.plain()
	p.remeasure()
	p.resettleNodes()
	if p.preemption.VictimTimeout != timeout {
		p.timeVictims()
	}
	p.watchQuotas(p.root)
	p.reshapeAll()
	p.rouseAll()
	for n := range p.allNodes {
		if n.schedulable {
			p.shapes.offer(n) // who comes before whom may be another matter now
		}
	}
}

// reshapeAll gives every ask the shape that it has under the configuration.
func (p *Partition) reshapeAll() {
	p.applications.Ascend(func(app *application) bool {
		for _, r := range app.asks {
			if r.shape.hunts != p.wantsRoom(r) || r.standing() != p.seenFromRoot(r) {
				p.reshape(r)
			}
		}
		return true
	})
}

// flat reports whether nothing but priority counts between the queues below.
func (q *queue) flat() bool {
	return q.everywhere(func(q *queue) bool {
		return q.guaranteed.IsZero() && q.properties.PreemptionPolicy == PreemptionDefault
	}) && q.plain()
}

// plain reports whether a priority is the same seen from any queue below.
func (q *queue) plain() bool {
	return q.everywhere(func(q *queue) bool {
		return !q.properties.PriorityFence && q.properties.PriorityOffset == 0
	})
}

// everywhere reports whether something is so of a queue and of all below it.
func (q *queue) everywhere(is func(*queue) bool) bool {
	if !is(q) {
		return false
	}
	for _, child := range q.children {
		if !child.everywhere(is) {
			return false
		}
	}
	return true
}

// resettleNodes puts the nodes in order again after what decides it has changed.
func (p *Partition) resettleNodes() {
	for n := range p.allNodes {
		if n.links.In() {
			p.open.Remove(n)
		}
	}
	for n := range p.allNodes {
		p.settleNode(n)
		n.revision++
		p.disturb(n)
	}
}

// allNodes visits the nodes by ID.
func (p *Partition) allNodes(yield func(*node) bool) { p.nodes.Ascend(yield) }

// setWeights brings the weights of the kinds into the range of a score.
func (p *Partition) setWeights(weights map[string]int64) {
	if len(weights) == 0 {
		weights = map[string]int64{resources.VCore: 1, resources.Memory: 1}
	}
	var most int64
	for _, w := range weights {
		most = max(most, w)
	}
	scale := 0
	for most>>scale > weightMax {
		scale++
	}
	p.weights = nil
	for _, name := range slices.Sorted(maps.Keys(weights)) {
		kind, err := p.kinds.Intern(name)
		if err != nil || weights[name] <= 0 {
			continue
		}
		p.weights = append(p.weights, weight{kind, uint64(max(weights[name]>>scale, 1))})
	}
}

func (p *Partition) newQueue(parent *queue, config *QueueConfig) *queue {
	q := newQueue(parent, config)
	q.queues.Looked, q.apps.Looked = &p.work.Queues, &p.work.Applications
	q.learnt = &p.shapes.learnt
	return q
}

// setQueue brings a queue and what is below it in line with its configuration.
// A leaf that has applications stays a leaf.
func (p *Partition) setQueue(q *queue, config *QueueConfig) {
	q.draining = false
	q.max, q.guaranteed, q.properties = config.Max, config.Guaranteed, config.Properties
	q.exceeded = !q.used.Within(q.max)
	q.view = nil
	q.leaf = !config.Parent && len(config.Queues) == 0
	if len(q.applications) > 0 {
		q.leaf = true
	}
	if len(q.children) > 0 || q.parent == nil {
		q.leaf = false
	}
	configured := map[string]bool{}
	for i := range config.Queues {
		child := &config.Queues[i]
		if q.leaf {
			continue
		}
		configured[child.Name] = true
		if q.children[child.Name] == nil {
			q.children[child.Name] = p.newQueue(q, child)
		}
		p.setQueue(q.children[child.Name], child)
	}
	for _, child := range q.sortedChildren() {
		if !configured[child.name] {
			p.drain(child)
		}
	}
}

// drain lets what is in a queue run and takes nothing new.
func (p *Partition) drain(q *queue) {
	q.draining = true
	q.view = nil
	for _, child := range q.sortedChildren() {
		p.drain(child)
	}
	p.prune(q)
}

// prune removes a queue that drains and is empty, and then its parent if that
// is so too.
func (p *Partition) prune(q *queue) {
	for q.draining && len(q.children) == 0 && len(q.applications) == 0 && q.parent != nil {
		delete(q.parent.children, q.name)
		p.unview(q.parent)
		q = q.parent
	}
}

func (q *queue) sortedChildren() []*queue {
	return slices.SortedFunc(maps.Values(q.children), func(a, b *queue) int {
		return strings.Compare(a.name, b.name)
	})
}

func (q *queue) sortedApplications() []*application {
	return slices.SortedFunc(maps.Values(q.applications), func(a, b *application) int {
		return strings.Compare(string(a.id), string(b.id))
	})
}

// Convertible returns an error if a configuration turns a leaf that has
// applications into a parent, or a parent with other queues in it into a leaf:
// Apply would keep such a queue as it is.
func (p *Partition) Convertible(config Config) error {
	return p.root.convertible(&config.Root)
}

func (q *queue) convertible(config *QueueConfig) error {
	parent := config.Parent || len(config.Queues) > 0 || q.parent == nil
	if parent && len(q.applications) > 0 {
		return fmt.Errorf("queue %s has %d applications and cannot become a parent", q.path, len(q.applications))
	}
	if !parent && len(q.children) > 0 {
		return fmt.Errorf("queue %s has %d queues and cannot become a leaf before they are empty", q.path, len(q.children))
	}
	for i := range config.Queues {
		child, ok := q.children[config.Queues[i].Name]
		if !ok {
			continue
		}
		if err := child.convertible(&config.Queues[i]); err != nil {
			return err
		}
	}
	return nil
}

// uproot takes everything out of the orders of queues and applications, so
// that what decides them may change.
func (p *Partition) uproot(q *queue) {
	q.queues = order.Tree[*queue]{Looked: q.queues.Looked}
	q.apps = order.Tree[*application]{Looked: q.apps.Looked}
	for _, child := range q.children {
		child.links = order.Links[*queue]{}
		p.uproot(child)
	}
	for _, app := range q.applications {
		app.links = order.Links[*application]{}
	}
}

// remeasure puts everything in order again after what shares are measured
// against has changed: the size of the cluster, or the configuration.
func (p *Partition) remeasure() {
	p.sharesStale = false
	p.uproot(p.root)
	total := make(resources.Limits, p.kinds.Len())
	for i := range total {
		total[i] = p.capacity.Of(resources.Kind(i))
	}
	p.measure(p.root, total)
}

// measure works out what shares are measured against, down, and settles, up.
// A maximum overrules what is above it.
func (p *Partition) measure(q *queue, above resources.Limits) {
	q.fairMax = above.Clone()
	for i, v := range q.max {
		if v != resources.Unlimited {
			q.fairMax.Set(resources.Kind(i), v)
		}
	}
	q.view = nil
	for _, child := range q.sortedChildren() {
		p.measure(child, q.fairMax)
	}
	for _, app := range q.sortedApplications() {
		app.settle()
	}
	p.readmitAt(q)
	q.settle()
}

// unview drops the views of a queue and of those above it.
func (p *Partition) unview(q *queue) {
	for ; q != nil; q = q.parent {
		q.view = nil
	}
}

// leafFor finds the leaf queue that an application asks for: a full path, or
// one below root, in any case; the default queue if it names none.
func (p *Partition) leafFor(wish QueuePath) (*queue, error) {
	path := wish.Full()
	q := p.root
	for _, name := range strings.Split(string(path), ".")[1:] {
		child := q.children[name]
		if child == nil && wish == "" {
			return nil, fmt.Errorf("names no queue, and there is no queue %s", DefaultQueue)
		}
		if child == nil {
			return nil, fmt.Errorf("queue %s does not exist: there is no %q in %s", path, name, q.path)
		}
		q = child
	}
	if !q.leaf {
		return nil, fmt.Errorf("queue %s is not a leaf", q.path)
	}
	return q, nil
}
