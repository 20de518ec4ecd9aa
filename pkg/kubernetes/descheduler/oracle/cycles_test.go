package oracle

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler"
)

// anew is the pod that is made in place of another.
func anew(p *v1.Pod, node string, now time.Time, serial int) *v1.Pod {
	r := p.DeepCopy()
	r.Name = fmt.Sprintf("%s-%d", p.Labels["app"], 100+serial)
	r.UID = types.UID(fmt.Sprintf("r%d-%s", serial, p.UID))
	at := metav1.NewTime(now.Truncate(time.Second))
	r.CreationTimestamp, r.DeletionTimestamp, r.Finalizers = at, nil, nil
	r.Spec.NodeName = node
	r.Status = v1.PodStatus{Phase: v1.PodRunning, StartTime: &at, Conditions: []v1.PodCondition{{Type: v1.PodReady, Status: v1.ConditionTrue, LastTransitionTime: at}},
		ContainerStatuses: []v1.ContainerStatus{{Name: "main", State: v1.ContainerState{Running: &v1.ContainerStateRunning{}}}}}
	return r
}

// settle has evicted pods end, and their replacements run where the report says.
func settle(w *world, r *descheduler.Report, now time.Time, serial *int) {
	to := map[types.UID]string{}
	for _, e := range r.Evictions {
		to[e.UID] = e.To
	}
	var pods []*v1.Pod
	for _, p := range w.o.Pods {
		node, gone := to[p.UID]
		if !gone {
			pods = append(pods, p)
		} else if node != "" {
			*serial++
			pods = append(pods, anew(p, node, now, *serial))
		}
	}
	w.o.Pods = pods
	for _, b := range w.o.Budgets {
		fill(b, pods)
	}
}

func moves(r *descheduler.Report) (of []string) {
	for _, e := range r.Evictions {
		of = append(of, fmt.Sprintf("%s/%s %s %s->%s (%s)", e.Profile, e.Plugin, e.Pod, e.From, e.To, e.Reason))
	}
	return
}

// quiet plays cycles, with replacements where the reports say, and tells what happens after
// the n-th.
func (e *engine) quiet(w world, n, until int) []finding {
	x := w.copy()
	pl, err := e.play(&x, false)
	if err != nil {
		return []finding{{"build", err.Error()}}
	}
	var all [][]string
	serial := 0
	for i := range until {
		r, _, err := pl.cycle()
		if err != nil {
			return []finding{{"cycle", err.Error()}}
		}
		all = append(all, moves(r))
		if i+1 == until && len(r.Evictions) > 0 || i >= n && until == 0 {
			return []finding{{"restless " + r.Evictions[0].Plugin, fmt.Sprintf("cycle %d: %q", i+1, all)}}
		}
		if len(r.Evictions) == 0 {
			return nil
		}
		pl.clock.Step(time.Minute)
		settle(&x, r, pl.clock.Now(), &serial)
	}
	return nil
}

// TestNextCycle plays each plugin by itself until it has nothing left to do: at deschedule that
// is the second cycle, at balance the third.
func TestNextCycle(t *testing.T) {
	e := newEngine(t)
	out := &told{t: t, e: e, count: map[string]int{}}
	first := number(t, "ORACLE_FIRST", 0)
	done := map[string]int{}
	for seed := first; seed < first+number(t, "ORACLE_WORLDS", 300); seed++ {
		name := all[seed%uint64(len(all))]
		g := gen{rand.New(rand.NewPCG(seed, 3)), options{plugins: []string{name}, one: true, simple: true, dense: seed%20 > 9}}
		w := g.world()
		w.s.CoolDown = 0
		a := &w.s.Profiles[0].Plugins[0].Args
		a.UseDeviationThresholds = false
		a.EvictionLimits = nil
		if name == lifeTime && a.MaxPodLifeTimeSeconds == nil {
			a.MaxPodLifeTimeSeconds = ptr(1800)
		}
		until := 2
		if atBalance(name) {
			until = 3
		} else {
			w.s.Profiles[0].Evictor.NodeFit = false // see TestRoomForNodeFit
			w.s.Profiles[0].Evictor.NodeSelector = ""
			w.s.Profiles[0].Evictor.MinReplicas = 0 // replacements are not counted as replicas
			if name == affinity {
				a.NodeAffinityType = a.NodeAffinityType[:1] // with both, what was moved for the first may move for the second: seed 2954
				w.core = true                               // without it the first better node is taken and not the best: TestBestNode
			}
		}
		fails := func(v world) []finding { return e.quiet(v, 0, until) }
		out.tell(seed, w, fails(w), fails)
		done[name] += len(e.evictions(w))
	}
	t.Log(done, out.count)
}

