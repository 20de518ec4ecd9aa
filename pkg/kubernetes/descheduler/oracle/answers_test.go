package oracle

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler"
)

// table checks the report for people.
func (c *checker) table() {
	var b strings.Builder
	if err := c.r.Table(&b); err != nil {
		c.bad("table", "%v", err)
	}
	lines := strings.Split(b.String(), "\n")
	for _, e := range c.r.Evictions {
		to, left := e.To, "-"
		if to == "" {
			to = "-"
		}
		if e.BudgetLeft != nil {
			left = fmt.Sprint(*e.BudgetLeft)
		}
		want := strings.Fields(fmt.Sprintf("%s %s/%s %s %s %s %s", e.Pod, e.Profile, e.Plugin, e.Reason, e.From, to, left))
		if !slices.ContainsFunc(lines, func(l string) bool { return slices.Equal(strings.Fields(l), want) }) {
			c.bad("table", "%q is not in %s", want, b.String())
		}
	}
}

// answers compares what /why says of each pod with the report.
func (c *checker) answers() {
	evictions := map[types.UID]*descheduler.Eviction{}
	for _, e := range c.r.Evictions {
		if evictions[e.UID] != nil {
			c.bad("twice", "%s", e.Pod)
		}
		evictions[e.UID] = &e
	}
	kept := map[descheduler.Outcome]int{}
	for _, p := range c.w.o.Pods {
		a := c.d.Why(p.Namespace, p.Name)
		if a.Pod != id(p) {
			c.bad("why", "%s: %q", id(p), a.Pod)
		}
		c.listed(p, a, evictions[p.UID])
		evicted := false
		for _, d := range a.Decisions {
			if d.Cycle != c.r.Cycle || d.UID != p.UID {
				continue
			}
			if d.Outcome == descheduler.Evicted {
				evicted = true
			} else {
				kept[d.Outcome]++
			}
			c.decision(p, d, evictions[p.UID])
		}
		if evicted != (evictions[p.UID] != nil) {
			c.bad("why", "%s: evicted by why: %v", id(p), evicted)
		}
	}
	for o, n := range c.r.Kept {
		if kept[o] != n {
			c.bad("kept", "%s: %d in the report, %d by why (%v %v)", o, n, kept[o], c.r.Kept, kept)
		}
	}
	if c.r.Unlisted != 0 || c.r.Cut != 0 {
		c.bad("unlisted", "%d %d", c.r.Unlisted, c.r.Cut)
	}
}

// decision checks one line of an answer.
func (c *checker) decision(p *v1.Pod, d descheduler.Decision, e *descheduler.Eviction) {
	if d.Outcome == descheduler.Evicted && (e == nil || d.Profile != e.Profile || d.Plugin != e.Plugin) {
		c.bad("why", "%s: %v, %v", id(p), d, e)
	}
	silent := d.Outcome == descheduler.Considered || d.Outcome == descheduler.Gone
	if d.Reason == "" && d.Outcome != descheduler.Evicted && !silent {
		c.bad("why without reason", "%s: %+v", id(p), d)
	}
	i := slices.IndexFunc(c.w.s.Profiles, func(pr profile) bool { return pr.Name == d.Profile })
	if i < 0 {
		c.bad("why", "%s: %+v", id(p), d)
		return
	}
	if d.Outcome != descheduler.Filtered || d.Plugin != "" || e != nil || p.Spec.NodeName == "" {
		return
	}
	// It may be about any moment of the cycle: the first and the last one are asked.
	first, _ := c.first().protection(c.w.s.Profiles[i], p, c.now)
	last, _ := c.m.protection(c.w.s.Profiles[i], p, c.now)
	if first == no && last == no {
		c.bad("filtered", "%s: %+v", id(p), d)
	}
}

// listed checks that an answer has the eviction of the report, and no other one.
func (c *checker) listed(p *v1.Pod, a descheduler.Answer, e *descheduler.Eviction) {
	var want, listed []descheduler.Eviction
	if e != nil {
		want = append(want, *e)
	}
	for _, x := range a.Evictions {
		if x.Cycle == c.r.Cycle {
			listed = append(listed, x)
		}
	}
	if !reflect.DeepEqual(want, listed) {
		c.bad("why evictions", "%s: %v", id(p), listed)
	}
}
