package worlds

import (
	"slices"
	"strings"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/core/preemptor"
)

// reduce leaves out what a failure of this class does not need. It tries
// every smaller world again until none of them fails in the same way.
func reduce(w *world, class string) *world {
	for {
		list := w.smaller()
		i := slices.IndexFunc(list, func(c *world) bool { return c.fails(class) })
		if i < 0 {
			return w
		}
		w = list[i]
	}
}

func (w *world) fails(class string) bool {
	g := newGame(w, nil)
	g.wanted = class
	failures, _ := g.failures()
	return slices.ContainsFunc(failures, func(f failure) bool { return f.class() == class })
}

// smaller are worlds with one thing less, the largest things first.
func (w *world) smaller() (list []*world) {
	without := func(change func(c *world)) {
		c := w.clone()
		change(c)
		c.clean()
		list = append(list, c)
	}
	for i := range w.Nodes {
		without(func(c *world) { c.Nodes = slices.Delete(c.Nodes, i, i+1) })
	}
	for i := range w.Pods {
		without(func(c *world) { c.Pods = slices.Delete(c.Pods, i, i+1) })
	}
	for i := range w.Rules {
		without(func(c *world) { c.Rules = slices.Delete(c.Rules, i, i+1) })
	}
	for i := range w.Budgets {
		without(func(c *world) { c.Budgets = slices.Delete(c.Budgets, i, i+1) })
		for j := range w.Budgets[i].Members {
			without(func(c *world) { c.Budgets[i].Members = slices.Delete(c.Budgets[i].Members, j, j+1) })
		}
	}
	for i := range w.Limits {
		without(func(c *world) { c.Limits = slices.Delete(c.Limits, i, i+1) })
	}
	if w.Lowered.Queue != "" {
		without(func(c *world) { c.Lowered = loweredMax{} })
	}
	for i := range w.Changes {
		without(func(c *world) { c.Changes = slices.Delete(c.Changes, i, i+1) })
	}
	for i := range w.Queues {
		if w.leaf(w.Queues[i].Name) {
			without(func(c *world) { c.Queues = slices.Delete(c.Queues, i, i+1) })
		}
	}
	for i := range w.Queues {
		list = append(list, w.lifted(w.Queues[i].Name)...)
	}
	return append(list, w.plainer()...)
}

// plainer are worlds with smaller numbers.
func (w *world) plainer() (list []*world) {
	lower := func(of func(c *world) *int) {
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
	flag := func(of func(c *world) *bool) {
		if c := w.clone(); *of(c) {
			*of(c) = false
			list = append(list, c)
		}
	}
	flag(func(c *world) *bool { return &c.Reserve })
	flag(func(c *world) *bool { return &c.Recreate })
	flag(func(c *world) *bool { return &c.Dynamic })
	flag(func(c *world) *bool { return &c.Denied })
	flag(func(c *world) *bool { return &c.Whole })
	flag(func(c *world) *bool { return &c.Impatient })
	flag(func(c *world) *bool { return &c.Devices })
	flag(func(c *world) *bool { return &c.Scarcity })
	flag(func(c *world) *bool { return &c.KeepsForeign })
	flag(func(c *world) *bool { return &c.Classes })
	flag(func(c *world) *bool { return &c.Several })
	flag(func(c *world) *bool { return &c.Paced })
	flag(func(c *world) *bool { return &c.Ranked })
	flag(func(c *world) *bool { return &c.Levels })
	flag(func(c *world) *bool { return &c.Racks })
	flag(func(c *world) *bool { return &c.Prefers })
	flag(func(c *world) *bool { return &c.Parts })
	for i := range w.Pods {
		flag(func(c *world) *bool { return &c.Pods[i].Succeeds })
	}
	lower(func(c *world) *int { return &c.Backoff })
	lower(func(c *world) *int { return &c.Batch })
	for i := range w.Changes {
		lower(func(c *world) *int { return &c.Changes[i].At })
	}
	for i := range w.Limits {
		lower(func(c *world) *int { return &c.Limits[i].Max[0] })
	}
	list = append(list, w.settings()...)
	for i := range w.Queues {
		flag(func(c *world) *bool { return &c.Queues[i].Fence })
		lower(func(c *world) *int { return &c.Queues[i].Offset })
	}
	for i := range w.Pods {
		flag(func(c *world) *bool { return &c.Pods[i].Owner })
		flag(func(c *world) *bool { return &c.Pods[i].OptedOut })
		flag(func(c *world) *bool { return &c.Pods[i].Again })
		flag(func(c *world) *bool { return &c.Pods[i].Polite })
		flag(func(c *world) *bool { return &c.Pods[i].Placeholder })
		for _, of := range []func(p *pod) *string{
			func(p *pod) *string { return &p.User }, func(p *pod) *string { return &p.Needs }, func(p *pod) *string { return &p.Quorum }, func(p *pod) *string { return &p.Group },
		} {
			if c := w.clone(); *of(&c.Pods[i]) != "" {
				*of(&c.Pods[i]) = ""
				list = append(list, c)
			}
		}
		flag(func(c *world) *bool { return &c.Pods[i].Required })
		for _, of := range []func(p *pod) *int{
			func(p *pod) *int { return &p.At }, func(p *pod) *int { return &p.Grace },
			func(p *pod) *int { return &p.Age }, func(p *pod) *int { return &p.Ends }, func(p *pod) *int { return &p.Own },
			func(p *pod) *int { return &p.Priority },
		} {
			if p := &w.Pods[i]; of(p) == &p.Priority && w.Ranked && p.Quorum != "" {
				continue // it is that of all members
			}
			lower(func(c *world) *int { return of(&c.Pods[i]) })
		}
	}
	for k := range kindNames {
		for i := range w.Nodes {
			lower(func(c *world) *int { return &c.Nodes[i].Capacity[k] })
		}
		for i := range w.Pods {
			lower(func(c *world) *int { return &c.Pods[i].Amounts[k] })
		}
		for i := range w.Queues {
			lower(func(c *world) *int { return &c.Queues[i].Guaranteed[k] })
			lower(func(c *world) *int { return &c.Queues[i].Max[k] })
		}
	}
	return slices.DeleteFunc(list, func(c *world) bool { return !c.valid() })
}

// settings are worlds with one setting at its default.
func (w *world) settings() (list []*world) {
	if c := w.clone(); c.Policy != preemptor.PreferBudgets {
		c.Policy = preemptor.PreferBudgets
		list = append(list, c)
	}
	if c := w.clone(); c.Priority != api.StrictlyLower {
		c.Priority = api.StrictlyLower
		list = append(list, c)
	}
	for i := range w.Queues {
		if c := w.clone(); c.Queues[i].Policy != api.PreemptionDefault {
			c.Queues[i].Policy = api.PreemptionDefault
			list = append(list, c)
		}
	}
	for i := range w.Pods {
		if c := w.clone(); c.Pods[i].Foreign != api.Own {
			c.Pods[i].Foreign, c.Pods[i].Queue = api.Own, w.firstLeaf()
			list = append(list, c)
		}
	}
	return list
}

func (w *world) firstLeaf() string {
	for _, q := range w.Queues {
		if w.leaf(q.Name) {
			return q.Name
		}
	}
	return ""
}

// lifted is the world in which what is below a queue is one leaf, or in which the queue
// has its place among those of its parent.
func (w *world) lifted(name string) (list []*world) {
	if !w.leaf(name) {
		c := w.clone()
		c.Queues = slices.DeleteFunc(c.Queues, func(q queue) bool { return q.Name != name && within(q.Name, name) })
		for i := range c.Pods {
			if within(c.Pods[i].Queue, name) {
				c.Pods[i].Queue = name
			}
		}
		c.clean()
		list = append(list, c)
	}
	if parentOf(name) == "" && w.leaf(name) {
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
			c.Queues = slices.DeleteFunc(c.Queues, func(q queue) bool { return q.Name == name })
			c.clean()
			list = append(list, c)
		}
	}
	return list
}