// TestSettles plays several plugins: in the end there is nothing left to do.
func TestSettles(t *testing.T) {
	e := newEngine(t)
	out := &told{t: t, e: e, count: map[string]int{}}
	first := number(t, "ORACLE_FIRST", 0)
	n := 0
	for seed := first; seed < first+number(t, "ORACLE_WORLDS", 300); seed++ {
		names := slices.DeleteFunc(slices.Clone(all), func(s string) bool { return s == high })
		if seed%2 == 0 {
			names = slices.DeleteFunc(slices.Clone(all), func(s string) bool { return s == low || s == duplicates || s == spread })
		}
		g := gen{rand.New(rand.NewPCG(seed, 4)), options{plugins: names, simple: true, dense: seed%4 > 1}}
		w := g.world()
		w.s.CoolDown = 0
		w.core = true // without it "two plugins may want a pod on different nodes"
		for _, p := range w.s.Profiles {
			for i := range p.Plugins {
				p.Plugins[i].Args.UseDeviationThresholds = false
				if p.Plugins[i].Name == lifeTime && p.Plugins[i].Args.MaxPodLifeTimeSeconds == nil {
					p.Plugins[i].Args.MaxPodLifeTimeSeconds = ptr(1800)
				}
			}
		}
		fails := func(v world) []finding { return e.quiet(v, 0, 8) }
		fs := fails(w)
		out.tell(seed, w, fs, fails)
		n++
	}
	t.Log(n, out.count)
}

var trace func(string, ...any)

