package oracle

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler"
)

// number reads how many worlds are asked for.
func number(t *testing.T, key string, otherwise int) uint64 {
	t.Helper()
	if n, err := strconv.Atoi(os.Getenv(key)); err == nil {
		return uint64(n)
	}
	return uint64(otherwise)
}

func (e *engine) one(w world, dry bool) ([]finding, string) { return e.single(w, dry, false) }

func (e *engine) single(w world, dry, simple bool) ([]finding, string) {
	x := w.copy()
	pl, err := e.play(&x, dry)
	if err != nil {
		return []finding{{"build", err.Error()}}, ""
	}
	r, text, err := pl.cycle()
	if err != nil {
		return []finding{{"cycle", err.Error()}}, text
	}
	h := newHistory()
	h.simple = simple
	c := check(&w, r, pl.d, h, start)
	if dry && len(pl.asked) > 0 {
		c.bad("dry", "%v", pl.asked)
	}
	if !dry {
		var uids []string
		for _, ev := range r.Evictions {
			uids = append(uids, string(ev.UID))
		}
		if fmt.Sprint(uids) != fmt.Sprint(pl.asked) {
			c.bad("asked", "%v %v", uids, pl.asked)
		}
	}
	return c.found, text
}

// shrink takes away what a finding does not need.
func shrink(w world, class string, fails func(world) []finding) (world, finding) {
	has := func(v world) (finding, bool) {
		for _, f := range fails(v) {
			if f.class == class {
				return f, true
			}
		}
		return finding{}, false
	}
	last, _ := has(w)
	try := func(change func(*world)) bool {
		v := w.copy()
		ps := make([]profile, len(v.s.Profiles))
		for i, p := range v.s.Profiles {
			p.Plugins = slices.Clone(p.Plugins)
			ps[i] = p
		}
		v.s.Profiles = ps
		change(&v)
		if f, ok := has(v); ok {
			w, last = v, f
			return true
		}
		return false
	}
	for again := true; again; {
		again = false
		for i := len(w.s.Profiles) - 1; i >= 0; i-- {
			again = try(func(v *world) { v.s.Profiles = slices.Delete(v.s.Profiles, i, i+1) }) || again
		}
		for i := range w.s.Profiles {
			if !reflect.DeepEqual(w.s.Profiles[i].Evictor, evictorArgs{}) {
				again = try(func(v *world) { v.s.Profiles[i].Evictor = evictorArgs{} }) || again
			}
			for j := len(w.s.Profiles[i].Plugins) - 1; j >= 0; j-- {
				again = try(func(v *world) { v.s.Profiles[i].Plugins = slices.Delete(v.s.Profiles[i].Plugins, j, j+1) }) || again
			}
		}
		for i := len(w.o.Pods) - 1; i >= 0; i-- {
			again = try(func(v *world) { v.o.Pods = slices.Delete(v.o.Pods, i, i+1) }) || again
		}
		for i := len(w.o.Nodes) - 1; i >= 0; i-- {
			name := w.o.Nodes[i].Name
			used := false
			for _, p := range w.o.Pods {
				used = used || p.Spec.NodeName == name
			}
			if !used {
				again = try(func(v *world) { v.o.Nodes = slices.Delete(v.o.Nodes, i, i+1) }) || again
			}
		}
		for i := len(w.o.Budgets) - 1; i >= 0; i-- {
			again = try(func(v *world) { v.o.Budgets = slices.Delete(v.o.Budgets, i, i+1) }) || again
		}
	}
	for _, n := range []func(*settings) *int{
		func(s *settings) *int { return &s.Total }, func(s *settings) *int { return &s.PerNode }, func(s *settings) *int { return &s.PerNS }, func(s *settings) *int { return &s.PerWL },
		func(s *settings) *int { return &s.FTotal }, func(s *settings) *int { return &s.FNode }, func(s *settings) *int { return &s.FNS }, func(s *settings) *int { return &s.FWL },
	} {
		try(func(v *world) { *n(&v.s) = -1 })
	}
	try(func(v *world) { v.s.RateMax = 0 })
	for i := range w.o.Pods {
		try(func(v *world) { v.o.Pods[i].Spec.Tolerations = nil })
		try(func(v *world) { v.o.Pods[i].Spec.Affinity = nil })
		try(func(v *world) { v.o.Pods[i].Spec.TopologySpreadConstraints = nil })
		try(func(v *world) { v.o.Pods[i].Spec.Volumes = nil })
		try(func(v *world) { v.o.Pods[i].Spec.Priority = nil })
		try(func(v *world) { v.o.Pods[i].Annotations = nil })
		try(func(v *world) {
			v.o.Pods[i].Spec.Containers[0].Resources.Requests, v.o.Pods[i].Spec.Containers[0].Resources.Limits = nil, nil
		})
	}
	for i := range w.o.Nodes {
		try(func(v *world) { v.o.Nodes[i].Spec.Taints = nil })
		try(func(v *world) { v.o.Nodes[i].Spec.Unschedulable = false })
	}
	return w, last
}

