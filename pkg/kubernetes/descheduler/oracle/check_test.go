package oracle

import (
	"fmt"
	"math/big"
	"reflect"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"

	v1 "k8s.io/api/core/v1"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler"
)

// A finding is where program and model differ: a class, and what.
type finding struct{ class, text string }

// A history is what is remembered over cycles.
type history struct {
	evicted map[string][]time.Time // by workload
	flight  []*v1.Pod              // evicted and not ended
	cool    map[string]time.Time   // workload and node: until when
	fold    map[string]int
	simple  bool // no limits or budgets
}

func newHistory() *history {
	return &history{evicted: map[string][]time.Time{}, cool: map[string]time.Time{}, fold: map[string]int{}}
}

type counter map[string]int

// A checker compares one report with the model. Its model ends as the cluster after the cycle.
type checker struct {
	w        *world
	m        *model
	h        *history
	now      time.Time
	r        *descheduler.Report
	d        *descheduler.Descheduler
	found    []finding
	per      map[string]counter // limits: scope, name
	everLow  map[string]map[string]bool
	budgets  map[string]int
	perNodeL map[string]int
	known    int
}

func (c *checker) bad(class, format string, a ...any) {
	c.found = append(c.found, finding{class, fmt.Sprintf(format, a...)})
}

func (c *checker) profile(name string) (profile, bool) {
	for _, p := range c.w.s.Profiles {
		if p.Name == name {
			return p, true
		}
	}
	return profile{}, false
}

func find(p profile, name string) (plugin, bool) {
	for _, pl := range p.Plugins {
		if pl.Name == name {
			return pl, true
		}
	}
	return plugin{}, false
}

func check(w *world, r *descheduler.Report, d *descheduler.Descheduler, h *history, now time.Time) *checker {
	before := w.copy()
	c := &checker{w: &before, h: h, now: now, r: r, d: d, m: newModel(&before), everLow: map[string]map[string]bool{}, perNodeL: map[string]int{},
		per: map[string]counter{"total": {}, "node": {}, "namespace": {}, "workload": {}, "plugin": {}}}
	ready := 0
	for _, n := range w.o.Nodes {
		if c.m.processed(profile{}, n) {
			ready++
		}
	}
	if (ready < 2) != (r.Skipped != "") {
		c.bad("skipped", "%d nodes, skipped %q", ready, r.Skipped)
	}
	if r.Skipped == "" && r.Nodes != ready {
		c.bad("nodes", "%d nodes reported, %d", r.Nodes, ready)
	}
	if len(r.Failures) > 0 {
		c.bad("failure", "%v", r.Failures)
	}
	for i := range w.o.Budgets {
		_ = i
	}
	c.seeLow()
	phase := 0
	for _, e := range r.Evictions {
		c.eviction(e)
		if atBalance(e.Plugin) {
			phase = 1
		} else if phase == 1 && false {
			c.bad("order", "%s after balance", e.Plugin)
		}
		c.seeLow()
	}
	c.remaining()
	c.answers()
	c.table()
	if h.simple {
		c.even()
	}
	return c
}

// seeLow notes which nodes are low in the eyes of which plugin.
func (c *checker) seeLow() {
	for _, pr := range c.w.s.Profiles {
		pl, ok := find(pr, low)
		if !ok {
			continue
		}
		if c.everLow[pr.Name] == nil {
			c.everLow[pr.Name] = map[string]bool{}
		}
		for _, n := range c.w.o.Nodes {
			if some, _, _ := c.m.above(n.Name, pl.Args.Thresholds); !some && c.m.processed(pr, n) && !n.Spec.Unschedulable {
				c.everLow[pr.Name][n.Name] = true
			}
		}
	}
}