// long plays cycles in which some pods take their time to end, and some replacements go
// elsewhere or come back.
func (e *engine) long(w world, seed uint64, mix bool) (found []finding, texts string) {
	x := w.copy()
	pl, err := e.play(&x, false)
	if err != nil {
		return []finding{{"build", err.Error()}}, ""
	}
	if mix {
		pl.mix = rand.New(rand.NewPCG(seed, 15))
	}
	g := gen{rand.New(rand.NewPCG(seed, 5)), options{}}
	h := newHistory()
	serial := 0
	fromsOf := map[string][]string{} // over all cycles: a pod made for another eviction counts as come back, too
	slow := map[types.UID]int{}
	initial := x.s.CoolDown
	if initial < 0 {
		initial = 10 * time.Minute
	}
	for cycle := range 6 {
		before := x.copy()
		now := pl.clock.Now()
		r, text, err := pl.cycle()
		texts += text
		if err != nil {
			return append(found, finding{"cycle", err.Error()}), texts
		}
		if trace != nil {
			trace("cycle %d at %s", cycle+1, now.Format(time.TimeOnly))
			for _, p := range before.o.Pods {
				trace("   %s on %s made %s ending %v slow %v", id(p), p.Spec.NodeName, p.CreationTimestamp.Format(time.TimeOnly), p.DeletionTimestamp != nil, slow[p.UID])
			}
			trace("   %q", moves(r))
		}
		// The program counts pods that it evicted before as gone: see TestEndingPodHoldsItsRoom.
		before.o.Pods = slices.DeleteFunc(before.o.Pods, func(p *v1.Pod) bool { _, ok := slow[p.UID]; return ok })
		c := check(&before, r, pl.d, h, now)
		for _, f := range c.found {
			found = append(found, finding{f.class, fmt.Sprintf("cycle %d: %s", cycle+1, f.text)})
		}
		pl.clock.Step(pick(g, 10*time.Second, time.Minute, 3*time.Minute))
		now = pl.clock.Now()
		to := map[types.UID]descheduler.Eviction{}
		perWL := map[string]int{}
		byUID := map[types.UID]*v1.Pod{}
		for _, p := range x.o.Pods {
			byUID[p.UID] = p
		}
		for _, ev := range r.Evictions {
			to[ev.UID] = ev
			perWL[workload(byUID[ev.UID])]++
			fromsOf[workload(byUID[ev.UID])] = append(fromsOf[workload(byUID[ev.UID])], ev.From)
		}
		var pods, made []*v1.Pod
		var flight []*v1.Pod
		var froms []string
		for _, p := range x.o.Pods {
			ev, gone := to[p.UID]
			if !gone {
				if n, ok := slow[p.UID]; ok {
					if n == 0 {
						continue
					}
					slow[p.UID] = n - 1
					flight = append(flight, p)
				}
				pods = append(pods, p)
				continue
			}
			if g.p(30) && p.Status.Phase == v1.PodRunning {
				at := metav1.NewTime(now.Add(-5 * time.Second))
				p.DeletionTimestamp, p.Finalizers = &at, []string{"x"}
				pods = append(pods, p)
				flight = append(flight, p)
				h.fold["x"] = 1
				slow[p.UID] = g.IntN(3)
			}
			if ev.To == "" {
				continue
			}
			serial++
			made = append(made, anew(p, pick(g, ev.To, ev.To, ev.From, "*"), now, serial))
			froms = append(froms, ev.From)
		}
		h.flight = flight
		x.o.Pods = pods
		m := newModel(&x)
		for i, p := range made {
			from, stands := froms[i], false
			options := []string{p.Spec.NodeName, "n0", "n1", "n2", "n3", "n4", "n5"}
			for _, n := range options {
				if m.nodes[n] == nil || m.fits(p, n) != "" || !nodeReady(m.nodes[n]) {
					continue
				}
				p.Spec.NodeName = n
				x.o.Pods = append(x.o.Pods, p)
				m.add(p)
				stands = true
				if workload(p) != "" && slices.Contains(fromsOf[workload(p)], n) {
					h.fold[workload(p)+" "+n] = 1 // it may be in a cool-down
				}
				if wl := workload(p); n == from && perWL[wl] == 1 {
					h.cool[wl+" "+n] = r.Started.Add(initial)
				}
				break
			}
			if !stands {
				h.fold["x"] = 1 // its place may be kept
			}
		}
		for _, b := range x.o.Budgets {
			fill(b, x.o.Pods)
		}
	}
	return found, texts
}

// TestOrder has room for one eviction only: the oldest pod, or that with most restarts.
func TestOrder(t *testing.T) {
	e := newEngine(t)
	out := &told{t: t, e: e, count: map[string]int{}}
	first := number(t, "ORACLE_FIRST", 0)
	n := 0
	for seed := first; seed < first+number(t, "ORACLE_WORLDS", 300); seed++ {
		name := pick(gen{rand.New(rand.NewPCG(seed, 8)), options{}}, lifeTime, restarts)
		g := gen{rand.New(rand.NewPCG(seed, 7)), options{plugins: []string{name}, one: true, simple: true}}
		w := g.world()
		w.s.Total = 1
		fails := func(v world) []finding {
			x := v.copy()
			pl, err := e.play(&x, true)
			if err != nil || len(v.s.Profiles) == 0 || len(v.s.Profiles[0].Plugins) == 0 {
				return nil
			}
			r, _, err := pl.cycle()
			if err != nil || r.Skipped != "" {
				return nil
			}
			m := newModel(&v)
			pr := v.s.Profiles[0]
			var best *v1.Pod
			score := func(p *v1.Pod) int64 {
				if name == lifeTime {
					return -p.CreationTimestamp.Unix()
				}
				return int64(p.Status.ContainerStatuses[0].RestartCount)
			}
			for _, p := range v.o.Pods {
				if !m.processed(pr, m.nodes[p.Spec.NodeName]) {
					continue
				}
				o, _ := m.protection(pr, p, start)
				if o != no || m.wants(pr.Plugins[0], p, start) != yes {
					continue
				}
				if returns(p) && !slices.ContainsFunc(v.o.Nodes, func(n *v1.Node) bool { return m.fits(p, n.Name) == "" }) {
					continue
				}
				if best == nil || score(p) > score(best) {
					best = p
				}
			}
			if best == nil {
				return nil
			}
			n++
			if len(r.Evictions) != 1 {
				return []finding{{"order", fmt.Sprintf("not %s: %q", id(best), moves(r))}}
			}
			if got := m.pods[r.Evictions[0].UID]; score(got) < score(best) {
				return []finding{{"order", fmt.Sprintf("not %s: %q", id(best), moves(r))}}
			}
			return nil
		}
		out.tell(seed, w, fails(w), fails)
	}
	t.Log(n, out.count)
}

