package core_test

import (
	"slices"
	"strings"

	"github.com/narwhal-scheduler/narwhal/pkg/core"
	"github.com/narwhal-scheduler/narwhal/pkg/core/preemptor"
)

// reduceTorture leaves out what a failure of this class does not need. It tries
// every smaller world again until none of them fails in the same way.
func reduceTorture(w *tortureWorld, class string) *tortureWorld {
	for {
		list := w.smaller()
		i := slices.IndexFunc(list, func(c *tortureWorld) bool { return c.fails(class) })
		if i < 0 {
			return w
		}
		w = list[i]
	}
}

func (w *tortureWorld) fails(class string) bool {
	failures, _ := tortureFailures(w, nil)
	return slices.ContainsFunc(failures, func(f tortureFailure) bool { return f.class() == class })
}

// smaller are worlds with one thing less, the largest things first.
func (w *tortureWorld) smaller() (list []*tortureWorld) {
	without := func(change func(c *tortureWorld)) {
		c := w.clone()
		change(c)
		c.clean()
		list = append(list, c)
	}
	for i := range w.Nodes {
		without(func(c *tortureWorld) { c.Nodes = slices.Delete(c.Nodes, i, i+1) })
	}
	for i := range w.Pods {
		without(func(c *tortureWorld) { c.Pods = slices.Delete(c.Pods, i, i+1) })
	}
	for i := range w.Rules {
		without(func(c *tortureWorld) { c.Rules = slices.Delete(c.Rules, i, i+1) })
	}
	for i := range w.Budgets {
		without(func(c *tortureWorld) { c.Budgets = slices.Delete(c.Budgets, i, i+1) })
		for j := range w.Budgets[i].Members {
			without(func(c *tortureWorld) { c.Budgets[i].Members = slices.Delete(c.Budgets[i].Members, j, j+1) })
		}
	}
	for i := range w.Limits {
		without(func(c *tortureWorld) { c.Limits = slices.Delete(c.Limits, i, i+1) })
	}
	if w.Lowered.Queue != "" {
		without(func(c *tortureWorld) { c.Lowered = tortureLowered{} })
	}
	for i := range w.Queues {
		if w.leaf(w.Queues[i].Name) {
			without(func(c *tortureWorld) { c.Queues = slices.Delete(c.Queues, i, i+1) })
		}
	}
	for i := range w.Queues {
		list = append(list, w.lifted(w.Queues[i].Name)...)
	}
	return append(list, w.plainer()...)
}

// plainer are worlds with smaller numbers.
func (w *tortureWorld) plainer() (list []*tortureWorld) {
	lower := func(of func(c *tortureWorld) *int) {
		if *of(w) == 0 {
			return
		}
		for _, less := range []int{0, *of(w) / 2, *of(w) - 1} {
			if c := w.clone(); less >= 0 && less < *of(c) || *of(c) < 0 && less == 0 {
				*of(c) = less
				list = append(list, c)
			}
		}
	}
	flag := func(of func(c *tortureWorld) *bool) {
		if c := w.clone(); *of(c) {
			*of(c) = false
			list = append(list, c)
		}
	}
	flag(func(c *tortureWorld) *bool { return &c.Reserve })
	flag(func(c *tortureWorld) *bool { return &c.Recreate })
	flag(func(c *tortureWorld) *bool { return &c.Dynamic })
	flag(func(c *tortureWorld) *bool { return &c.Denied })
	flag(func(c *tortureWorld) *bool { return &c.Whole })
	flag(func(c *tortureWorld) *bool { return &c.Impatient })
	flag(func(c *tortureWorld) *bool { return &c.Devices })
	flag(func(c *tortureWorld) *bool { return &c.KeepsForeign })
	lower(func(c *tortureWorld) *int { return &c.Backoff })
	list = append(list, w.settings()...)
	for i := range w.Queues {
		flag(func(c *tortureWorld) *bool { return &c.Queues[i].Fence })
		lower(func(c *tortureWorld) *int { return &c.Queues[i].Offset })
	}
	for i := range w.Pods {
		flag(func(c *tortureWorld) *bool { return &c.Pods[i].Owner })
		flag(func(c *tortureWorld) *bool { return &c.Pods[i].OptedOut })
		flag(func(c *tortureWorld) *bool { return &c.Pods[i].Polite })
		flag(func(c *tortureWorld) *bool { return &c.Pods[i].Placeholder })
		for _, of := range []func(p *torturePod) *string{
			func(p *torturePod) *string { return &p.User }, func(p *torturePod) *string { return &p.Quorum }, func(p *torturePod) *string { return &p.Group },
		} {
			if c := w.clone(); *of(&c.Pods[i]) != "" {
				*of(&c.Pods[i]) = ""
				list = append(list, c)
			}
		}
		flag(func(c *tortureWorld) *bool { return &c.Pods[i].Required })
		for _, of := range []func(p *torturePod) *int{
			func(p *torturePod) *int { return &p.At }, func(p *torturePod) *int { return &p.Grace },
			func(p *torturePod) *int { return &p.Age }, func(p *torturePod) *int { return &p.Ends }, func(p *torturePod) *int { return &p.Priority },
		} {
			lower(func(c *tortureWorld) *int { return of(&c.Pods[i]) })
		}
	}
	for k := range tortureNames {
		for i := range w.Nodes {
			lower(func(c *tortureWorld) *int { return &c.Nodes[i].Capacity[k] })
		}
		for i := range w.Pods {
			lower(func(c *tortureWorld) *int { return &c.Pods[i].Amounts[k] })
		}
		for i := range w.Queues {
			lower(func(c *tortureWorld) *int { return &c.Queues[i].Guaranteed[k] })
			lower(func(c *tortureWorld) *int { return &c.Queues[i].Max[k] })
		}
	}
	return slices.DeleteFunc(list, func(c *tortureWorld) bool { return !c.valid() })
}