func (c *checker) eviction(e descheduler.Eviction) {
	what := fmt.Sprintf("%s/%s %s %s->%s (%s)", e.Profile, e.Plugin, e.Pod, e.From, e.To, e.Reason)
	p := c.m.pods[e.UID]
	if p == nil {
		c.bad("unknown pod", "%s", what)
		return
	}
	if c.m.standIns[e.UID] {
		c.bad("replacement evicted", "%s", what)
	}
	if id(p) != e.Pod || p.Spec.NodeName != e.From || !e.At.Equal(c.now) || e.Reason == "" || e.Controller || e.Nowhere != "" || e.Cycle != c.r.Cycle {
		c.bad("report fields", "%s %+v", what, e)
	}
	pr, ok := c.profile(e.Profile)
	pl, has := find(pr, e.Plugin)
	if !ok || !has {
		c.bad("plugin", "%s", what)
		return
	}
	if !c.m.processed(pr, c.m.nodes[p.Spec.NodeName]) {
		c.bad("node not selected", "%s", what)
	}
	if o, why := c.m.protection(pr, p, c.now); o == yes {
		c.bad("protected: "+why, "%s", what)
	}
	if (e.To != "") != returns(p) {
		c.bad("to", "%s: a replacement: %v", what, returns(p))
	}
	checkedBy := ""
	if returns(p) {
		checkedBy = "NodeFit"
		if c.w.core {
			checkedBy = "core"
		}
	}
	if e.CheckedBy != checkedBy {
		c.bad("checkedBy", "%s: %q", what, e.CheckedBy)
	}
	if e.To != "" {
		if why := c.m.fits(p, e.To); why != "" && !(c.m.waits() && (why == "spread" || strings.HasPrefix(why, "affinity"))) {
			c.bad("target: "+strings.Fields(why)[0], "%s: %s", what, why)
		}
	}
	c.rule(pr, pl, p, e.To, what)
	c.reason(pr, pl, p, e)
	c.limits(pr, pl, p, what)
	c.budget(p, e, what)
	w := workload(p)
	if w != "" {
		if until := c.h.cool[w+" "+e.From]; c.now.Before(until) {
			c.bad("cool-down", "%s: until %s", what, until)
		}
	}
	c.m.move(p, e.To)
}

func (c *checker) limits(pr profile, pl plugin, p *v1.Pod, what string) {
	s := c.w.s
	w := workload(p)
	c.per["total"][""]++
	c.per["node"][p.Spec.NodeName]++
	c.per["namespace"][p.Namespace]++
	if w != "" {
		c.per["workload"][w]++
	}
	c.per["plugin"][pr.Name+"/"+pl.Name]++
	over := func(limit int, scope, name string) {
		if limit >= 0 && c.per[scope][name] > limit {
			c.bad("limit "+scope, "%s: %d > %d", what, c.per[scope][name], limit)
		}
	}
	over(s.Total, "total", "")
	over(s.PerNode, "node", p.Spec.NodeName)
	over(s.PerNS, "namespace", p.Namespace)
	over(s.PerWL, "workload", w)
	if pl.Limit > 0 {
		over(pl.Limit, "plugin", pr.Name+"/"+pl.Name)
	}
	if n, ok := pl.Args.EvictionLimits["node"]; ok {
		c.perNodeL[pr.Name+pl.Name+p.Spec.NodeName]++
		if c.perNodeL[pr.Name+pl.Name+p.Spec.NodeName] > n {
			c.bad("evictionLimits", "%s", what)
		}
	}
	c.h.flight = append(c.h.flight, p)
	var total, node, ns, wl int
	for _, q := range c.h.flight {
		total++
		if q.Spec.NodeName == p.Spec.NodeName {
			node++
		}
		if q.Namespace == p.Namespace {
			ns++
		}
		if w != "" && workload(q) == w {
			wl++
		}
	}
	for _, x := range []struct {
		n, max int
		scope  string
	}{{total, s.FTotal, "total"}, {node, s.FNode, "node"}, {ns, s.FNS, "namespace"}, {wl, s.FWL, "workload"}} {
		if x.max >= 0 && x.n > x.max {
			c.bad("in flight "+x.scope, "%s: %d > %d", what, x.n, x.max)
		}
	}
	if w != "" {
		if s.RateMax > 0 {
			n := 1
			for _, at := range c.h.evicted[w] {
				if c.now.Sub(at) < s.RateWindow {
					n++
				}
			}
			if n > s.RateMax {
				c.bad("rate", "%s: %d > %d", what, n, s.RateMax)
			}
		}
		c.h.evicted[w] = append(c.h.evicted[w], c.now)
	}
}