// TestCycles checks limits, budgets, rates and cool-down over several cycles.
func TestCycles(t *testing.T) {
	e := newEngine(t)
	out := &told{t: t, e: e, count: map[string]int{}}
	first := number(t, "ORACLE_FIRST", 0)
	for seed := first; seed < first+number(t, "ORACLE_WORLDS", 300); seed++ {
		g := gen{rand.New(rand.NewPCG(seed, 6)), options{dense: seed%2 == 1}}
		w := g.world()
		if w.s.Total == 0 {
			w.s.Total = -1
		}
		fails := func(v world) []finding {
			fs, a := e.long(v, seed, false)
			if _, b := e.long(v, seed, true); a != b {
				fs = append(fs, finding{"shuffled", diff(a, b)})
			}
			return fs
		}
		out.again = func(v world) { trace = t.Logf; e.long(v, seed, false); trace = nil }
		out.tell(seed, w, fails(w), fails)
	}
	t.Log(out.count)
}

// TestImportance has room for one eviction only: of the pods of a node, the least important one.
func TestImportance(t *testing.T) {
	e := newEngine(t)
	out := &told{t: t, e: e, count: map[string]int{}}
	first := number(t, "ORACLE_FIRST", 0)
	n := 0
	for seed := first; seed < first+number(t, "ORACLE_WORLDS", 300); seed++ {
		name := pick(gen{rand.New(rand.NewPCG(seed, 13)), options{}}, taints, affinity, apart, failed)
		g := gen{rand.New(rand.NewPCG(seed, 14)), options{plugins: []string{name}, one: true, simple: true}}
		w := g.world()
		w.s.Total = 1
		w.core = false
		a := &w.s.Profiles[0].Plugins[0].Args
		if name == affinity {
			a.NodeAffinityType = []string{"requiredDuringSchedulingIgnoredDuringExecution"}
		}
		fails := func(v world) []finding {
			x := v.copy()
			pl, err := e.play(&x, true)
			if err != nil || len(v.s.Profiles) == 0 || len(v.s.Profiles[0].Plugins) == 0 {
				return nil
			}
			r, _, err := pl.cycle()
			if err != nil || r.Skipped != "" {
				return nil
			}
			m := newModel(&v)
			pr := v.s.Profiles[0]
			rank := func(p *v1.Pod) int64 {
				s := int64(-1)
				if p.Spec.Priority != nil {
					s = int64(*p.Spec.Priority)
				}
				if _, ok := p.Annotations[noEvict]; ok {
					s += 1 << 40
				}
				return s
			}
			if len(r.Evictions) != 1 {
				return nil
			}
			got := m.pods[r.Evictions[0].UID]
			for _, p := range v.o.Pods {
				if p.Spec.NodeName != got.Spec.NodeName || p == got {
					continue
				}
				o, _ := m.protection(pr, p, start)
				if o != no || m.wants(pr.Plugins[0], p, start) != yes {
					continue
				}
				if returns(p) && !slices.ContainsFunc(v.o.Nodes, func(n *v1.Node) bool {
					return m.fits(p, n.Name) == "" && m.accepts(pr.Plugins[0], p, n.Name)
				}) {
					continue
				}
				n++
				if rank(p) < rank(got) {
					return []finding{{"importance " + name, fmt.Sprintf("not %s: %q", id(p), moves(r))}}
				}
			}
			return nil
		}
		out.tell(seed, w, fails(w), fails)
	}
	t.Log(n, out.count)
}
