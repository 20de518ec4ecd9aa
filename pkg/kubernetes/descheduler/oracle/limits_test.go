package oracle

import (
	"time"

	v1 "k8s.io/api/core/v1"
)

// scopes are the names of what limits count for a pod, in the order of the fields of limits; that
// of a workload is empty if nothing makes the pod.
func scopes(p *v1.Pod) [4]string {
	of := [4]string{"total", "node " + p.Spec.NodeName, "namespace " + p.Namespace, ""}
	if w := workload(p); w != "" {
		of[3] = "workload " + w
	}
	return of
}

// exceeded returns what there is too much of by one of the limits, if there are so many more.
func (l limits) exceeded(p *v1.Pod, count map[string]int, more int) string {
	for i, limit := range l.each() {
		scope := scopes(p)[i]
		if *limit >= 0 && scope != "" && count[scope]+more > *limit {
			return scope
		}
	}
	return ""
}

// flying counts the pods in flight by scope.
func (c *checker) flying() map[string]int {
	count := map[string]int{}
	for _, p := range c.h.inFlight {
		for _, scope := range scopes(p) {
			count[scope]++
		}
	}
	return count
}

// ofPlugin are the scopes of the limits of a plugin.
func (v move) ofPlugin() (all, node string) {
	all = "plugin " + v.profile.Name + "/" + v.plugin.Name
	return all, all + " on " + v.pod.Spec.NodeName
}

// limits counts an eviction and checks all limits, the rate and the cool-down.
func (c *checker) limits(v move) {
	p, w := v.pod, workload(v.pod)
	for _, scope := range scopes(p) {
		c.count[scope]++
	}
	if scope := c.w.s.Cycle.exceeded(p, c.count, 0); scope != "" {
		c.bad("limit of a cycle", "%s: %d of %s", line(v.Eviction), c.count[scope], scope)
	}
	all, node := v.ofPlugin()
	c.count[all]++
	c.count[node]++
	if most := v.plugin.Limit; most > 0 && c.count[all] > most {
		c.bad("limit of a plugin", "%s: %d", line(v.Eviction), c.count[all])
	}
	if most, ok := v.plugin.Args.EvictionLimits["node"]; ok && c.count[node] > most {
		c.bad("evictionLimits", "%s: %d", line(v.Eviction), c.count[node])
	}
	c.h.inFlight = append(c.h.inFlight, p)
	if scope := c.w.s.InFlight.exceeded(p, c.flying(), 0); scope != "" {
		c.bad("limit in flight", "%s: %s", line(v.Eviction), scope)
	}
	if w == "" {
		return
	}
	if c.now.Before(c.h.coolDown[at(w, v.From)]) {
		c.bad("cool-down", "%s: until %s", line(v.Eviction), c.h.coolDown[at(w, v.From)])
	}
	c.h.evicted[w] = append(c.h.evicted[w], c.now)
	if n := c.rate(w, c.w.s.RateWindow); c.w.s.RateMax > 0 && n > c.w.s.RateMax {
		c.bad("rate", "%s: %d", line(v.Eviction), n)
	}
}

// rate is how many pods of a workload were evicted in a window that ends now.
func (c *checker) rate(workload string, window time.Duration) (n int) {
	for _, then := range c.h.evicted[workload] {
		if c.now.Sub(then) < window {
			n++
		}
	}
	return n
}

// limited says whether a limit or a cool-down may keep a pod.
func (c *checker) limited(p *v1.Pod) bool {
	s, w := c.w.s, workload(p)
	if s.Cycle.exceeded(p, c.count, 1) != "" || s.InFlight.exceeded(p, c.flying(), 1) != "" {
		return true
	}
	if w == "" {
		return false
	}
	return s.RateMax > 0 && c.rate(w, s.RateWindow+1) >= s.RateMax || c.h.mayCool[at(w, p.Spec.NodeName)]
}

// budget checks that a budget allows an eviction, and what the report says of it.
func (c *checker) budget(v move) {
	ok, paid := charge(v.pod, c.w.o.Budgets)
	if !ok {
		c.bad("budget", "%s", line(v.Eviction))
	}
	of := budgetsOf(v.pod, c.w.o.Budgets)
	if len(of) == 0 && (v.BudgetBefore != nil || v.BudgetLeft != nil) {
		c.bad("budget report", "%s: it has none", line(v.Eviction))
	}
	if len(of) == 1 && !ended(v.pod) {
		before := allowed(of[0])
		left := before
		if paid != nil {
			left--
		}
		if v.BudgetBefore == nil || v.BudgetLeft == nil {
			c.bad("budget report", "%s: not told", line(v.Eviction))
		} else if *v.BudgetBefore != before || *v.BudgetLeft != left {
			c.bad("budget report", "%s: %d %d, not %d %d", line(v.Eviction), *v.BudgetBefore, *v.BudgetLeft, before, left)
		}
	}
	if paid != nil {
		paid.Status.DisruptionsAllowed--
	}
}