func (c *checker) budget(p *v1.Pod, e descheduler.Eviction, what string) {
	ok, charged := charge(p, c.w.o.Budgets)
	if !ok {
		c.bad("budget", "%s", what)
	}
	of := budgetsOf(p, c.w.o.Budgets)
	if len(of) == 0 && (e.BudgetBefore != nil || e.BudgetLeft != nil) {
		c.bad("budget report", "%s: it has none", what)
	}
	if len(of) == 1 && !ended(p) {
		if e.BudgetBefore == nil || e.BudgetLeft == nil {
			c.bad("budget report", "%s: not told", what)
		} else {
			want := int(of[0].Status.DisruptionsAllowed)
			left := want
			if charged != nil {
				left--
			}
			if *e.BudgetBefore != want || *e.BudgetLeft != left {
				c.bad("budget report", "%s: %d %d, not %d %d", what, *e.BudgetBefore, *e.BudgetLeft, want, left)
			}
		}
	}
	if charged != nil {
		charged.Status.DisruptionsAllowed--
	}
}

// reason checks the numbers in words.
func (c *checker) reason(pr profile, pl plugin, p *v1.Pod, e descheduler.Eviction) {
	says := func(format string, a ...any) {
		if want := fmt.Sprintf(format, a...); !strings.Contains(e.Reason, want) {
			c.bad("reason "+pl.Name, "%s: %q, not %q", e.Pod, e.Reason, want)
		}
	}
	age := c.now.Sub(p.CreationTimestamp.Time).Truncate(time.Second)
	switch pl.Name {
	case lifeTime, failed:
		says("%s old", age)
	case restarts:
		n := p.Status.ContainerStatuses[0].RestartCount
		if n > 1 {
			says(" %d times", n)
		}
	case duplicates:
		n := 0
		for _, q := range c.m.on(e.From) {
			if workload(q) == workload(p) && images(q) == images(p) && !ended(q) && q.DeletionTimestamp == nil {
				n++
			}
		}
		says("its node has %d pods", n)
	case taints:
		hit := false
		for _, t := range c.m.nodes[e.From].Spec.Taints {
			hit = hit || strings.Contains(e.Reason, t.ToString()) && !tolerates(p, t)
		}
		if !hit {
			says("a taint of the node")
		}
	case apart:
		hit := false
		for _, q := range c.m.pods {
			if strings.HasSuffix(e.Reason, " "+id(q)) || strings.HasSuffix(e.Reason, " "+strings.TrimSuffix(id(q), "r")) && c.m.standIns[q.UID] {
				was := c.m.pods
				c.m.pods = map[types.UID]*v1.Pod{q.UID: q}
				hit = hit || c.m.against(p, e.From, false) != nil
				c.m.pods = was
			}
		}
		if !hit {
			says("a pod that it is against")
		}
	case low:
		if pl.Args.UseDeviationThresholds {
			break
		}
		_, _, names := c.m.above(e.From, pl.Args.TargetThresholds)
		for _, k := range names {
			part := new(big.Rat).Mul(c.m.part(e.From, k), big.NewRat(100, 1))
			x, _ := part.Float64()
			says("(above %d%%)", pl.Args.TargetThresholds[k])
			if part.IsInt() {
				says("%s %d%%", k, int(x))
			} else {
				says("%s %d.", k, int(x))
			}
		}
	}
}

