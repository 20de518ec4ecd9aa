package utilization

import (
	"cmp"
	"slices"

	v1 "k8s.io/api/core/v1"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/framework"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/plugins/eviction"
)

// A cluster has the accounts of the nodes that a plugin works with.
type cluster struct {
	run        *eviction.Run
	dimensions []dimension
	named      []int // indices of the dimensions that have thresholds
	accounts   []*account
	byName     map[string]*account
	// amounts is what a pod uses; false where that is unknown.
	amounts func(pod *v1.Pod) ([]int64, bool)
	rooms   *rooms       // nodes that may get pods
	sums    []Percentage // of shares, see sumUp
	among   int64        // of so many nodes
}

// tracked are the resources with thresholds, and with others those that pods always
// need.
func tracked(names []v1.ResourceName, others bool) (dimensions []dimension, named []int) {
	for i, name := range names {
		dimensions, named = append(dimensions, dimension{name: name}), append(named, i)
	}
	for _, name := range []v1.ResourceName{v1.ResourceCPU, v1.ResourceMemory, v1.ResourcePods} {
		if others && !slices.Contains(names, name) {
			dimensions = append(dimensions, dimension{name: name})
		}
	}
	return dimensions, named
}

// newCluster makes accounts in which nothing is used.
func newCluster(run *eviction.Run, nodes []*v1.Node, dimensions []dimension, named []int) *cluster {
	c := &cluster{run: run, dimensions: dimensions, named: named, byName: make(map[string]*account, len(nodes))}
	run.Alike = func(a, b *v1.Pod) bool {
		one, known := c.amounts(a)
		one = slices.Clone(one)
		two, too := c.amounts(b)
		return known && too && slices.Equal(one, two)
	}
	for _, node := range nodes {
		a := &account{node: node, known: true, all: make([]int64, len(dimensions)), used: make([]int64, len(dimensions))}
		for i, d := range dimensions {
			a.all[i] = allOf(node, d.name)
		}
		c.accounts = append(c.accounts, a)
		c.byName[node.Name] = a
	}
	return c
}

// byRequests fills accounts with what pods request.
func (c *cluster) byRequests() {
	scratch := v1.ResourceList{}
	c.amounts = func(pod *v1.Pod) ([]int64, bool) { return requestsOf(pod, c.dimensions, scratch), true }
	for _, a := range c.accounts {
		for _, pod := range c.run.PodsOn(a.node.Name) {
			if !eviction.Ended(pod) {
				amounts, _ := c.amounts(pod)
				a.add(amounts, 1)
			}
		}
	}
}

func (a *account) add(amounts []int64, sign int64) {
	for i, amount := range amounts {
		a.used[i] += sign * amount
	}
}

// same is one threshold for all dimensions.
func (c *cluster) same(p Percentage) []Percentage {
	all := make([]Percentage, len(c.dimensions))
	for i := range all {
		all[i] = p
	}
	return all
}

// thresholds puts percentages in the order of the dimensions; those without have all.
func (c *cluster) thresholds(t Thresholds) []Percentage {
	all := c.same(full)
	for _, i := range c.named {
		all[i] = t[c.dimensions[i].name]
	}
	return all
}

// sumUp sums up, over the nodes that are known, what part is used. A move changes the sums
// and looks at its two nodes only.
func (c *cluster) sumUp() {
	c.sums, c.among = make([]Percentage, len(c.dimensions)), 0
	for _, a := range c.accounts {
		if a.known {
			c.among++
			c.sum(a, 1)
		}
	}
}

// sum adds the shares of a node to the sums, or takes them away.
func (c *cluster) sum(a *account, sign Percentage) {
	for i := range c.sums {
		c.sums[i] += sign * shareOf(a.used[i], a.all[i], false)
	}
}

// book changes what a node uses.
func (c *cluster) book(a *account, amounts []int64, sign int64) {
	if a.known {
		c.sum(a, -1)
		defer c.sum(a, 1)
	}
	a.add(amounts, sign)
}

// around are thresholds at a distance from a mean.
func (c *cluster) around(sums []Percentage, nodes int64, distance Thresholds, sign Percentage) []Percentage {
	all := c.same(full)
	for _, i := range c.named {
		mean := sums[i] / Percentage(max(nodes, 1))
		all[i] = max(0, min(full, mean+sign*distance[c.dimensions[i].name]))
	}
	return all
}

// equally weighs the dimensions that have thresholds.
func (c *cluster) equally() []int64 {
	weights := make([]int64, len(c.dimensions))
	for _, i := range c.named {
		weights[i] = 1
	}
	return weights
}

// byTotal orders accounts by what they use, the most first, or the least.
func byTotal(accounts []*account, weights []int64, mostFirst bool) {
	slices.SortFunc(accounts, func(a, b *account) int {
		c := cmp.Compare(a.total(weights), b.total(weights))
		if mostFirst {
			c = -c
		}
		return cmp.Or(c, cmp.Compare(a.node.Name, b.node.Name))
	})
}

// removable are the pods of a node that may be evicted, in the order of the profile.
func (c *cluster) removable(handle framework.Handle, a *account, selected func(*v1.Pod) bool) []*v1.Pod {
	pods := slices.DeleteFunc(c.run.PodsOn(a.node.Name), func(pod *v1.Pod) bool {
		return eviction.Ended(pod) || !selected(pod) || !c.run.Removable(pod)
	})
	return eviction.Sorted(handle, pods)
}

// A mover has a pod evicted where accept agrees with the node that gets it: a method of eviction.Run.
type mover func(pod *v1.Pod, reason string, accept func(node string) error) bool

// inTurn gives pods away: first those of which it is certain where they go, then those that go to one of several nodes. By chance
// these may take the place that one more needs.
func (c *cluster) inTurn(pods []*v1.Pod, give func(by mover, pods []*v1.Pod)) {
	var open []*v1.Pod
	give(func(pod *v1.Pod, reason string, accept func(string) error) bool {
		moved, may := c.run.MoveSurely(pod, reason, accept)
		if may {
			open = append(open, pod)
		}
		return moved
	}, pods)
	give(c.run.Move, open)
}

// move has a pod evicted where accept agrees with the account of the node that gets it,
// and books that.
func (c *cluster) move(by mover, pod *v1.Pod, amounts []int64, reason string, accept func(to *account) error) bool {
	var to *account
	moved := by(pod, reason, func(landing string) error {
		to = c.byName[landing]
		if to == nil || !to.known {
			return errUnknown
		}
		return accept(to)
	})
	if !moved {
		return false
	}
	from := c.byName[pod.Spec.NodeName]
	c.book(from, amounts, -1)
	from.evicted++
	if to != nil {
		c.book(to, amounts, 1)
		to.received++
		c.rooms.update(to)
	}
	return true
}

// staysNear says whether no node that has got pods is above the thresholds that a move
// leads to, and returns the greatest shares of such nodes with it. A move changes the
// mean and with it the thresholds; a node above them would have to give pods away in the
// next cycle.
func (c *cluster) staysNear(from, to *account, amounts []int64, peaks []Percentage,
	high func(sums []Percentage, nodes int64) []Percentage,
) ([]Percentage, bool) {
	c.book(from, amounts, -1)
	c.book(to, amounts, 1)
	limits := high(c.sums, c.among)
	next := make([]Percentage, len(c.dimensions))
	copy(next, peaks)
	near := true
	for _, i := range c.named {
		next[i] = max(next[i], shareOf(to.used[i], to.all[i], true))
		near = near && next[i] <= limits[i]
	}
	c.book(from, amounts, 1)
	c.book(to, amounts, -1)
	return next, near
}
