package simulation

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	v1 "k8s.io/api/core/v1"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/framework"
	ft "github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/frameworktest"
)

// TestClosedLoopWithoutTheCore plays random clusters with a descheduler that has no core to ask.
// The laws of which NodeFit knows hold all the same: pods find room on nodes that they accept, also
// all at once, no limit, budget or protection is broken, a plugin by itself moves no pod back, and
// equal input gives equal output.
func TestClosedLoopWithoutTheCore(t *testing.T) {
	evictions := map[string]int{}
	for _, seed := range seeds(t, clusters(t)/2) {
		s := scenarioOf(seed)
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			for _, wrong := range s.playWithoutCore(t, evictions) {
				t.Error(wrong)
			}
			if t.Failed() {
				t.Log(s.policy)
			}
		})
	}
	t.Log(evictions)
	assert.Assert(t, len(evictions) >= 8, "%v", evictions)
}

// playWithoutCore returns what is wrong.
func (s scenario) playWithoutCore(t *testing.T, evictions map[string]int) []string {
	been := &route{nodes: map[string][]string{}}
	made := func(shuffled bool) *world {
		w := withoutCore(t, s.objects(rand.New(rand.NewPCG(s.seed, 3)), shuffled), load(t, s.policy))
		w.allow()
		return w
	}
	return s.cycles(made, evictions, func(p played) (wrong []string) {
		for _, check := range []func(*descheduler.Report, framework.Objects, framework.Objects) []string{accepted, protections, p.w.limits, budgets, gangs} {
			wrong = append(wrong, check(p.report, p.before, p.w.objects)...)
		}
		if !strings.Contains(s.policy, "name: p1") { // several plugins may want a pod on different nodes
			wrong = append(wrong, been.follow(p.report, p.before.Pods)...)
		}
		return wrong
	})
}

// accepted is that part of places of which NodeFit knows.
func accepted(r *descheduler.Report, before, after framework.Objects) (wrong []string) {
	old, nodes := byUID(before.Pods), map[string]*v1.Node{}
	for _, n := range before.Nodes {
		nodes[n.Name] = n
		wrong = append(wrong, overfull(n, after.Pods)...)
	}
	for _, e := range r.Evictions {
		switch p, to := old[e.UID], nodes[e.To]; {
		case !returns(p):
		case to == nil || e.CheckedBy != "NodeFit":
			wrong = append(wrong, fmt.Sprintf("%s has the place %q by %q", e.Pod, e.To, e.CheckedBy))
		default:
			wrong = append(wrong, refuses(to, p)...)
		}
	}
	return wrong
}

// TestPluginsChooseWhereAPodFits: nothing knows which node a scheduler would take, so a plugin has a pod
// moved to one that suits it, and the place is given once. The first node by name has little in
// use, and is none to go to.
func TestPluginsChooseWhereAPodFits(t *testing.T) {
	const size = "cpu=10 memory=10Gi pods=10"
	o := framework.Objects{
		Nodes: []*v1.Node{ft.Node("n0", size, ""), ft.Node("n1", size, ""), ft.Node("n2", size, ""), ft.Node("n3", size, "")},
		Pods: slices.Concat(alike(1, "first", "n0", "cpu=1 memory=1Gi"), alike(1, "second", "n1", "cpu=2 memory=1Gi"),
			alike(8, "many", "n2", "cpu=1 memory=1Gi"), alike(8, "more", "n3", "cpu=1 memory=1Gi")),
	}
	w := withoutCore(t, o, load(t, policyOf("", "{nodeFit: true}", choice{name: "HighNodeUtilization", point: "balance", args: "{thresholds: {cpu: 30, memory: 30}}"})))
	report, _ := w.cycle(w.d)
	assert.DeepEqual(t, movesOf(report), []string{"HighNodeUtilization ns0/first-0 n0 n2", "HighNodeUtilization ns0/second-0 n1 n3"})
}