// even looks at what plugins at balance leave, where each is alone and there is no core.
func (c *checker) even() {
	if c.r.Skipped != "" || c.w.core || len(c.w.s.Profiles) != 1 || len(c.w.s.Profiles[0].Plugins) != 1 || c.m.waits() {
		return
	}
	pr := c.w.s.Profiles[0]
	pl := pr.Plugins[0]
	a, m := pl.Args, c.m
	var here []string
	for _, n := range c.w.o.Nodes {
		if m.processed(pr, n) {
			here = append(here, n.Name)
		}
	}
	first := newModel(c.w)
	lowN, sources := 0, 0
	for _, n := range here {
		some, _, _ := first.above(n, a.Thresholds)
		if !some {
			sources++
			if !m.nodes[n].Spec.Unschedulable {
				lowN++
			}
		}
	}
	if len(c.r.Evictions) > 0 && !a.UseDeviationThresholds {
		if pl.Name == low && (lowN <= a.NumberOfNodes || lowN == len(here)) {
			c.bad("rule "+low, "%d of %d nodes are low, %d do not count", lowN, len(here), a.NumberOfNodes)
		}
		if pl.Name == high && (sources <= a.NumberOfNodes || sources == len(here)) {
			c.bad("rule "+high, "%d of %d nodes are sources, %d do not count", sources, len(here), a.NumberOfNodes)
		}
	}
	for _, p := range c.w.o.Pods {
		if m.pods[p.UID] == nil || !returns(p) || !slices.Contains(here, p.Spec.NodeName) {
			continue
		}
		if o, _ := m.protection(pr, p, c.now); o != no {
			continue
		}
		from := p.Spec.NodeName
		switch pl.Name {
		case low:
			if a.UseDeviationThresholds || len(a.EvictionLimits) > 0 || !a.EvictableNamespaces.has(p.Namespace) {
				continue
			}
			var lows []string
			for _, n := range here {
				if some, _, _ := m.above(n, a.Thresholds); !some && !m.nodes[n].Spec.Unschedulable {
					lows = append(lows, n)
				}
			}
			some, _, names := m.above(from, a.TargetThresholds)
			if len(lows) <= a.NumberOfNodes || !some {
				continue
			}
			helps := false
			for _, k := range names {
				helps = helps || requests(p)[v1.ResourceName(k)] > 0
			}
			for _, n := range lows {
				if !helps || m.fits(p, n) != "" {
					continue
				}
				m.move(p, n)
				over, _, _ := m.above(n, a.TargetThresholds)
				delete(m.pods, p.UID+"r")
				m.add(p)
				if !over {
					c.bad("stays "+low, "%s on %s, which uses much of %v, and not on %s: %v", id(p), from, names, n, c.d.Why(p.Namespace, p.Name).Decisions)
					break
				}
			}
		case high:
			some, _, _ := m.above(from, a.Thresholds)
			if some || !a.EvictableNamespaces.has(p.Namespace) || sources <= a.NumberOfNodes || sources == len(here) {
				continue
			}
			if len(a.EvictionModes) > 0 && !slices.ContainsFunc([]string{"cpu", "memory", "ephemeral-storage", gpu}, func(k string) bool {
				_, ok := a.Thresholds[k]
				return ok && requests(p)[v1.ResourceName(k)] > 0
			}) {
				continue
			}
			for _, n := range here {
				if much, _, _ := m.above(n, a.Thresholds); much && m.fits(p, n) == "" {
					c.bad("stays "+high, "%s on %s, which uses little, and not on %s: %v", id(p), from, n, c.d.Why(p.Namespace, p.Name).Decisions)
					break
				}
			}
		case duplicates:
			if !a.Namespaces.has(p.Namespace) || kindIn(p, a.ExcludeOwnerKinds) {
				continue
			}
			count, total := map[string]int{}, 0
			for _, q := range m.pods {
				if workload(q) == workload(p) && images(q) == images(p) && !ended(q) && slices.Contains(here, q.Spec.NodeName) {
					count[q.Spec.NodeName]++
					total++
				}
			}
			targets := 0
			for _, n := range here {
				if taintsAllow(p, m.nodes[n]) && labelsAllow(p, m.nodes[n]) && !m.nodes[n].Spec.Unschedulable {
					targets++
				}
			}
			if targets < 2 {
				continue
			}
			share := (total + targets - 1) / targets
			for _, n := range here {
				if count[from] > share && count[n] < share && m.fits(p, n) == "" {
					c.bad("stays "+duplicates, "%s on %s with %d, share %d of %d, and not on %s with %d: %v", id(p), from, count[from], share, total, n, count[n], c.d.Why(p.Namespace, p.Name).Decisions)
					break
				}
			}
		case spread:
			if !a.selected(p) || len(p.Spec.TopologySpreadConstraints) != 1 {
				continue
			}
			k := p.Spec.TopologySpreadConstraints[0]
			if k.WhenUnsatisfiable != v1.DoNotSchedule {
				continue
			}
			counts := m.counts(p, k, "", func(n *v1.Node) bool { return slices.Contains(here, n.Name) })
			lo, hi := skew(counts)
			if all := m.counts(p, k, "", func(*v1.Node) bool { return true }); !reflect.DeepEqual(all, counts) {
				continue // nodes that the profile does not look at are domains too
			}
			d, ok := m.domain(from, k.TopologyKey)
			if !ok || hi-lo <= int(k.MaxSkew) || counts[d] != hi || hi-lo < 2 {
				continue
			}
			for _, n := range here {
				if t, ok := m.domain(n, k.TopologyKey); ok && counts[t] == lo && m.fits(p, n) == "" && eligible(p, k, m.nodes[n]) {
					c.bad("stays "+spread, "%s on %s, %v, and not on %s: %v", id(p), from, counts, n, c.d.Why(p.Namespace, p.Name).Decisions)
					break
				}
			}
		}
	}
}