func (w world) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "core %v\n%s\n", w.core, compact(w.s.text()))
	short := func(v any) string {
		text, _ := json.Marshal(v)
		return strings.NewReplacer(`"`, "", "metadata:", "", "creationTimestamp", "created", "DuringSchedulingIgnoredDuringExecution", "", "lastProbeTime:null,", "", `,lastState:{},ready:false`, "", `,image:,imageID:`, "").Replace(string(text))
	}
	for _, n := range w.o.Nodes {
		fmt.Fprintf(&b, "node %s %s %s alloc %s ready %s\n", n.Name, short(n.Labels), short(n.Spec), short(n.Status.Allocatable), n.Status.Conditions[0].Status)
	}
	for _, p := range w.o.Pods {
		fmt.Fprintf(&b, "pod %s on %q of %s labels %s notes %s gone %v spec %s status %s\n", id(p), p.Spec.NodeName, workload(p), short(p.Labels), short(p.Annotations), p.DeletionTimestamp != nil, short(p.Spec), short(p.Status))
	}
	for _, p := range w.o.Budgets {
		fmt.Fprintf(&b, "budget %s generation %d spec %s status %s\n", p.Name, p.Generation, short(p.Spec), short(p.Status))
	}
	return b.String()
}

func compact(text string) string {
	var v any
	_ = json.Unmarshal([]byte(text), &v)
	c, _ := json.Marshal(v)
	return string(c)
}

// evictions are those of a dry run.
func (e *engine) evictions(w world) (of []string) {
	x := w.copy()
	pl, err := e.play(&x, true)
	if err != nil {
		return []string{err.Error()}
	}
	r, _, _ := pl.cycle()
	for _, v := range r.Evictions {
		of = append(of, fmt.Sprintf("%s/%s %s %s->%s", v.Profile, v.Plugin, v.Pod, v.From, v.To))
	}
	return
}

// told collects findings by class and fails with the first, shrunk, of each.
type told struct {
	t     *testing.T
	e     *engine
	count map[string]int
	shown int
	again func(world)
}

func (o *told) tell(seed uint64, w world, fs []finding, fails func(world) []finding) {
	seen := map[string]bool{}
	for _, f := range fs {
		if seen[f.class] {
			continue
		}
		seen[f.class] = true
		o.count[f.class]++
		if o.count[f.class] > 1 {
			continue
		}
		small, g := shrink(w, f.class, fails)
		o.t.Errorf("seed %d, %s: %s\nwas: %s\nevictions: %s\n%s", seed, f.class, g.text, f.text, o.e.evictions(small), small)
		if o.again != nil {
			o.again(small)
		}
	}
}

// TestDense is TestOneCycle with more pods that have rules about each other.
func TestDense(t *testing.T) {
	oneCycle(t, 16, options{dense: true, plugins: []string{spread, apart, duplicates, affinity, taints, low, high}})
}

// TestOneCycle is one cycle in random worlds that mix everything, in a dry run and for real.
func TestOneCycle(t *testing.T) { oneCycle(t, 1, options{}) }

func oneCycle(t *testing.T, stream uint64, o options) {
	t.Helper()
	e := newEngine(t)
	out := &told{t: t, e: e, count: map[string]int{}}
	evictions := map[string]int{}
	first := number(t, "ORACLE_FIRST", 0)
	for seed := first; seed < first+number(t, "ORACLE_WORLDS", 300); seed++ {
		g := gen{rand.New(rand.NewPCG(seed, stream)), o}
		w := g.world()
		fs, text := e.one(w, true)
		out.tell(seed, w, fs, func(v world) []finding { f, _ := e.one(v, true); return f })
		real := func(v world) []finding {
			f, _ := e.one(v, false)
			return f
		}
		other, same := e.one(w, false)
		out.tell(seed, w, other, real)
		mixed := w.copy()
		mixed.shuffle(rand.New(rand.NewPCG(seed, 2)))
		_, again := e.one(mixed, true)
		if again != text {
			out.tell(seed, w, []finding{{"shuffled", diff(text, again)}}, func(v world) []finding {
				_, a := e.one(v, true)
				for i := range uint64(3) {
					x := v.copy()
					x.shuffle(rand.New(rand.NewPCG(seed, 2+i)))
					if _, b := e.one(x, true); a != b {
						return []finding{{"shuffled", diff(a, b)}}
					}
				}
				return nil
			})
		}
		if head(text) != head(same) {
			out.tell(seed, w, []finding{{"dry and real", diff(text, same)}}, func(v world) []finding {
				_, a := e.one(v, true)
				_, b := e.one(v, false)
				if head(a) != head(b) {
					return []finding{{"dry and real", diff(a, b)}}
				}
				return nil
			})
		}
		for _, name := range all {
			evictions[name] += strings.Count(text, `"plugin": "`+name)
		}
	}
	t.Log(evictions, out.count)
}

