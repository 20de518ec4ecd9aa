package oracle

import (
	"fmt"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler"
)

// A generator makes the world of a seed.
type generator func(seed uint64) world

// number reads a number of the environment.
func number(t *testing.T, key string, otherwise uint64) uint64 {
	t.Helper()
	text := os.Getenv(key)
	if text == "" {
		return otherwise
	}
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// play makes worlds and compares the program with the model in each. It reports the first finding
// of each class, in the smallest world that has it, and how many there were.
func play(t *testing.T, worlds uint64, generate generator, compare func(seed uint64, w world) []finding) {
	t.Helper()
	first := number(t, "ORACLE_FIRST", 0)
	count := map[string]int{}
	for seed := first; seed < first+number(t, "ORACLE_WORLDS", worlds); seed++ {
		w := generate(seed)
		fails := func(v world) []finding { return compare(seed, v) }
		seen := map[string]bool{}
		for _, f := range fails(w.copy()) {
			if seen[f.class] {
				continue
			}
			seen[f.class] = true
			count[f.class]++
			if count[f.class] > 1 {
				continue
			}
			small, g := shrink(w, f.class, fails)
			t.Errorf("seed %d, %s: %s\nbefore it was made smaller: %s\n%s", seed, f.class, g.text, f.text, small)
		}
	}
	if len(count) > 0 {
		t.Errorf("findings: %v", count)
	}
}

// once plays one cycle and checks it. It returns the report as JSON too.
func (e *engine) once(w world, dry bool) (*checker, string) {
	x := w.copy()
	run, err := e.start(&x, dry)
	if err != nil {
		return &checker{found: []finding{{"start", err.Error()}}}, ""
	}
	r, text, err := run.cycle()
	if err != nil {
		return &checker{found: []finding{{"cycle", err.Error()}}}, text
	}
	c := check(&w, cycleOf{report: r, d: run.d, history: newHistory(), now: start})
	if len(r.Failures) > 0 {
		c.bad("failure", "%v", r.Failures)
	}
	if dry && len(run.evicted) > 0 {
		c.bad("dry", "%v", run.evicted)
	}
	if !dry && !slices.Equal(uids(r), run.evicted) {
		c.bad("asked", "%v %v", uids(r), run.evicted)
	}
	return c, text
}

// oneCycle plays a cycle for real, in a dry run, and in a dry run with the objects in another
// order.
func (e *engine) oneCycle(seed uint64, w world) []finding {
	dry, text := e.once(w, true)
	done, doneText := e.once(w, false)
	mixed := w.copy()
	mixed.shuffle(random(seed, 2).Rand)
	_, mixedText := e.once(mixed, true)
	found := slices.Concat(dry.found, done.found)
	if mixedText != text {
		found = append(found, finding{"shuffled", difference(text, mixedText)})
	}
	if !sameDecisions(dry.r, done.r) {
		found = append(found, finding{"dry and real", difference(text, doneText)})
	}
	return found
}

// TestOneCycle is one cycle in worlds that mix everything.
func TestOneCycle(t *testing.T) {
	play(t, 200, worlds(1, options{}), newEngine(t).oneCycle)
}

// TestPodsWithRules is the same with more pods that have rules about each other.
func TestPodsWithRules(t *testing.T) {
	o := options{dense: true, plugins: []string{spread, apart, duplicates, affinity, taints, low, high}}
	play(t, 200, worlds(16, o), newEngine(t).oneCycle)
}

// TestLargerClusters is the same in larger ones.
func TestLargerClusters(t *testing.T) {
	play(t, 20, worlds(12, options{large: true}), newEngine(t).oneCycle)
}

// TestAPIServerFails has an API server that has errors for some pods. A pod that it did not evict
// is not in the report, and holds its place.
func TestAPIServerFails(t *testing.T) {
	e := newEngine(t)
	play(t, 200, worlds(10, options{}), func(seed uint64, w world) []finding {
		x := w.copy()
		run, err := e.start(&x, false)
		if err != nil {
			return []finding{{"start", err.Error()}}
		}
		run.fails = failing(seed)
		r, _, err := run.cycle()
		if err != nil && len(run.failed) == 0 {
			return []finding{{"cycle", err.Error()}}
		}
		h := newHistory()
		for _, uid := range run.failed {
			h.failed[uid] = true
		}
		c := check(&w, cycleOf{report: r, d: run.d, history: h, now: start})
		if !slices.Equal(uids(r), run.evicted) {
			c.bad("asked", "%v %v", uids(r), run.evicted)
		}
		for _, p := range w.o.Pods {
			said := slices.ContainsFunc(run.d.Why(p.Namespace, p.Name).Decisions, func(d descheduler.Decision) bool {
				return d.UID == p.UID && d.Outcome == descheduler.Failed
			})
			if h.failed[p.UID] && !said {
				c.bad("failed", "%s: /why does not say so", id(p))
			}
		}
		return c.found
	})
}

// failing picks the pods for which the API server has errors.
func failing(seed uint64) func(*v1.Pod) bool {
	return func(p *v1.Pod) bool { return (uint64(len(p.Name)+int(p.Name[len(p.Name)-1]))+seed)%3 == 0 }
}

// TestDryRunTwice is a dry run of several cycles in a cluster that does not change: all say the
// same.
func TestDryRunTwice(t *testing.T) {
	e := newEngine(t)
	play(t, 200, worlds(11, options{}), func(_ uint64, w world) []finding {
		run, err := e.start(&w, true)
		if err != nil {
			return []finding{{"start", err.Error()}}
		}
		var all [][]string
		for range 3 {
			r, _, err := run.cycle()
			if err != nil {
				return []finding{{"cycle", err.Error()}}
			}
			all = append(all, evictions(r))
			if !slices.Equal(all[0], evictions(r)) {
				return []finding{{"dry again", fmt.Sprintf("%q", all)}}
			}
		}
		return nil
	})
}

// sameDecisions says whether two reports have the same evictions and count the same decisions. The words
// of an API server that refuses are its own.
func sameDecisions(a, b *descheduler.Report) bool {
	if a == nil || b == nil {
		return a == b
	}
	return reflect.DeepEqual(a.Evictions, b.Evictions) && reflect.DeepEqual(a.Kept, b.Kept)
}

func difference(a, b string) string {
	x, y := strings.Split(a, "\n"), strings.Split(b, "\n")
	for i := range min(len(x), len(y)) {
		if x[i] != y[i] && !strings.Contains(x[i], "dryRun") {
			return fmt.Sprintf("line %d: %s | %s", i, x[i], y[i])
		}
	}
	return fmt.Sprintf("%d and %d lines", len(x), len(y))
}