// rule is that of the plugin, for this pod and this move.
func (c *checker) rule(pr profile, pl plugin, p *v1.Pod, to, what string) {
	m, a := c.m, pl.Args
	from := p.Spec.NodeName
	no := func(format string, x ...any) { c.bad("rule "+pl.Name, "%s: "+format, append([]any{what}, x...)...) }
	switch pl.Name {
	case duplicates:
		if !a.Namespaces.has(p.Namespace) || kindIn(p, a.ExcludeOwnerKinds) {
			no("not selected")
		}
		perNode := map[string]int{}
		total, seen := 0, 0
		var shapes []*v1.Pod
		for _, q := range m.pods {
			if workload(q) == workload(p) && workload(q) != "" && images(q) == images(p) && !ended(q) && q.DeletionTimestamp == nil && q.Spec.NodeName != "" {
				perNode[q.Spec.NodeName]++
				total++
				if m.processed(pr, m.nodes[q.Spec.NodeName]) {
					seen++
				}
				shapes = append(shapes, q)
			}
		}
		targets := 0
		for _, n := range m.nodes {
			if slices.ContainsFunc(shapes, func(q *v1.Pod) bool { return taintsAllow(q, n) && labelsAllow(q, n) }) {
				targets++
			}
		}
		total = seen // pods and nodes that the profile looks at: fewer pods are a smaller share
		if perNode[from] < 2 {
			no("it is alone there")
		}
		share := (total + max(targets, 1) - 1) / max(targets, 1)
		if perNode[from] <= share {
			no("%d here, share %d of %d on %d nodes", perNode[from], share, total, targets)
		}
		if to != "" && perNode[to]+1 >= perNode[from] && m.processed(pr, m.nodes[to]) {
			no("%d here, %d there", perNode[from], perNode[to])
		}
	case low:
		if !a.EvictableNamespaces.has(p.Namespace) {
			no("namespace")
		}
		if a.UseDeviationThresholds {
			better := to == ""
			for k := range a.Thresholds {
				was := m.part(from, k)
				if to != "" && was.Cmp(m.part(to, k)) > 0 {
					better = true
				}
			}
			if !better {
				no("nothing is better")
			}
			break
		}
		if some, _, _ := m.above(from, a.TargetThresholds); !some {
			no("the node is not above")
		}
		if to == "" {
			break
		}
		if len(c.everLow[pr.Name]) == 0 {
			no("no node was ever low")
		}
		was := m.pods[p.UID]
		m.move(p, to)
		if some, _, names := m.above(to, a.TargetThresholds); some {
			no("the target gets too much %v", names)
		}
		delete(m.pods, p.UID+"r")
		delete(m.standIns, p.UID+"r")
		m.pods[p.UID] = was
	case high:
		if !a.EvictableNamespaces.has(p.Namespace) {
			no("namespace")
		}
		if some, _, names := m.above(from, a.Thresholds); some {
			no("the source uses much: %v", names)
		}
		if to != "" {
			if to == from {
				no("same node")
			}
			if some, _, _ := m.above(to, a.Thresholds); !some {
				no("the target is a source")
			}
		}
		if len(a.EvictionModes) > 0 {
			r := requests(p)
			delete(r, v1.ResourcePods)
			hit := false
			for k := range a.Thresholds {
				hit = hit || r[v1.ResourceName(k)] > 0 || k == "pods"
			}
			if !hit {
				no("it requests nothing with a threshold")
			}
		}
	case spread:
		if !a.selected(p) {
			no("not selected")
		}
		violated, helps := false, false
		for _, q := range m.pods {
			if q.Namespace != p.Namespace {
				continue
			}
			for _, k := range q.Spec.TopologySpreadConstraints {
				if !matches(k.LabelSelector, p.Labels) || k.WhenUnsatisfiable != v1.DoNotSchedule && len(a.Constraints) == 0 {
					continue
				}
				for _, include := range []func(*v1.Node) bool{func(*v1.Node) bool { return true }, nodeReady, func(n *v1.Node) bool { return m.processed(pr, n) }, func(n *v1.Node) bool {
					for _, o := range q.Spec.TopologySpreadConstraints {
						if _, ok := n.Labels[o.TopologyKey]; !ok {
							return false
						}
					}
					return true
				}} {
					counts := m.counts(q, k, "", include)
					lo, hi := skew(counts)
					if hi-lo <= int(k.MaxSkew) {
						continue
					}
					violated = true
					d, ok := m.domain(from, k.TopologyKey)
					t, has := m.domain(to, k.TopologyKey)
					if to == "" || ok && has && counts[d]-counts[t] >= 2 {
						helps = true
					}
				}
			}
		}
		if !violated {
			no("nothing is violated")
		} else if !helps {
			no("it does not help")
		}
	default:
		if m.wants(pl, p, c.now) == 0 {
			no("it does not hold")
		}
		if to != "" && !m.accepts(pl, p, to) {
			no("the target is no better")
		}
	}
}

