package oracle

import (
	"fmt"
	"slices"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler"
)

// TestCycles plays several cycles, and compares each with the model. Between them some evicted
// pods take their time to end, and some replacements run elsewhere than the report says, or come
// back.
func TestCycles(t *testing.T) {
	e := newEngine(t)
	play(t, 150, func(seed uint64) world {
		w := random(seed, 6, options{dense: seed%2 == 1}).world()
		if w.s.Cycle.Total == 0 {
			w.s.Cycle.Total = -1
		}
		return w
	}, func(seed uint64, w world) []finding {
		found, text := e.cycles(w, seed, false)
		if _, mixed := e.cycles(w, seed, true); text != mixed {
			found = append(found, finding{"shuffled", difference(text, mixed)})
		}
		return found
	})
}

// A sequence is what happens between the cycles of a run.
type sequence struct {
	source
	w      *world
	run    *run
	h      *history
	from   map[string][]string // nodes from which pods of a workload were evicted
	ending map[types.UID]int   // in how many cycles a pod has ended
	told   []string            // the evictions of each cycle
}

// cycles plays six of them. With shuffled the objects have another order in each.
func (e *engine) cycles(w world, seed uint64, shuffled bool) (found []finding, reports string) {
	x := w.copy()
	run, err := e.start(&x, false)
	if err != nil {
		return []finding{{"start", err.Error()}}, ""
	}
	if shuffled {
		run.shuffled = random(seed, 15).Rand
	}
	s := &sequence{source: random(seed, 5), w: &x, run: run, h: newHistory(), from: map[string][]string{}, ending: map[types.UID]int{}}
	for cycle := range 6 {
		before := x.copy()
		now := run.clock.Now()
		r, text, err := run.cycle()
		if err != nil {
			return append(found, finding{"cycle", err.Error()}), reports
		}
		reports += text
		s.told = append(s.told, fmt.Sprintf("at %s %q", now.Format(time.TimeOnly), evictions(r)))
		for _, f := range check(&before, cycleOf{report: r, d: run.d, history: s.h, now: now}).found {
			found = append(found, finding{f.class, fmt.Sprintf("cycle %d: %s\n%q", cycle+1, f.text, s.told)})
		}
		run.clock.Step(pick(s.source, 10*time.Second, time.Minute, 3*time.Minute))
		s.after(r)
	}
	return found, reports
}

// after has evicted pods end, or begin to, and places their replacements.
func (s *sequence) after(r *descheduler.Report) {
	evictions, ofWorkload := map[types.UID]descheduler.Eviction{}, map[string]int{}
	for _, e := range r.Evictions {
		evictions[e.UID] = e
	}
	var stay, evicted []*v1.Pod
	s.h.inFlight = nil
	for _, p := range s.w.o.Pods {
		if e, ok := evictions[p.UID]; ok {
			evicted = append(evicted, p)
			ofWorkload[workload(p)]++
			s.from[workload(p)] = append(s.from[workload(p)], e.From)
		}
		if s.ends(p, evictions[p.UID].UID == p.UID) {
			continue
		}
		stay = append(stay, p)
		if _, ok := s.ending[p.UID]; ok {
			s.h.inFlight = append(s.h.inFlight, p)
		}
	}
	s.w.o.Pods = stay
	for _, p := range evicted {
		e := evictions[p.UID]
		if e.To == "" {
			continue
		}
		node := s.place(p, pick(s.source, e.To, e.To, e.From, ""))
		if node == e.From && ofWorkload[workload(p)] == 1 {
			s.h.coolDown[at(workload(p), node)] = r.Started.Add(s.coolDown())
		}
	}
	for _, b := range s.w.o.Budgets {
		fill(b, s.w.o.Pods)
	}
}

// ends says whether a pod is gone now. Some that run take up to three cycles more.
func (s *sequence) ends(p *v1.Pod, evicted bool) bool {
	if !evicted {
		left, ok := s.ending[p.UID]
		s.ending[p.UID] = left - 1
		if !ok {
			delete(s.ending, p.UID)
		}
		return ok && left == 0
	}
	if !s.p(30) || p.Status.Phase != v1.PodRunning {
		return true
	}
	p.DeletionTimestamp, p.Finalizers = new(metav1.NewTime(s.run.clock.Now().Add(-5*time.Second))), []string{"x"}
	s.ending[p.UID] = s.IntN(3)
	return false
}

// place runs a replacement on a node, or else on the first one that takes it.
func (s *sequence) place(p *v1.Pod, node string) string {
	r := anew(p, node, s.run.clock.Now())
	m := newModel(s.w)
	nodes := []string{node}
	for i := range s.w.o.Nodes {
		nodes = append(nodes, fmt.Sprint("n", i))
	}
	for _, n := range nodes {
		if m.nodes[n] == nil || m.fits(r, n) != "" || !nodeReady(m.nodes[n]) {
			continue
		}
		r.Spec.NodeName = n
		s.w.o.Pods = append(s.w.o.Pods, r)
		// A pod made for another eviction of the workload counts as come back, too.
		if slices.Contains(s.from[workload(r)], n) {
			s.h.mayCool[at(workload(r), n)] = true
		}
		return n
	}
	s.h.keptPlace = true
	return ""
}

// coolDown is the first one.
func (s *sequence) coolDown() time.Duration {
	if s.w.s.CoolDown < 0 {
		return 10 * time.Minute
	}
	return s.w.s.CoolDown
}

// anew is the pod that is made in place of another.
func anew(p *v1.Pod, node string, now time.Time) *v1.Pod {
	r := p.DeepCopy()
	r.Name, r.UID = p.Name+"r", p.UID+"r"
	since := metav1.NewTime(now.Truncate(time.Second))
	r.CreationTimestamp, r.DeletionTimestamp, r.Finalizers = since, nil, nil
	r.Spec.NodeName = node
	r.Status = v1.PodStatus{
		Phase: v1.PodRunning, StartTime: &since,
		Conditions:        []v1.PodCondition{{Type: v1.PodReady, Status: v1.ConditionTrue, LastTransitionTime: since}},
		ContainerStatuses: []v1.ContainerStatus{{Name: "main", State: v1.ContainerState{Running: &v1.ContainerStateRunning{}}}},
	}
	return r
}