// clean leaves out what is of pods, queues and nodes that are gone.
func (w *world) clean() {
	w.Pods = slices.DeleteFunc(w.Pods, func(p pod) bool {
		return p.Node != "" && w.node(p.Node) == nil || p.Requires != "" && w.node(p.Requires) == nil ||
			p.Foreign == api.Own && (w.queue(p.Queue) == nil || !w.leaf(p.Queue))
	})
	w.Changes = slices.DeleteFunc(w.Changes, func(c change) bool {
		return c.Node != "" && w.node(c.Node) == nil || c.Pod != "" && w.pod(c.Pod) == nil
	})
	if w.queue(w.Lowered.Queue) == nil {
		w.Lowered = loweredMax{}
	}
	w.Limits = slices.DeleteFunc(w.Limits, func(l limit) bool { return l.Queue != "" && w.queue(l.Queue) == nil })
	w.Rules = slices.DeleteFunc(w.Rules, func(r rule) bool {
		return w.pod(r.Pod) == nil || w.pod(r.Other) == nil && w.node(r.Other) == nil
	})
	for i := range w.Budgets {
		b := &w.Budgets[i]
		b.Members = slices.DeleteFunc(b.Members, func(key string) bool { return w.pod(key) == nil })
	}
	w.Budgets = slices.DeleteFunc(w.Budgets, func(b budget) bool { return len(b.Members) == 0 })
}

// valid reports whether a world could be configured and has come about by placements:
// nothing is beyond its node or its queue, every pod holds something, and
// guarantees are possible.
func (w *world) valid() bool {
	if !w.limitsValid() || !w.gangsFit() || !w.lowerable() {
		return false
	}
	free, used := map[string]amounts{}, map[string]amounts{}
	for i := range w.Pods {
		p := &w.Pods[i]
		if p.Amounts == (amounts{}) || p.Placeholder && p.Group == "" {
			return false
		}
		if p.Node == "" {
			continue
		}
		free[p.Node] = free[p.Node].plus(p.Amounts, 1)
		for _, q := range pathOf(p.Queue) {
			used[q] = used[q].plus(p.Amounts, 1)
		}
	}
	for _, n := range w.Nodes {
		if n.Capacity == (amounts{}) || !free[n.Name].fits(n.Capacity) {
			return false
		}
	}
	for _, q := range w.Queues {
		below := w.guaranteedBelow(q.Name)
		for k, most := range q.Max {
			if q.Guaranteed[k] > 0 && below[k] > q.Guaranteed[k] || most > 0 && max(used[q.Name][k], q.Guaranteed[k], below[k]) > most {
				return false
			}
			for _, above := range pathOf(q.Name)[1:] {
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
func (w *world) guaranteedBelow(name string) (sum amounts) {
	for _, q := range w.Queues {
		if parentOf(q.Name) != name {
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
func (w *world) size() int { return strings.Count(w.text(), "\n") }