// remaining looks for pods that should have gone.
func (c *checker) remaining() {
	if c.r.Skipped != "" {
		return
	}
	s := c.w.s
	for _, p := range c.w.o.Pods {
		if p.Spec.NodeName == "" {
			return // pods that wait take room
		}
	}
	full := func(limit, n int) bool { return limit >= 0 && n >= limit }
	for _, p := range c.w.o.Pods {
		if c.m.pods[p.UID] == nil || p.DeletionTimestamp != nil || c.h.fold[string(p.UID)] > 0 {
			continue
		}
		w := workload(p)
		var fNode, fNS, fWL int
		for _, q := range c.h.flight {
			if q.Spec.NodeName == p.Spec.NodeName {
				fNode++
			}
			if q.Namespace == p.Namespace {
				fNS++
			}
			if workload(q) == w {
				fWL++
			}
		}
		if full(s.Total, c.per["total"][""]) || full(s.PerNode, c.per["node"][p.Spec.NodeName]) || full(s.PerNS, c.per["namespace"][p.Namespace]) || w != "" && full(s.PerWL, c.per["workload"][w]) ||
			full(s.FTotal, len(c.h.flight)) || full(s.FNode, fNode) || full(s.FNS, fNS) || full(s.FWL, fWL) {
			continue
		}
		if w != "" && s.RateMax > 0 {
			n := 0
			for _, at := range c.h.evicted[w] {
				if c.now.Sub(at) <= s.RateWindow {
					n++
				}
			}
			if n >= s.RateMax {
				continue
			}
		}
		if c.h.fold[w+" "+p.Spec.NodeName] > 0 {
			continue
		}
		if c.h.fold["x"] > 0 {
			continue // places may be kept that the model does not know of
		}
		if ok, _ := charge(p, c.w.o.Budgets); !ok {
			continue
		}
		for _, pr := range s.Profiles {
			if !c.m.processed(pr, c.m.nodes[p.Spec.NodeName]) {
				continue
			}
			if o, _ := c.m.protection(pr, p, c.now); o != 0 {
				continue
			}
			for _, pl := range pr.Plugins {
				if atBalance(pl.Name) || pl.Limit > 0 && c.per["plugin"][pr.Name+"/"+pl.Name] >= pl.Limit || c.m.wants(pl, p, c.now) != yes {
					continue
				}
				if returns(p) {
					good, bad := 0, 0
					for _, n := range c.w.o.Nodes {
						if c.m.fits(p, n.Name) != "" || n.Spec.Unschedulable { // the core may say no although it is tolerated
							continue
						}
						if c.m.accepts(pl, p, n.Name) {
							good++
						} else {
							bad++
						}
					}
					if good == 0 || bad > 0 && (c.w.core || pl.Name == lifeTime) {
						continue
					}
				}
				if pr.Evictor.NodeFit && len(c.r.Evictions) > 0 {
					c.known++ // see TestRoomForNodeFit
					continue
				}
				c.bad("stays "+pl.Name, "%s on %s, profile %s: %v", id(p), p.Spec.NodeName, pr.Name, c.d.Why(p.Namespace, p.Name).Decisions)
			}
		}
	}
}