// TestAlone is one cycle of one plugin without limits, budgets and core: what could be better
// is.
func TestAlone(t *testing.T) {
	e := newEngine(t)
	out := &told{t: t, e: e, count: map[string]int{}}
	first := number(t, "ORACLE_FIRST", 0)
	for seed := first; seed < first+number(t, "ORACLE_WORLDS", 300); seed++ {
		g := gen{rand.New(rand.NewPCG(seed, 9)), options{plugins: []string{low, duplicates, spread, high}, one: true, simple: true, dense: seed%2 == 1}}
		w := g.world()
		w.core = false
		w.s.Profiles[0].Evictor.NodeFit, w.s.Profiles[0].Evictor.NodeSelector = false, ""
		w.s.Profiles[0].Evictor.MinReplicas = 0
		fails := func(v world) []finding { f, _ := e.single(v, true, true); return f }
		out.tell(seed, w, fails(w), fails)
	}
	t.Log(out.count)
}

// TestFlaky has an API server that fails for some pods: what it did not evict is not in the
// report, and holds its place.
func TestFlaky(t *testing.T) {
	e := newEngine(t)
	out := &told{t: t, e: e, count: map[string]int{}}
	first := number(t, "ORACLE_FIRST", 0)
	broken := 0
	for seed := first; seed < first+number(t, "ORACLE_WORLDS", 300); seed++ {
		g := gen{rand.New(rand.NewPCG(seed, 10)), options{}}
		w := g.world()
		fails := func(v world) []finding {
			x := v.copy()
			pl, err := e.play(&x, false)
			if err != nil {
				return nil
			}
			pl.flaky = func(p *v1.Pod) bool { return (uint64(len(p.Name)+int(p.Name[len(p.Name)-1]))+seed)%3 == 0 }
			r, _, err := pl.cycle()
			if err != nil && len(pl.broken) == 0 {
				return []finding{{"cycle", err.Error()}}
			}
			r.Failures = nil // they are told
			h := newHistory()
			for _, uid := range pl.broken {
				h.fold[string(uid)]++
			}
			broken += len(pl.broken)
			c := check(&v, r, pl.d, h, start)
			var uids []types.UID
			for _, ev := range r.Evictions {
				uids = append(uids, ev.UID)
			}
			if !slices.Equal(uids, pl.asked) {
				c.bad("asked", "%v %v", uids, pl.asked)
			}
			for _, uid := range pl.broken {
				told := false
				for _, p := range v.o.Pods {
					for _, d := range pl.d.Why(p.Namespace, p.Name).Decisions {
						told = told || p.UID == uid && d.Outcome == descheduler.Failed
					}
				}
				if !told {
					c.bad("failed", "%s is not told to have failed", uid)
				}
			}
			return c.found
		}
		out.tell(seed, w, fails(w), fails)
	}
	t.Log(broken, out.count)
}

// TestDryAgain is a dry run of several cycles in a cluster that does not change.
func TestDryAgain(t *testing.T) {
	e := newEngine(t)
	out := &told{t: t, e: e, count: map[string]int{}}
	first := number(t, "ORACLE_FIRST", 0)
	for seed := first; seed < first+number(t, "ORACLE_WORLDS", 300); seed++ {
		g := gen{rand.New(rand.NewPCG(seed, 11)), options{}}
		w := g.world()
		fails := func(v world) []finding {
			x := v.copy()
			pl, err := e.play(&x, true)
			if err != nil {
				return nil
			}
			var all [][]string
			for range 3 {
				r, _, err := pl.cycle()
				if err != nil {
					return []finding{{"cycle", err.Error()}}
				}
				all = append(all, moves(r))
				if !slices.Equal(all[0], moves(r)) {
					return []finding{{"dry again", fmt.Sprintf("%q", all)}}
				}
			}
			return nil
		}
		out.tell(seed, w, fails(w), fails)
	}
	t.Log(out.count)
}

// TestBig is TestOneCycle in larger worlds.
func TestBig(t *testing.T) {
	e := newEngine(t)
	out := &told{t: t, e: e, count: map[string]int{}}
	first := number(t, "ORACLE_FIRST", 0)
	evictions, pods := 0, 0
	for seed := first; seed < first+number(t, "ORACLE_WORLDS", 20); seed++ {
		g := gen{rand.New(rand.NewPCG(seed, 12)), options{big: true}}
		w := g.world()
		pods += len(w.o.Pods)
		fs, text := e.one(w, true)
		out.tell(seed, w, fs, func(v world) []finding { f, _ := e.one(v, true); return f })
		evictions += strings.Count(text, `"plugin"`)
		mixed := w.copy()
		mixed.shuffle(rand.New(rand.NewPCG(seed, 2)))
		if _, again := e.one(mixed, true); again != text {
			t.Errorf("seed %d: %s", seed, diff(text, again))
		}
	}
	t.Log(pods, evictions, out.count)
}

// head is a report as far as it says what was evicted.
func head(report string) string {
	before, _, _ := strings.Cut(strings.Replace(report, `"dryRun": true`, `"dryRun": false`, 1), `"kept"`)
	return before
}

func diff(a, b string) string {
	x, y := strings.Split(a, "\n"), strings.Split(b, "\n")
	for i := range min(len(x), len(y)) {
		if x[i] != y[i] && !strings.Contains(x[i], "dryRun") {
			return fmt.Sprintf("line %d: %s | %s", i, x[i], y[i])
		}
	}
	return fmt.Sprint(len(x), " ", len(y))
}