// settings are worlds with one setting at its default.
func (w *tortureWorld) settings() (list []*tortureWorld) {
	if c := w.clone(); c.Policy != preemptor.PreferBudgets {
		c.Policy = preemptor.PreferBudgets
		list = append(list, c)
	}
	if c := w.clone(); c.Priority != core.StrictlyLower {
		c.Priority = core.StrictlyLower
		list = append(list, c)
	}
	for i := range w.Queues {
		if c := w.clone(); c.Queues[i].Policy != core.PreemptionDefault {
			c.Queues[i].Policy = core.PreemptionDefault
			list = append(list, c)
		}
	}
	for i := range w.Pods {
		if c := w.clone(); c.Pods[i].Foreign != core.Own {
			c.Pods[i].Foreign, c.Pods[i].Queue = core.Own, w.firstLeaf()
			list = append(list, c)
		}
	}
	return list
}

func (w *tortureWorld) firstLeaf() string {
	for _, q := range w.Queues {
		if w.leaf(q.Name) {
			return q.Name
		}
	}
	return ""
}

// lifted is the world in which what is below a queue is one leaf, or in which the queue
// has its place among those of its parent.
func (w *tortureWorld) lifted(name string) (list []*tortureWorld) {
	if !w.leaf(name) {
		c := w.clone()
		c.Queues = slices.DeleteFunc(c.Queues, func(q tortureQueue) bool { return q.Name != name && tortureWithin(q.Name, name) })
		for i := range c.Pods {
			if tortureWithin(c.Pods[i].Queue, name) {
				c.Pods[i].Queue = name
			}
		}
		c.clean()
		list = append(list, c)
	}
	if tortureParent(name) == "" && w.leaf(name) {
		for _, q := range w.Queues {
			if q.Name == name || !w.leaf(q.Name) {
				continue
			}
			c := w.clone()
			for i := range c.Pods {
				if c.Pods[i].Queue == name {
					c.Pods[i].Queue = q.Name
				}
			}
			c.Queues = slices.DeleteFunc(c.Queues, func(q tortureQueue) bool { return q.Name == name })
			c.clean()
			list = append(list, c)
		}
	}
	return list
}

// clean leaves out what is of pods, queues and nodes that are gone.
func (w *tortureWorld) clean() {
	w.Pods = slices.DeleteFunc(w.Pods, func(p torturePod) bool {
		return p.Node != "" && w.node(p.Node) == nil || p.Requires != "" && w.node(p.Requires) == nil ||
			p.Foreign == core.Own && (w.queue(p.Queue) == nil || !w.leaf(p.Queue))
	})
	if w.queue(w.Lowered.Queue) == nil {
		w.Lowered = tortureLowered{}
	}
	w.Limits = slices.DeleteFunc(w.Limits, func(l tortureLimit) bool { return l.Queue != "" && w.queue(l.Queue) == nil })
	w.Rules = slices.DeleteFunc(w.Rules, func(r tortureRule) bool {
		return w.pod(r.Pod) == nil || w.pod(r.Other) == nil && w.node(r.Other) == nil
	})
	for i := range w.Budgets {
		b := &w.Budgets[i]
		b.Members = slices.DeleteFunc(b.Members, func(key string) bool { return w.pod(key) == nil })
	}
	w.Budgets = slices.DeleteFunc(w.Budgets, func(b tortureBudget) bool { return len(b.Members) == 0 })
}

// valid reports whether a world could be configured and has come about by placements:
// nothing is beyond its node or its queue, every pod holds something, and
// guarantees are possible.
func (w *tortureWorld) valid() bool {
	if !w.limitsValid() || !w.gangsFit() || !w.lowerable() {
		return false
	}
	free, used := map[string]tortureAmounts{}, map[string]tortureAmounts{}
	for i := range w.Pods {
		p := &w.Pods[i]
		if p.Amounts == (tortureAmounts{}) || p.Placeholder && p.Group == "" {
			return false
		}
		if p.Node == "" {
			continue
		}
		free[p.Node] = free[p.Node].plus(p.Amounts, 1)
		for _, q := range torturePath(p.Queue) {
			used[q] = used[q].plus(p.Amounts, 1)
		}
	}
	for _, n := range w.Nodes {
		if n.Capacity == (tortureAmounts{}) || !free[n.Name].fits(n.Capacity) {
			return false
		}
	}
	for _, q := range w.Queues {
		below := w.guaranteedBelow(q.Name)
		for k, most := range q.Max {
			if q.Guaranteed[k] > 0 && below[k] > q.Guaranteed[k] || most > 0 && max(used[q.Name][k], q.Guaranteed[k], below[k]) > most {
				return false
			}
			for _, above := range torturePath(q.Name)[1:] {
				if limit := w.queue(above).Max[k]; most > 0 && limit > 0 && most > limit {
					return false
				}
			}
		}
	}
	return true
}

// guaranteedBelow is the sum that a guarantee of the queue must hold: a queue that
// is guaranteed nothing of a kind counts with the queues below it.
func (w *tortureWorld) guaranteedBelow(name string) (sum tortureAmounts) {
	for _, q := range w.Queues {
		if tortureParent(q.Name) != name {
			continue
		}
		below := w.guaranteedBelow(q.Name)
		for k := range sum {
			sum[k] += max(q.Guaranteed[k], below[k])
		}
	}
	return sum
}

// size is how much there is to read in a world.
func (w *tortureWorld) size() int { return strings.Count(w.text(), "\n") }