// table is the report for people.
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

// answers compares the answers of why with the report.
func (c *checker) answers() {
	kept := map[descheduler.Outcome]int{}
	evictions := map[string]descheduler.Eviction{}
	for _, e := range c.r.Evictions {
		if _, twice := evictions[string(e.UID)]; twice {
			c.bad("twice", "%s", e.Pod)
		}
		evictions[string(e.UID)] = e
	}
	for _, p := range c.w.o.Pods {
		a := c.d.Why(p.Namespace, p.Name)
		if a.Pod != id(p) {
			c.bad("why", "%s: %q", id(p), a.Pod)
		}
		e, evicted := evictions[string(p.UID)]
		told := 0
		for _, d := range a.Decisions {
			if d.Cycle != c.r.Cycle || d.UID != p.UID {
				continue
			}
			if d.Outcome == descheduler.Evicted {
				told++
				if !evicted || d.Profile != e.Profile || d.Plugin != e.Plugin {
					c.bad("why", "%s: %v, %v", id(p), d, e)
				}
			} else {
				kept[d.Outcome]++
				if d.Reason == "" && d.Outcome != descheduler.Considered && d.Outcome != descheduler.Gone {
					c.bad("why without reason", "%s: %+v", id(p), d)
				}
			}
			pr, ok := c.profile(d.Profile)
			if !ok {
				c.bad("why", "%s: %+v", id(p), d)
				continue
			}
			if d.Outcome == descheduler.Filtered && d.Plugin == "" {
				// it is about the moment, which may be any of the cycle: the first and the last are asked
				first := newModel(c.w)
				o, _ := first.protection(pr, p, c.now)
				q, _ := c.m.protection(pr, p, c.now)
				if o == no && q == no && !evicted && p.Spec.NodeName != "" {
					c.bad("filtered", "%s: %+v", id(p), d)
				}
			}
		}
		if evicted != (told > 0) {
			c.bad("why", "%s: evicted %v, told %d", id(p), evicted, told)
		}
		var listed []descheduler.Eviction
		for _, x := range a.Evictions {
			if x.Cycle == c.r.Cycle {
				listed = append(listed, x)
			}
		}
		if evicted && (len(listed) != 1 || !reflect.DeepEqual(listed[0], e)) || !evicted && len(listed) > 0 {
			c.bad("why evictions", "%s: %v", id(p), listed)
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

var _ = big.NewRat
